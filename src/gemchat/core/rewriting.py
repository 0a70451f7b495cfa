"""The past of a conversation as a restart tells it, and in a line each, what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence

from gemchat.core import history
from gemchat.core.contents import HistoryFile, HistoryTurn, active_turns, proposal_is_active
from gemchat.core.model import SentFile, Session, Turn
from gemchat.core.sources import TextOf
from gemchat.core.visible import one_line

RECENT_TURNS = 8
SHOWN_TURNS = 3  # whose files are shown; of more of them, most would be paid for and not asked about again
REMEMBERED_TURNS = 500  # at about a hundred tokens each, a part of what models read that pays for itself
SHORT_EXPLANATION = 200  # characters kept of an explanation older than the recent turns
_SHORT_PROMPT = 200
_CONCLUSION = 600


def past(session: Session, path: Sequence[Turn], targets: set[str], text_of: TextOf) -> list[HistoryTurn]:
    """The turns as the builder takes them; those before the newest 500, and the texts of files long out of sight,
    are left behind.
    """
    recent = {turn.id for turn in path[-RECENT_TURNS:]}
    wanted = targets | {file.path for turn in path[-SHOWN_TURNS:] for file in turn.sent.files}
    became = history.outcomes(session)

    def text(file_path: str, sha256: str | None) -> str | None:
        return text_of(sha256) if sha256 is not None and file_path in wanted else None

    def file(turn: Turn, sent: SentFile) -> HistoryFile:
        after = next((change.after for change in turn.proposal if change.path == sent.path), None)
        return HistoryFile(
            path=sent.path,
            base_source=text(sent.path, sent.sha256),
            base_sha256=sent.sha256,
            proposal_source=text(sent.path, after),
            proposal_sha256=after,
            outcome_status=became.get((turn.id, sent.path)),
        )

    return [
        HistoryTurn(
            prompt=turn.prompt,
            response=turn.explanation if turn.id in recent else turn.explanation[:SHORT_EXPLANATION],
            mode=turn.mode,
            files=tuple(file(turn, sent) for sent in turn.sent.files),
        )
        for turn in path[-REMEMBERED_TURNS:]
    ]


def shown_versions(turns: Sequence[HistoryTurn]) -> dict[str, str]:
    """The version of each file whose text the rewritten history shows when the newest turn does not bring one."""

    def version(path: str | None, index: int) -> str | None:
        turn = turns[index]
        file = next(file for file in turn.targets if file.path == path)
        return file.proposal_sha256 if proposal_is_active(turn, file) else file.base_sha256

    versions = {path: version(path, index) for path, index in active_turns(turns).items()}
    return {path: sha256 for path, sha256 in versions.items() if path is not None and sha256 is not None}


def concluded(turn: Turn) -> str:
    """What a turn on a side branch leaves to the conversation, which never saw it."""
    answer = one_line(turn.explanation, _CONCLUSION)
    return f"Asked beside this conversation: {one_line(turn.prompt, _SHORT_PROMPT)} ({_attached(turn)}). {answer}"


def left_out(path: Sequence[Turn]) -> list[str]:
    """What a rewritten history says of what it does not repeat."""
    forgotten = len(path) - REMEMBERED_TURNS
    return [
        *([f"Earlier turns that are left out: {forgotten}."] if forgotten > 0 else []),
        *(
            f"To the question {one_line(turn.prompt, _SHORT_PROMPT)!r}: {_attached(turn)}."
            for turn in path[-RECENT_TURNS:]
            if turn.sent.attachments
        ),
    ]


def _attached(turn: Turn) -> str:
    names = ", ".join(turn.sent.attachments) or "a long text"
    return f"{names}, about {turn.sent.attached} tokens, was attached and is not repeated"
