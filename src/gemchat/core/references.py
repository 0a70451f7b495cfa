"""Which blobs a session needs, and what for."""

from __future__ import annotations

from collections.abc import Iterator

from gemchat.core.model import Change, Session


def references(session: Session) -> Iterator[tuple[str, str]]:
    """The path of a file and the hash of a version of it, for every blob the session refers to.

    The path is empty for what was said: messages as they were sent, and contents as they were received.
    """
    for entry in session.journal:
        if isinstance(entry, Change):
            files = entry.files
        else:
            files = entry.proposal
            yield from (("", blob) for blob in (entry.sent.messages, entry.remote.content) if blob)
            yield from ((file.path, file.sha256) for file in entry.sent.files if file.sha256)
            yield from ((ref.path, ref.sha256) for ref in entry.sent.carried if ref.sha256)
            yield from ((ref.path, ref.sha256) for ref in entry.sent.media)
        yield from ((file.path, blob) for file in files for blob in (file.before, file.after) if blob)
