"""The table of settings: what each value must be, and what is said of one that is not."""

from __future__ import annotations

import pytest

from gemchat.configtable import OPTIONS, PRICES, Price, checked, flattened, option
from gemchat.errors import ConfigError, UsageError

PLAIN = [row for row in OPTIONS if not row.name.startswith(PRICES)]


def refusal(name: str, value: object, *, text: bool = False) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        checked(name, value, ConfigError, where="file: ", text=text)
    return caught.value


def test_every_row_is_complete_and_its_default_is_allowed() -> None:
    assert len({row.name for row in OPTIONS}) == len(OPTIONS)
    variables = [row.variable for row in OPTIONS if row.variable]
    assert len(set(variables)) == len(variables)
    for row in OPTIONS:
        assert row.about.endswith(".")
        assert row.takes
    for row in PLAIN:
        if row.default is not None:
            assert checked(row.name, row.default, ConfigError) == row.default


def test_what_moves_the_key_or_the_content_loosens_a_guard_or_runs_a_command_is_the_users_alone() -> None:
    assert {row.name for row in OPTIONS if not row.shared} == {
        "base_url", "insecure", "vertex", "project", "location", "attachments.limit", "check", "pager",
        "warm", "local.path", "local.url",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model", ""),
        ("model", 3),
        ("backend", "soap"),
        ("backend", True),
        ("insecure", "true"),
        ("insecure", 1),
        ("horizon", 0),
        ("horizon", 2.5),
        ("horizon", True),
        ("horizon", 10**30),
        ("deadline", 0),
        ("deadline", float("nan")),
        ("deadline", float("inf")),
        ("deadline", "60"),
        ("check", ["pytest"]),
        ("warm", "10"),
        ("warm", "10 m"),
        ("warm", 600),
        ("warm", "-1m"),
        ("local.path", "model.gguf"),
        ("prices.m", {"fresh": 1}),
        ("prices.m", {"fresh": 1, "cached": 1, "output": -1}),
        ("prices.m", {"fresh": 1, "cached": 1, "output": 1, "more": 1}),
        ("prices.m", 3),
    ],
)
def test_a_value_of_another_kind_is_refused_and_named(name: str, value: object) -> None:
    error = refusal(name, value)
    assert error.message.startswith(f"file: {name} must be ")
    assert option(name, ConfigError).takes in error.message


def test_a_whole_number_is_a_number() -> None:
    assert checked("deadline", 60, ConfigError) == 60.0
    price = checked("prices.m", {"fresh": 1, "cached": 0, "output": 2.5}, ConfigError)
    assert price == Price(fresh=1.0, cached=0.0, output=2.5)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [("pager", "false", False), ("horizon", "12", 12), ("deadline", "1.5", 1.5), ("model", "7", "7")],
)
def test_words_stand_for_values_where_all_is_text(name: str, text: str, value: object) -> None:
    assert checked(name, text, ConfigError, text=True) == value


@pytest.mark.parametrize(("name", "text"), [("pager", "maybe"), ("horizon", "many"), ("deadline", "nan")])
def test_other_words_do_not(name: str, text: str) -> None:
    assert f"not {text}" in refusal(name, text, text=True).message


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("modle", "model"),
        ("cache-ttl", "cache_ttl"),
        ("Backend", "backend"),
        ("attachments", "attachments.limit"),
        ("prices", "prices.<model>"),
        ("local.paths", "local.path"),
    ],
)
def test_an_unknown_name_is_an_error_with_a_suggestion(name: str, meant: str) -> None:
    with pytest.raises(UsageError) as caught:
        option(name, UsageError)
    assert caught.value.message == f"there is no setting {name}"
    assert caught.value.hint.startswith(f"Did you mean {meant}?")


def test_a_key_is_no_setting() -> None:
    with pytest.raises(UsageError) as caught:
        option("api_key", UsageError)
    assert "gemchat config set-key" in caught.value.hint


def test_a_name_like_nothing_else_is_not_guessed_at() -> None:
    with pytest.raises(UsageError) as caught:
        option("zzz\x1b[2J" + "z" * 999, UsageError)
    assert caught.value.hint == "All settings: gemchat config list"
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 100


def test_only_our_own_tables_have_settings_in_them() -> None:
    document = {"local": {"path": "/m"}, "prices": {"a.b": 1}, "other": {"x": 1}, "local.url": "u"}
    assert dict(flattened(document)) == {
        "local.path": "/m",
        "prices.a.b": 1,
        "other": {"x": 1},
        '"local.url"': "u",
    }


def test_a_price_under_an_unquoted_name_with_dots_is_explained() -> None:
    assert "quoted in TOML" in refusal("prices.gemini-3", {"8-flash": {"fresh": 1}}).hint
