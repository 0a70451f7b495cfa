"""The past of a conversation as a restart tells it, and in a line each, what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from gemchat.core import history
from gemchat.core.contents import HistoryFile, HistoryTurn, active_turns, proposal_is_active
from gemchat.core.model import Outcome, SentFile, Session, Turn
from gemchat.core.sources import TextOf
from gemchat.core.visible import one_line

RECENT_TURNS = 8
SHOWN_TURNS = 1  # whose files are shown to save costs: of more, most would be paid for and not asked about again
WHOLE_TURNS = 3  # whose answers a summary repeats in full, for a follow-up may well be about them
REMEMBERED_TURNS = 500  # at about a hundred tokens each, a part of what models read that pays for itself
SHORT_EXPLANATION = 200  # characters kept of an explanation older than the recent turns
_SHORT_PROMPT = 200
_CONCLUSION = 600


def past(
    session: Session,
    path: Sequence[Turn],
    targets: set[str],
    outcomes: Sequence[Outcome],
    text_of: TextOf,
    shown: int,
) -> list[HistoryTurn]:
    """The turns as the builder takes them, with the texts of the targets and of files of the `shown` newest turns.

    Left behind are those before the newest 500, and the hashes of what older turns were about, but for those that
    `outcomes` name.
    """
    recent = {turn.id for turn in path[-RECENT_TURNS:]}
    wanted = targets | {file.path for turn in path[-shown:] for file in turn.sent.files}
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

    turns = [
        HistoryTurn(
            prompt=turn.prompt,
            response=turn.explanation if turn.id in recent else turn.explanation[:SHORT_EXPLANATION],
            mode=turn.mode,
            files=tuple(file(turn, sent) for sent in turn.sent.files),
        )
        for turn in path[-REMEMBERED_TURNS:]
    ]
    carriers, told = active_turns(turns), {outcome.proposal for outcome in outcomes}

    def bare(index: int, turn: HistoryTurn) -> HistoryTurn:
        named = (carriers.get(file.path) == index or file.proposal_sha256 in told for file in turn.files)
        files = zip(turn.files, named, strict=True)
        return replace(turn, files=tuple(file if keep else HistoryFile(path=file.path) for file, keep in files))

    return [*map(bare, range(len(turns)), turns[:-RECENT_TURNS]), *turns[-RECENT_TURNS:]]


def shown_versions(turns: Sequence[HistoryTurn]) -> dict[str, str]:
    """The version of each file whose text the rewritten history shows when the newest turn does not bring one."""

    def version(path: str | None, index: int) -> str | None:
        turn = turns[index]
        file = next(file for file in turn.targets if file.path == path)
        return file.proposal_sha256 if proposal_is_active(turn, file) else file.base_sha256

    versions = {path: version(path, index) for path, index in active_turns(turns).items()}
    return {path: sha256 for path, sha256 in versions.items() if path is not None and sha256 is not None}


def summaries(session: Session, turns: Sequence[Turn]) -> list[str]:
    """What turns leave to a conversation that does not hold them, a line each."""
    became, pending = history.outcomes(session), history.pending_changes(session)
    newest = {turn.id for turn in turns[-WHOLE_TURNS:]}

    def summary(turn: Turn) -> str:
        outcome = history.outcome_of(turn, became, pending)
        return _concluded(turn, outcome) if turn.sent.side else _summed_up(turn, outcome, turn.id in newest)

    return [*_forgotten(turns), *map(summary, turns[-REMEMBERED_TURNS:])]


def _concluded(turn: Turn, outcome: str | None) -> str:
    """Of a turn on a side branch, which the conversation never saw."""
    question, answer = one_line(turn.prompt, _SHORT_PROMPT), one_line(turn.explanation, _CONCLUSION)
    return f"Asked beside this conversation: {question} ({_attached(turn)}){_proposed(turn, outcome)}. {answer}"


def _summed_up(turn: Turn, outcome: str | None, newest: bool) -> str:
    """Of a turn that was trimmed away."""
    question, answer = turn.prompt, turn.explanation
    if not newest:
        question, answer = one_line(question, _SHORT_PROMPT), one_line(answer, SHORT_EXPLANATION)
    attached = f" ({_attached(turn)})" if turn.sent.attachments else ""
    return f"Earlier, {turn.mode}: {question}{attached} You said{_proposed(turn, outcome)}: {answer}"


def _proposed(turn: Turn, outcome: str | None) -> str:
    """What became of a change; if nothing yet, by what name it will be told."""
    if turn.status == "unusable":
        return " (your edits could not be used)"
    hashes = [change.after for change in turn.proposal if change.after and outcome and "proposed" in outcome]
    return f" (your change: {', '.join([outcome, *hashes])})" if outcome else ""


def left_out(path: Sequence[Turn]) -> list[str]:
    """What a rewritten history says of what it does not repeat."""
    return [
        *_forgotten(path),
        *(
            f"To the question {one_line(turn.prompt, _SHORT_PROMPT)!r}: {_attached(turn)}."
            for turn in path[-RECENT_TURNS:]
            if turn.sent.attachments
        ),
    ]


def _forgotten(turns: Sequence[Turn]) -> list[str]:
    forgotten = len(turns) - REMEMBERED_TURNS
    return [f"Earlier turns that are left out: {forgotten}."] if forgotten > 0 else []


def _attached(turn: Turn) -> str:
    names = ", ".join(turn.sent.attachments) or "a long text"
    return f"{names}, about {turn.sent.attached} tokens, was attached and is not repeated"
