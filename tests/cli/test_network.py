"""What a conversation survives: another key, another address, damaged ids; and what of it stays at the service."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gemchat.local.server import LoopbackServer
from tests.cli.conftest import Gemchat
from tests.faults import HELLO, Way, good
from tests.gemini.loopback import Service, as_json
from tests.gemini.script import KEY, api_error
from tests.replica import ReplicaMind

LONG = "".join(f"line {number}\n" for number in range(100))
CHANGED = "the API key or the address of the service changed"
BACKENDS = ("interactions", "contents")


def session_file(gemchat: Gemchat) -> Path:
    (path,) = Path(gemchat.environ["GEMCHAT_STATE_DIR"]).glob("projects/*/sessions/main.json")
    return path


def rewrite(gemchat: Gemchat, change: Callable[[Any], None]) -> None:
    """Changes what is remembered of the first turn."""
    document = json.loads(session_file(gemchat).read_text())
    change(document["session"]["journal"][0]["remote"])
    session_file(gemchat).write_text(json.dumps(document))


def talk(gemchat: Gemchat, backend: str) -> None:
    """Two turns about a file: one asks, one proposes a change that is applied."""
    gemchat.write("app.py", LONG)
    assert gemchat("ask", "first question", "app.py", "--backend", backend).code == 0
    gemchat.propose(("line 7\n", "line seven\n"))
    assert gemchat("edit", "second question", "-y", "--backend", backend).code == 0


def nothing_is_forgotten(mind: ReplicaMind) -> None:
    said = "\n".join(part for message in mind.prompts[-1].messages for part in message.parts)
    assert mind.belief.files == {"app.py": LONG.replace("line 7\n", "line seven\n")}
    assert "first question" in said
    assert "second question" in said
    assert mind.contradictions == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_with_another_key_the_conversation_is_told_anew(gemchat: Gemchat, backend: str) -> None:
    talk(gemchat, backend)
    gemchat.environ["GEMINI_API_KEY"] = "another-key"
    code, _, err = gemchat("ask", "third question", "--backend", backend)
    assert code == 0
    assert err.count("\n") == 1
    assert f"restarted ({CHANGED}); app.py not sent (carried in the rewritten history)" in err
    assert len(gemchat.requests) == 3
    nothing_is_forgotten(gemchat.mind)
    assert gemchat("ask", "fourth", "--backend", backend, "--json").json["sent"]["route"] == "continue"


@pytest.mark.parametrize("backend", BACKENDS)
def test_at_another_address_the_conversation_is_told_anew(gemchat: Gemchat, backend: str) -> None:
    talk(gemchat, backend)
    mind = ReplicaMind()
    with LoopbackServer(mind) as other:
        gemchat.environ["GOOGLE_GEMINI_BASE_URL"] = other.url
        result = gemchat("ask", "third question", "--backend", backend, "--json")
        assert result.json["sent"]["reason"] == CHANGED
        nothing_is_forgotten(mind)
        gemchat.environ["GOOGLE_GEMINI_BASE_URL"] = f"{other.url}/"
        assert gemchat("ask", "fourth", "--backend", backend, "--json").json["sent"]["route"] == "continue"
    assert len(gemchat.requests) == 2


def test_with_another_model_the_conversation_is_told_anew(gemchat: Gemchat) -> None:
    talk(gemchat, "interactions")
    code, _, err = gemchat("ask", "third question", "-m", "another-model")
    assert code == 0
    assert "restarted (the model changes from gemini-3.8-flash to another-model)" in err
    nothing_is_forgotten(gemchat.mind)


def test_a_session_from_before_keys_were_told_apart_goes_on(gemchat: Gemchat) -> None:
    gemchat.write("app.py", LONG)
    gemchat("ask", "first question", "app.py")
    rewrite(gemchat, lambda remote: remote.pop("service"))
    gemchat.environ["GEMINI_API_KEY"] = "another-key"
    assert gemchat("ask", "second question", "--json").json["sent"]["route"] == "continue"


@pytest.mark.parametrize("name", ["../files/x", "a?b", "", "v1_\n", "x" * 600])
def test_a_damaged_id_is_not_sent_and_nothing_is_forgotten(gemchat: Gemchat, name: str) -> None:
    gemchat.write("app.py", LONG)
    gemchat("ask", "first question", "app.py")
    rewrite(gemchat, lambda remote: remote.update(interaction=name))
    assert gemchat("ask", "second question", "--json").json["sent"]["route"] == "restart"
    assert [exchange.status for exchange in gemchat.requests] == [200, 200]
    assert "previous_interaction_id" not in json.loads(gemchat.requests[-1].body)
    assert gemchat.mind.belief.files == {"app.py": LONG}


def test_the_key_is_in_nothing_that_is_kept(gemchat: Gemchat) -> None:
    gemchat.environ["GEMINI_API_KEY"] = KEY
    talk(gemchat, "interactions")
    state = [path for path in Path(gemchat.environ["GEMCHAT_STATE_DIR"]).rglob("*") if path.is_file()]
    assert len(state) > 3
    assert not [path for path in state if KEY.encode() in path.read_bytes()]


# What stays at the service


def deleted(gemchat: Gemchat) -> list[tuple[str, int]]:
    return [(exchange.path, exchange.status) for exchange in gemchat.requests if exchange.method == "DELETE"]


def ids(gemchat: Gemchat) -> list[str]:
    journal = json.loads(session_file(gemchat).read_text())["session"]["journal"]
    return [entry["remote"]["interaction"] for entry in journal if "remote" in entry]


def test_a_session_is_removed_from_the_service_too(gemchat: Gemchat) -> None:
    talk(gemchat, "interactions")
    names = ids(gemchat)
    assert len(names) == 2
    code, out, err = gemchat("sessions", "rm", "main")
    assert (code, out) == (0, "")
    assert err == "gemchat: removing 2 stored answers from the service\ngemchat: removed session main\n"
    assert deleted(gemchat) == [(f"/v1/interactions/{name}", 200) for name in names]
    assert gemchat("log", "--json").json["turns"] == []


def test_what_the_service_has_forgotten_needs_no_removal(gemchat: Gemchat) -> None:
    talk(gemchat, "interactions")
    gemchat.server.forget()
    assert gemchat("sessions", "rm", "main").code == 0
    assert [status for _, status in deleted(gemchat)] == [404, 404]


def test_what_is_kept_nowhere_needs_no_connection(gemchat: Gemchat) -> None:
    talk(gemchat, "contents")
    gemchat("new", "empty")
    del gemchat.environ["GEMINI_API_KEY"]
    assert gemchat("sessions", "rm", "main") == (0, "", "gemchat: removed session main\n")
    assert gemchat("sessions", "rm", "empty").code == 0


def test_the_stored_answers_can_be_left_where_they_are(gemchat: Gemchat) -> None:
    talk(gemchat, "interactions")
    assert gemchat("sessions", "rm", "main", "--keep-remote").err == "gemchat: removed session main\n"
    assert deleted(gemchat) == []


def test_a_session_stays_while_its_answers_cannot_be_removed(gemchat: Gemchat) -> None:
    talk(gemchat, "interactions")
    del gemchat.environ["GEMINI_API_KEY"]
    code, _, err = gemchat("sessions", "rm", "main")
    assert code == 3
    assert err.endswith("To remove the session on this machine only, add --keep-remote.\n")
    gemchat.environ["GEMINI_API_KEY"] = "test-key"
    gemchat.server.close()
    code, _, err = gemchat("sessions", "rm", "main")
    assert code == 7
    assert "attempt 5 of 5" in err
    assert "--keep-remote" in err
    assert len(gemchat("log", "--json").json["turns"]) == 2
    assert gemchat("sessions", "rm", "main", "--keep-remote").code == 0


def test_answers_of_another_key_are_left_and_named(gemchat: Gemchat) -> None:
    gemchat("ask", "with one key")
    gemchat.environ["GEMINI_API_KEY"] = "another-key"
    gemchat("ask", "with another")
    first, second = ids(gemchat)
    code, _, err = gemchat("sessions", "rm", "main")
    assert code == 0
    assert "1 stored answer of another key or address cannot be removed with this one" in err
    assert deleted(gemchat) == [(f"/v1/interactions/{second}", 200)]
    assert first != second


def test_an_answer_that_joins_another_terminals_turn_is_removed_too(gemchat: Gemchat) -> None:
    """While the model answers, a second gemchat takes a turn in the same session."""
    gemchat("ask", "first")

    class Meddling(ReplicaMind):
        asked = 0

        def answer(self, prompt: Any) -> Iterator[str]:
            self.asked += 1
            if self.asked == 1:
                assert gemchat("ask", "the other terminal's").code == 0
            yield "joined"

    gemchat.mind.answer = Meddling().answer  # type: ignore[method-assign]
    assert gemchat("ask", "second").code == 0
    assert len(set(ids(gemchat))) == 3
    assert gemchat("ask", "third", "--json").json["sent"]["reason"] == "turns from two terminals are joined"
    assert gemchat("sessions", "rm", "main").code == 0
    assert len(deleted(gemchat)) == 4


# The way to the service


@pytest.fixture
def proxied(gemchat: Gemchat, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """All plain http to other machines ends at a scripted service."""
    gemchat.environ |= {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": "http://gemini.example"}
    with Service() as service:
        monkeypatch.setenv("HTTP_PROXY", service.url)
        yield service


@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_goes_unencrypted_to_another_machine_unless_wanted(
    gemchat: Gemchat, proxied: Service, backend: Any
) -> None:
    gemchat.write("app.py", LONG)
    proxied.enqueue(good(Way(backend, stream=True)), as_json({}))
    code, out, err = gemchat("ask", "what?", "app.py", "--backend", backend)
    assert (code, out) == (3, "")
    assert "the base URL is plain http" in err
    assert "--insecure" in err
    assert gemchat("edit", "what?", "app.py", "--backend", backend).code == 3
    assert proxied.seen == []
    assert gemchat("ask", "what?", "app.py", "--backend", backend, "--insecure").out == f"{HELLO}\n"
    assert len(proxied.seen) == 1
    if backend == "interactions":
        assert gemchat("sessions", "rm", "main").code == 3
        assert gemchat("sessions", "rm", "main", "--insecure").code == 0


def test_a_remark_about_waiting_can_be_silenced(gemchat: Gemchat) -> None:
    with Service() as service:
        gemchat.environ["GOOGLE_GEMINI_BASE_URL"] = service.url
        service.enqueue(as_json(api_error(503, "full"), 503), good(Way("interactions", stream=True)))
        assert gemchat("ask", "what?", "-q") == (0, f"{HELLO}\n", "")
        assert gemchat.slept == [1.0]


def test_an_error_after_remarks_is_the_last_line(gemchat: Gemchat) -> None:
    gemchat.server.close()
    code, out, err = gemchat("ask", "what?", "--json")
    assert (code, out) == (7, "")
    assert json.loads(err.splitlines()[-1])["error"]["kind"] == "Unavailable"
    assert gemchat.slept == [1.0, 2.0, 4.0, 8.0]
