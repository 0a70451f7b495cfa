"""Which model answers: the one with the key, the one on this machine, or none."""

from __future__ import annotations

from tests.cli.conftest import Gemchat


def model_of(gemchat: Gemchat, *options: str) -> str:
    gemchat.write("app.py", "x = 1\n")
    return str(gemchat("ask", "what?", "app.py", "--dry-run", "--json", *options).json["model"])


def test_a_key_wins_over_an_installed_local_model(gemchat: Gemchat) -> None:
    gemchat.has_local = True
    assert model_of(gemchat) == "gemini-3.8-flash"
    assert model_of(gemchat, "--model", "local") == "local"


def test_without_a_key_the_local_model_answers_if_it_is_installed(gemchat: Gemchat) -> None:
    gemchat.has_local = True
    del gemchat.environ["GEMINI_API_KEY"]
    assert model_of(gemchat) == "local"
    assert model_of(gemchat, "--model", "gemini-x") == "gemini-x"


def test_with_neither_both_ways_are_named(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n")
    del gemchat.environ["GEMINI_API_KEY"]
    result = gemchat("ask", "what?", "app.py")
    assert result.code == 3
    for way in ("GEMINI_API_KEY", "gemchat demo", "pip install 'gemchat[local]'"):
        assert way in result.err


def test_nothing_to_stop_and_nothing_to_remove(gemchat: Gemchat) -> None:
    assert gemchat("local", "stop").out == "nothing was running\n"
    gemchat.environ["GEMCHAT_CACHE_DIR"] = str(gemchat.root)
    assert gemchat("local", "rm").out == "there is no joined model file\n"
    assert gemchat("local", "status", "--json").json["running"] is None
