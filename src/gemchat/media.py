"""Reads images and PDFs from the user's files. What bytes are one, and what it weighs, is said in `core.media`."""

from __future__ import annotations

from typing import NamedTuple

from gemchat.core.kinds import HEAD, kind_of
from gemchat.core.media import FILE_LIMIT, described
from gemchat.core.model import MediaRef
from gemchat.workspace import Workspace


class Media(NamedTuple):
    ref: MediaRef
    data: bytes


def read_media(workspace: Workspace, path: str, model: str) -> Media | None:
    """None for a file that is no image or PDF, or not there. Raises TooLarge for one that no request can hold."""
    if kind_of(workspace.beginning(path, HEAD)) is None:
        return None
    data = workspace.read(path, limit=FILE_LIMIT) or b""
    ref = described(path, data, model)
    return Media(ref, data) if ref else None
