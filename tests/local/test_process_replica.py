"""The law of the whole with the server in a process of its own, as it is with the local model."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from gemchat.core.economics import Policy
from gemchat.core.model import Backend, Event, Reply, Request, Transport
from gemchat.gemini import connect
from gemchat.local import process
from gemchat.local.belief import Belief
from gemchat.local.mind import Prompt
from gemchat.local.serve import Place, Record
from tests.local.stub_process import JOURNAL, Heard
from tests.replica import NOTHING_HEARD
from tests.test_conversation import Conversation

pytestmark = pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
ROOT = Path(__file__).parent.parent.parent


class DistantReplica:
    """The replica of another process, as far as the conversation test looks at it, read from its journal."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._read = 0
        self._heard: list[Heard] = []
        self.contradictions: list[str] = []

    @property
    def prompts(self) -> list[Prompt]:
        self._catch_up()
        return [heard.prompt for heard in self._heard]

    @property
    def belief(self) -> Belief:
        self._catch_up()
        return self._heard[-1].belief if self._heard else NOTHING_HEARD

    def _catch_up(self) -> None:
        with self._journal.open("rb") as journal:
            journal.seek(self._read)
            lines = journal.readlines()
            self._read = journal.tell()
        news = [msgspec.json.decode(line, type=Heard) for line in lines]
        self._heard += news
        self.contradictions += [found for heard in news for found in heard.belief.contradictions]


class DistantServer:
    """Between gemchat and the server; knows which interactions there are, so that they can be forgotten."""

    def __init__(self, record: Record, transport: Transport) -> None:
        self._record = record
        self._transport = transport
        self._interactions: set[str] = set()

    def send(self, request: Request) -> Iterator[Event]:
        for item in self._transport.send(request):
            if isinstance(item, Reply) and item.interaction:
                self._interactions.add(item.interaction)
            yield item

    def forget(self) -> None:
        connection = HTTPConnection(urlsplit(self._record.url).netloc)
        while self._interactions:
            name = self._interactions.pop()
            connection.request(
                "DELETE", f"/v1/interactions/{name}", headers={"x-goog-api-key": self._record.token}
            )
            response = connection.getresponse()
            assert (response.status, response.read()) == (200, b"{}")
        connection.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("backend", ["interactions", "contents"])
def test_the_model_always_knows_the_working_text(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    place = Place(directory=tmp_path / "server")
    start = [sys.executable, "-m", "tests.local.stub_process", str(place.directory), "replica", "600"]
    record = process.ensure(place, "replica", start)
    (place.directory / JOURNAL).touch()
    try:
        with connect(backend, key=record.token, base_url=record.url) as transport:
            server = DistantServer(record, transport)
            replica = DistantReplica(place.directory / JOURNAL)
            fixed = {"backend": backend, "policy": Policy(), "transport": server, "server": server}
            machine = type(f"Distant_{backend}", (Conversation,), fixed | {"replica": replica})
            run_state_machine_as_test(
                machine, settings=settings(max_examples=5, stateful_step_count=30, deadline=None)
            )
        assert replica.prompts
        assert process.running(place) == record
    finally:
        process.stop(place)
