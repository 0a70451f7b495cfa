"""The read-only context of a turn: texts, images and PDFs, read anew each time; and whether it can be sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gemchat.config import LOCAL_MODEL
from gemchat.core.kinds import TITLES
from gemchat.core.media import REQUEST_LIMIT, media_of, request_size
from gemchat.core.model import MediaRef, NamedText, Request, Session
from gemchat.core.textfile import UTF_8
from gemchat.core.tree import OVERVIEW
from gemchat.errors import FileMissing, TooLarge, UsageError, WorkspaceError
from gemchat.media import read_media
from gemchat.project import Project
from gemchat.selection import project_overview
from gemchat.workspace import SIZE_LIMIT


class Context(NamedTuple):
    texts: tuple[NamedText, ...]
    media: tuple[MediaRef, ...]


def read_context(
    project: Project, session: Session, named: Sequence[str], model: str, encodings: Mapping[str, str]
) -> Context:
    """What the session has and what is `named`. Of the former, what cannot be read is left out with a note."""
    overview = [NamedText(name=OVERVIEW, text=project_overview(project.workspace))] if session.tree else []
    found: list[NamedText | MediaRef] = [*overview]
    for path in dict.fromkeys((*session.context, *named)):
        try:
            found.append(_read(project, path, model, encodings.get(path, UTF_8)))
        except WorkspaceError as error:
            if path in named:
                raise
            project.note(f"the context file {path} is left out: {error.message}")
    return Context(
        texts=tuple(item for item in found if isinstance(item, NamedText)),
        media=tuple(item for item in found if isinstance(item, MediaRef)),
    )


def _read(project: Project, path: str, model: str, encoding: str) -> NamedText | MediaRef:
    media = read_media(project.workspace, path, model)
    if media is not None:
        project.store.blobs.put(media.data)
        return media.ref
    taken = project.take(path, encoding, SIZE_LIMIT)
    if taken is None:
        raise FileMissing(f"there is no file {path}", "Name an existing file after --context.")
    return NamedText(name=path, text=taken.file.text)


def check_sendable(request: Request, media: Sequence[MediaRef]) -> None:
    """Raises UsageError or TooLarge before anything is sent; `media` are the images and PDFs of the context."""
    if request.model == LOCAL_MODEL and media:
        raise UsageError(
            f"the model on this machine cannot see {_called(media[0])}",
            f"Use a Gemini model (--model), or take it out of the context: gemchat context rm {media[0].path}",
        )
    sent = media_of(request.messages)
    if sent and (size := request_size(request.messages)) > REQUEST_LIMIT:
        largest = max(sent, key=lambda ref: ref.bytes)
        raise TooLarge(
            f"the request would have {size:,} bytes, and {REQUEST_LIMIT:,} is the limit; its largest part is "
            f"{_called(largest)} with {largest.bytes:,} bytes, which base64 makes a third longer",
            _smaller(largest, media),
        )


def _smaller(largest: MediaRef, media: Sequence[MediaRef]) -> str:
    """What is not part of the context any more goes out only because it was said before."""
    if largest.sha256 in {ref.sha256 for ref in media}:
        return f"Take it out of the context: gemchat context rm {largest.path}"
    return "Leave out what is not part of the context any more: --restart"


def _called(ref: MediaRef) -> str:
    return f"{ref.path} ({TITLES[ref.mime_type]})"
