"""The law of images and PDFs: what the model needs of the context it has been shown, and no version of it twice.

A random user changes, renames, adds and removes files of the context between turns, goes back, restarts, and asks
beside the conversation; the replica knows only what came over HTTP.
"""

from __future__ import annotations

import tempfile
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from gemchat.blobs import sha256
from gemchat.chat import Chat
from gemchat.core import turns
from gemchat.core.economics import Compaction, Policy
from gemchat.core.model import Backend, Message, Mode, NamedText, Transport
from gemchat.errors import ProposalRejected
from gemchat.gemini import connect
from gemchat.local.server import LoopbackServer
from gemchat.prepare import Ask
from gemchat.project import Project
from gemchat.store import Store
from gemchat.workspace import Workspace
from tests import pictures
from tests.replica import ReplicaMind

NOTES, TARGET = "notes.md", "app.py"
PATHS = ("a.png", "b.png", "c.pdf")
VERSIONS = st.sampled_from([*(pictures.png(n) for n in range(3)), pictures.pdf(3), pictures.pdf(3, packed=True)])


class Context(RuleBasedStateMachine):
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
        self.root.mkdir()
        self.count = 0
        self.model = "m"
        self.write(NOTES, b"notes\n")
        self.write(TARGET, b"x = 1\n")
        self.write(PATHS[0], pictures.png())
        self.store = Store(Path(self.directory.name, "state"), self.root, note=lambda _: None)
        self.project.change_context(add=[NOTES, PATHS[0]])

    def teardown(self) -> None:
        if hasattr(self, "directory"):
            self.directory.cleanup()

    @property
    def project(self) -> Project:
        return Project(
            store=self.store,
            workspace=Workspace(self.root),
            session="main",
            clock=lambda: float(self.count),
            note=lambda _: None,
        )

    def write(self, path: str, data: bytes) -> None:
        self.count += 1
        (self.root / path).write_bytes(data)

    def take_turn(self, mode: Mode = "ask", *, prompt: str = "?", restart: str = "", heavy: bool = False) -> None:
        heard = len(self.replica.prompts)
        ask = Ask(
            mode=mode,
            prompt=prompt,
            model=self.model,
            backend=self.backend,
            paths=(TARGET,),
            restart=restart,
            policy=self.policy,
            attachments=(NamedText(name="log", text="word\n" * 4000),) if heavy else (),
        )
        with suppress(ProposalRejected):
            Chat(self.project, lambda: nullcontext(self.transport)).send(ask)
        recorded = turns.all_turns(self.project.load())[-1]
        (*_, newest) = self.replica.prompts
        assert recorded.sent.media == tuple(ref for message in newest.messages[-1:] for ref in message.media), (
            "and nothing else is what the session says"
        )
        for prompt_heard in self.replica.prompts[heard:]:
            self.shown_once(prompt_heard.messages)
        if recorded.sent.route == "continue" and len(self.replica.prompts) == heard + 1:
            before = self.replica.prompts[:heard]
            assert any(other.messages == newest.messages[:-2] for other in before), (
                "word for word, image for image"
            )
        self.the_context_is_known(newest.messages)

    def shown_once(self, messages: tuple[Message, ...]) -> None:
        shown = [ref.sha256 for message in messages for ref in message.media]
        assert len(shown) == len(set(shown))
        assert self.replica.contradictions == []

    def the_context_is_known(self, messages: tuple[Message, ...]) -> None:
        context = [path for path in self.project.load().context if (self.root / path).exists()]
        believed = {item["path"]: item for item in self.replica.belief.context}
        assert set(believed) == set(context)
        shown = {ref.sha256 for message in messages for ref in message.media}
        for path in context:
            data = (self.root / path).read_bytes()
            if path == NOTES:
                assert believed[path]["text"] == data.decode()
            else:
                assert believed[path]["sha256"] == sha256(data)
                assert sha256(data) in shown

    @rule()
    def ask(self) -> None:
        self.take_turn()

    @rule()
    def ask_beside_the_conversation(self) -> None:
        self.take_turn(heavy=True)

    @rule()
    def edit_in_vain(self) -> None:
        """Two replies that cannot be used, which stay part of the conversation."""
        self.take_turn("edit", prompt='{"raw": "no JSON"}')

    @rule()
    def restart(self) -> None:
        self.take_turn(restart="wanted")

    @rule()
    def change_the_text(self) -> None:
        self.write(NOTES, f"notes {self.count}\n".encode())

    @rule(path=st.sampled_from(PATHS), data=VERSIONS)
    def draw(self, path: str, data: bytes) -> None:
        self.write(path, data)

    @rule(path=st.sampled_from(PATHS), other=st.sampled_from(PATHS))
    def rename(self, path: str, other: str) -> None:
        if (self.root / path).exists():
            (self.root / path).rename(self.root / other)

    @rule(path=st.sampled_from(PATHS))
    def delete(self, path: str) -> None:
        (self.root / path).unlink(missing_ok=True)

    @rule(path=st.sampled_from((NOTES, *PATHS)))
    def add(self, path: str) -> None:
        self.project.change_context(add=[path])

    @rule(path=st.sampled_from((NOTES, *PATHS)))
    def remove(self, path: str) -> None:
        self.project.change_context(remove=[path])

    @rule()
    def the_server_forgets(self) -> None:
        self.server.forget()

    @rule(model=st.sampled_from(["m", "gemini-2.5-flash"]))
    def change_model(self, model: str) -> None:
        self.model = model

    @precondition(lambda self: self.replica.prompts)
    @rule(data=st.data())
    def go_on_after_any_turn(self, data: st.DataObject) -> None:
        session = self.project.load()
        numbers = [turn.id for turn in turns.all_turns(session) if turn.status != "incomplete"]
        self.project.rewind(lambda _: data.draw(st.sampled_from([None, *numbers])))


@pytest.mark.parametrize(
    ("backend", "compaction"), [("interactions", "never"), ("contents", "never"), ("contents", "auto")]
)
def test_every_version_is_shown_once(backend: Backend, compaction: Compaction) -> None:
    replica = ReplicaMind()
    with LoopbackServer(replica) as server, connect(backend, key="k", base_url=server.url) as transport:
        policy = Policy(compaction=compaction, cache_ttl=30.0)  # the clock counts what is written
        fixed = {"backend": backend, "policy": policy, "transport": transport, "server": server}
        machine = type(f"Context_{backend}", (Context,), fixed | {"replica": replica})
        run_state_machine_as_test(
            machine, settings=settings(max_examples=15, stateful_step_count=30, deadline=None)
        )
