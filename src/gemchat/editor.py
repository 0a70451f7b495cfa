"""Texts in the user's own editor, as private temporary files that are gone afterwards."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from gemchat.errors import UsageError


def edit(texts: Sequence[tuple[str, bytes]], environ: Mapping[str, str]) -> list[bytes]:
    """The texts, given with the paths they are of, after one run of $VISUAL, $EDITOR or vi.

    Raises UsageError when the editor cannot be run or does not end with 0.
    """
    named = environ.get("VISUAL") or environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="gemchat-") as directory:
        files = [_placed(Path(directory, str(number)), *text) for number, text in enumerate(texts)]
        try:
            code = subprocess.call([*shlex.split(named), *map(str, files)], env=dict(environ))  # noqa: S603
            if code:
                raise UsageError(f"the editor {named} ended with {code}; nothing is taken from it")
            return [file.read_bytes() for file in files]
        except (OSError, ValueError) as error:
            problem = error.strerror if isinstance(error, OSError) else error
            raise UsageError(f"the editor {named} cannot be used: {problem}", "Set VISUAL or EDITOR.") from None


def _placed(directory: Path, path: str, text: bytes) -> Path:
    """The file has the name it is known by, so that the editor knows its language."""
    directory.mkdir()
    file = directory / PurePosixPath(path).name
    file.write_bytes(text)
    return file
