"""The law of the whole: after every turn the model's belief is the working text, and no byte on disk surprises.

A random user works on three files in two sessions; the replica knows only what it was sent. The test keeps
its own, much simpler account of files, proposals and undo.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from gemchat import changes
from gemchat.blobs import sha256
from gemchat.chat import Chat
from gemchat.core import turns
from gemchat.core.contents import payload_of, to_json
from gemchat.core.economics import Compaction, Policy
from gemchat.core.model import Backend, NamedText, Session, Transport, Turn
from gemchat.core.textfile import decode
from gemchat.errors import EditConflict, NothingPending, NothingToUndo, ProposalRejected
from gemchat.gemini import connect
from gemchat.local.belief import read
from gemchat.local.mind import Prompt
from gemchat.local.server import LoopbackServer
from gemchat.prepare import Ask
from gemchat.project import Project
from gemchat.store import Store
from gemchat.workspace import Workspace
from tests.replica import ReplicaMind

LONG, CRLF, SHORT, NEW = "long.txt", "dir/crlf.txt", "short.txt", "new.txt"
FILES = st.sampled_from([LONG, CRLF, SHORT])
SESSIONS = ("main", "other")


def lines(count: int, end: str) -> bytes:
    return "".join(f"line {number} of the file, long enough{end}" for number in range(count)).encode()


@dataclass(frozen=True)
class Heard:
    """What a conversation has come to after a turn: what the model believes and was told, and the way there."""

    path: tuple[int, ...] = ()
    targets: tuple[str, ...] = ()
    belief: Mapping[str, str | None] = field(default_factory=dict)
    doubtful: frozenset[str] = frozenset()
    told: Mapping[str, str] = field(default_factory=dict)
    proposed: frozenset[str | None] = frozenset()


@dataclass
class Account:
    """What the test knows about one session."""

    pending: dict[str, tuple[bytes | None, bytes]] = field(default_factory=dict)
    undo: list[dict[str, tuple[bytes | None, bytes]]] = field(default_factory=list)
    redo: list[dict[str, tuple[bytes | None, bytes]]] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    belief: dict[str, str | None] = field(default_factory=dict)
    doubtful: set[str] = field(default_factory=set)
    outcomes: dict[str, str] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    path: tuple[int, ...] = ()
    proposed: frozenset[str | None] = frozenset()
    heard: dict[int, Heard] = field(default_factory=lambda: {0: Heard()})

    def recorded(self, told: Mapping[str, str]) -> None:
        """One more turn of the conversation, of which nothing is known but the outcomes it told."""
        self.told |= told
        self.path = (*self.path, len(self.heard))
        self.heard[self.path[-1]] = self.now(belief={})

    def now(self, belief: Mapping[str, str | None]) -> Heard:
        doubtful = frozenset(self.doubtful)
        return Heard(self.path, tuple(self.targets), belief, doubtful, dict(self.told), self.proposed)

    def go_back(self, number: int) -> None:
        """Everything the model knows is as it was after that turn; proposals and files stay."""
        heard = self.heard[number]
        self.path, self.targets = heard.path, list(heard.targets)
        self.belief, self.told, self.proposed = dict(heard.belief), dict(heard.told), heard.proposed
        self.doubtful = set(heard.doubtful)

    def became(self, outcome: str, *texts: bytes) -> None:
        self.outcomes |= {sha256(text): outcome for text in texts}


class Conversation(RuleBasedStateMachine):
    backend: ClassVar[Backend]
    policy: ClassVar[Policy]
    transport: ClassVar[Transport]
    server: ClassVar[LoopbackServer]
    replica: ClassVar[ReplicaMind]

    @initialize()
    def begin(self) -> None:
        self.replica.contradictions.clear()
        self.replica.prompts.clear()
        self.directory = tempfile.TemporaryDirectory()
        self.root = Path(self.directory.name, "project")
        (self.root / "dir").mkdir(parents=True)
        self.disk: dict[str, bytes | None] = {
            LONG: lines(80, "\n"),
            CRLF: b"\xef\xbb\xbf" + lines(70, "\r\n"),
            SHORT: b"a\nb",
            NEW: None,
        }
        for path, data in self.disk.items():
            if data is not None:
                (self.root / path).write_bytes(data)
        self.accounts = {name: Account() for name in SESSIONS}
        self.name = "main"
        self.model = "m"
        self.count = 0
        self.store = Store(Path(self.directory.name, "state"), self.root, note=lambda _: None)
        with self.store.lock():
            self.store.save(Session(name="other", created=0))

    def teardown(self) -> None:
        if hasattr(self, "directory"):
            self.directory.cleanup()

    @property
    def mine(self) -> Account:
        return self.accounts[self.name]

    @property
    def project(self) -> Project:
        return Project(
            store=self.store,
            workspace=Workspace(self.root),
            session=self.name,
            clock=lambda: float(self.count),
            note=lambda _: None,
        )

    def working(self, path: str) -> bytes | None:
        base, after = self.mine.pending.get(path, (None, b""))
        return after if path in self.mine.pending and base == self.disk[path] else self.disk[path]

    def word(self) -> str:
        self.count += 1
        return f"word{self.count}"

    def take_turn(self, ask: Ask) -> None:
        """Beyond being right, a turn must not send what the model is known to believe already."""
        heard = len(self.replica.prompts)
        before, self.mine.belief = self.mine.now(self.mine.belief), {}
        ask = replace(ask, policy=self.policy)
        try:
            turn = Chat(self.project, lambda: nullcontext(self.transport)).send(ask)
        finally:
            self.outcomes_are_told(self.replica.prompts[heard:])
        if turn.sent.kept:
            before = self.mine.heard[int(turn.sent.kept)]
        for file in turn.sent.files:
            working = self.store.blobs.get(file.sha256 or "")
            believed = before.belief.get(file.path) if file.path not in before.doubtful else None
            known = working is not None and believed == decode(working).text
            assert (file.source == "synchronized") >= (known and turn.sent.route == "continue")
        if turn.sent.route == "continue":
            self.nothing_said_before_is_changed()
        if self.policy.compaction == "always":
            self.no_file_is_there_twice()
        self.mine.belief = self.replica.belief.files
        self.mine.doubtful -= {file.path for file in turn.sent.files}
        self.mine.proposed |= {change.after for change in turn.proposal}
        self.mine.heard[self.mine.path[-1]] = self.mine.now(self.mine.belief)

    def nothing_said_before_is_changed(self) -> None:
        """The request is an earlier one, byte for byte, its answer and the new message."""
        *earlier, newest = self.replica.prompts
        assert any(prompt.messages == newest.messages[:-2] for prompt in earlier)

    def no_file_is_there_twice(self) -> None:
        """A model's message about a single file does not name it again."""
        messages = self.replica.prompts[-1].messages
        paths: list[str] = []
        path = ""
        for payload in map(payload_of, messages):
            path = payload.get("path", path)
            files = payload.get("files", [payload])
            paths += [f.get("path", path) for f in files if f.get("currentSource") or f.get("proposedSource")]
        assert len(paths) == len(set(paths))
        known = read(messages).files
        assert set(paths) >= {path for path in self.mine.targets if known.get(path)}

    def outcomes_are_told(self, prompts: list[Prompt]) -> None:
        """Each outcome of a proposal in this conversation once, and again when it changes."""
        mine = self.mine
        recorded = [entry for entry in self.project.load().journal if isinstance(entry, Turn)][-len(prompts) :]
        for turn, prompt in zip(recorded, prompts, strict=True):
            payload = payload_of(prompt.messages[-1])
            told = {o["proposalSha256"]: o["outcome"] for o in payload.get("outcomes", ())}
            outcomes = {name: became for name, became in mine.outcomes.items() if name in mine.proposed}
            in_words: dict[str, str] = {}
            if turn.sent.kept:
                kept = mine.heard[int(turn.sent.kept)]
                mine.told = dict(kept.told)
                in_words = {name: outcomes.pop(name) for name in list(outcomes) if name not in kept.proposed}
                said = "\n".join(payload["carryover"])
                assert all(outcome in said for outcome in in_words.values())
            assert told == {name: became for name, became in outcomes.items() if mine.told.get(name) != became}
            mine.recorded(told | in_words)

    def ask(self, *paths: str, restart: str = "", attachments: tuple[NamedText, ...] = ()) -> None:
        self.mine.targets = list(paths) or self.mine.targets
        ask = Ask(mode="ask", prompt="?", model=self.model, backend=self.backend, paths=paths)
        self.take_turn(replace(ask, restart=restart, attachments=attachments))
        self.believed()

    def edit(self, directive: object, after: dict[str, bytes], *paths: str) -> None:
        """The change is proposed from the working texts; a proposal for a text that is gone is dropped."""
        self.mine.targets = list(paths)
        for path in paths:
            if path in self.mine.pending and self.mine.pending[path][0] != self.disk[path]:
                self.mine.became("stale", self.mine.pending[path][1])
        self.take_turn(
            Ask(mode="edit", prompt=to_json(directive), model=self.model, backend=self.backend, paths=paths)
        )
        for path in paths:
            if path in self.mine.pending and self.mine.pending[path][0] != self.disk[path]:
                del self.mine.pending[path]
        for path, data in after.items():
            self.mine.pending[path] = (self.disk[path], data)
        self.believed()

    def believed(self) -> None:
        for path in self.mine.targets:
            working = self.working(path)
            assert self.replica.belief.files[path] == (None if working is None else decode(working).text)
        assert self.replica.contradictions == []

    def there(self, *paths: str) -> bool:
        return all(self.working(path) is not None for path in paths)

    @rule(path=FILES)
    def ask_about_a_file(self, path: str) -> None:
        if self.there(path):
            self.ask(path)

    @rule()
    def ask_about_several_files(self) -> None:
        if self.there(LONG, CRLF, SHORT):
            self.ask(SHORT, LONG, CRLF)

    @rule(path=FILES)
    def ask_about_heavy_output(self, path: str) -> None:
        """It leaves the conversation as it was, but for a summary."""
        if not self.there(path):
            return
        belief, doubtful, told = self.mine.belief, set(self.mine.doubtful), dict(self.mine.told)
        self.ask(path, attachments=(NamedText(name="log", text=f"{self.word()}\n" * 3000),))
        self.mine.told = told
        if self.policy.compaction != "always":
            self.mine.belief, self.mine.doubtful = belief, doubtful
        self.mine.heard[self.mine.path[-1]] = self.mine.now(self.mine.belief)

    @rule(restart=st.sampled_from(["", "", "the user wants it"]))
    def follow_up(self, restart: str) -> None:
        if self.there(*self.mine.targets):
            self.ask(restart=restart)

    @rule()
    def leave_files_behind(self) -> None:
        """Enough turns about another file that a rewritten history drops the rest, then one that rewrites it."""
        if self.there(SHORT):
            for _ in range(8):
                self.ask(SHORT)
            self.ask(SHORT, restart="the user wants it")

    @rule(path=FILES, row=st.integers(0, 60), several_lines=st.booleans())
    def edit_a_line(self, path: str, row: int, several_lines: bool) -> None:
        old, new, after = self.changed_line(path, row, several_lines)
        if old:
            self.edit({"replace": [[None, old, new]]}, {path: after}, path)

    @rule(row=st.integers(0, 60))
    def edit_two_files(self, row: int) -> None:
        first, second = self.changed_line(LONG, row, False), self.changed_line(SHORT, 0, False)
        if first[0] and second[0]:
            directive = {"replace": [[LONG, *first[:2]], [SHORT, *second[:2]]]}
            self.edit(directive, {LONG: first[2], SHORT: second[2]}, LONG, SHORT)

    @rule()
    def write_a_file(self) -> None:
        text = f"{self.word()}\n"
        self.edit({"write": [[None, text]]}, {NEW: text.encode()}, NEW)

    @rule(path=FILES)
    def get_a_reply_that_cannot_be_used(self, path: str) -> None:
        self.mine.doubtful.add(path)
        self.edit_in_vain({"raw": '{"explanation":"","edits":[{"search":"not there","replace":""}]}'}, path)

    @rule(path=FILES)
    def get_no_proposal(self, path: str) -> None:
        if not self.there(path):
            return
        self.edit_in_vain({"replace": []}, path)

    def edit_in_vain(self, directive: object, path: str) -> None:
        """Nothing is proposed; a proposal for a text that is gone is dropped all the same."""
        before = self.mine.pending.get(path)
        with pytest.raises(ProposalRejected):
            self.edit(directive, {}, path)
        if before is not None and before[0] != self.disk[path]:
            del self.mine.pending[path]

    def changed_line(self, path: str, row: int, several_lines: bool) -> tuple[str, str, bytes]:
        """A unique piece of the working text, what replaces it, and the bytes that come of it."""
        data = self.working(path)
        if not data:
            return "", "", b""
        found = decode(data).text.split("\n")
        old = found[row % len(found)]
        if not old or decode(data).text.count(old) != 1:
            return "", "", b""
        new = f"{self.word()} {old[-20:]}"
        end = b"\r\n" if b"\r\n" in data else b"\n"
        if several_lines:
            return old, f"{new}\n{new}", data.replace(old.encode(), new.encode() + end + new.encode())
        return old, new, data.replace(old.encode(), new.encode())

    @precondition(lambda self: self.mine.pending)
    @rule(data=st.data())
    def apply(self, data: st.DataObject) -> None:
        paths = data.draw(st.sampled_from([[], *([path] for path in self.mine.pending)]))
        chosen = {path: self.mine.pending[path] for path in paths or self.mine.pending}
        if any(base != self.disk[path] for path, (base, _) in chosen.items()):
            with pytest.raises(EditConflict):
                changes.apply(self.project, paths)
            return
        changes.apply(self.project, paths)
        self.disk.update({path: after for path, (_, after) in chosen.items()})
        self.mine.became("applied", *(after for _, after in chosen.values()))
        self.mine.undo.append(chosen)
        self.mine.redo.clear()
        for path in chosen:
            del self.mine.pending[path]

    @precondition(lambda self: self.mine.pending)
    @rule(data=st.data())
    def discard(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(list(self.mine.pending)))
        changes.discard(self.project, [path])
        self.mine.became("discarded", self.mine.pending[path][1])
        del self.mine.pending[path]

    @rule()
    def undo(self) -> None:
        self.step_back(changes.undo, self.mine.undo, self.mine.redo, now=1, then=0)

    @rule()
    def redo(self) -> None:
        self.step_back(changes.redo, self.mine.redo, self.mine.undo, now=0, then=1)

    def step_back(
        self,
        step: Callable[[Project], object],
        source: list[dict[str, tuple[bytes | None, bytes]]],
        target: list[dict[str, tuple[bytes | None, bytes]]],
        *,
        now: int,
        then: int,
    ) -> None:
        if not source:
            with pytest.raises(NothingToUndo):
                step(self.project)
        elif any(self.disk[path] != pair[now] for path, pair in source[-1].items()):
            with pytest.raises(EditConflict):
                step(self.project)
        else:
            step(self.project)
            self.disk.update({path: pair[then] for path, pair in source[-1].items()})
            self.mine.became("applied" if then else "undone", *(after for _, after in source[-1].values()))
            target.append(source.pop())

    @rule(path=FILES, row=st.integers(0, 60))
    def edit_by_hand(self, path: str, row: int) -> None:
        data = self.disk[path] or b"made by hand\n"
        rows = data.split(b"\n")
        rows[row % len(rows)] = self.word().encode() + (b"\r" if b"\r\n" in data and row % 3 else b"")
        self.write_by_hand(path, b"\n".join(rows))

    @rule(path=FILES)
    def change_line_ends_by_hand(self, path: str) -> None:
        data = self.disk[path] or b"x\n"
        self.write_by_hand(path, data.replace(b"\r\n", b"\n") if b"\r\n" in data else data.replace(b"\n", b"\r\n"))

    @rule(path=FILES)
    def write_over_by_hand(self, path: str) -> None:
        self.write_by_hand(path, f"{self.word()}\n".encode() * (3 if path == SHORT else 90))

    def write_by_hand(self, path: str, data: bytes) -> None:
        (self.root / path).write_bytes(data)
        self.disk[path] = data

    @rule(path=st.sampled_from([SHORT, NEW]))
    def delete_by_hand(self, path: str) -> None:
        (self.root / path).unlink(missing_ok=True)
        self.disk[path] = None

    @rule()
    def the_server_forgets(self) -> None:
        self.server.forget()

    @precondition(lambda self: self.mine.path)
    @rule(data=st.data())
    def rewind(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(1, len(self.mine.path)))
        self.project.rewind(lambda session: turns.head_before(session, count))
        self.mine.go_back((0, *self.mine.path)[-count - 1])

    @rule(data=st.data())
    def go_on_after_any_turn(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.mine.heard)))
        self.project.rewind(lambda _: str(number) if number else None)
        self.mine.go_back(number)

    @rule(name=st.sampled_from(SESSIONS))
    def change_session(self, name: str) -> None:
        self.name = name

    @rule(model=st.sampled_from(["m", "n"]))
    def change_model(self, model: str) -> None:
        self.model = model

    @invariant()
    def the_disk_is_as_the_account_says(self) -> None:
        if not hasattr(self, "root"):
            return
        for path, data in self.disk.items():
            file = self.root / path
            assert (file.read_bytes() if file.exists() else None) == data

    @invariant()
    def pending_is_as_the_account_says(self) -> None:
        if not hasattr(self, "root"):
            return
        try:
            selected = changes.select(self.project.load())
        except NothingPending:
            selected = ()
        blobs = self.store.blobs
        assert {c.path: blobs.get(c.after or "") for c in selected} == {
            path: after for path, (_, after) in self.mine.pending.items()
        }


@pytest.mark.parametrize(
    ("backend", "compaction"), [("interactions", "auto"), ("contents", "auto"), ("contents", "always")]
)
def test_the_model_always_knows_the_working_text(backend: Backend, compaction: Compaction) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    replica = ReplicaMind()
    with LoopbackServer(replica) as server, connect(backend, key="k", base_url=server.url) as transport:
        policy = Policy(compaction=compaction, cache_ttl=30.0)  # the clock counts what is written
        fixed = {"backend": backend, "policy": policy, "transport": transport, "server": server}
        machine = type(f"Conversation_{backend}", (Conversation,), fixed | {"replica": replica})
        run_state_machine_as_test(
            machine, settings=settings(max_examples=12, stateful_step_count=30, deadline=None)
        )
