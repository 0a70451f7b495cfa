"""Which of several values is in force, and what follows from it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.config import Found, Settings, Source, config_directory, resolve, settings
from gemchat.configtable import OPTIONS, PRICES, Price
from gemchat.errors import ConfigError, UsageError

PRICE = Price(fresh=1.0, cached=0.1, output=4.0)


def layer(source: Source, **values: Any) -> dict[str, Found]:
    return {name.replace("__", "."): Found(value=value, source=source) for name, value in values.items()}


def chosen(environ: dict[str, str] | None = None, *, option: str | None = None, **user: Any) -> Settings:
    found = resolve(environ or {}, user=layer("user", **user), project={}, options={"model": option})
    return settings(found)


@given(st.sets(st.sampled_from(["option", "environment", "project", "user"])))
def test_the_highest_of_those_who_say_something_wins(sources: set[str]) -> None:
    found = resolve(
        {"GEMCHAT_MODEL": "environment"} if "environment" in sources else {"GEMCHAT_MODEL": ""},
        user=layer("user", model="user") if "user" in sources else {},
        project=layer("project", model="project") if "project" in sources else {},
        options={"model": "option" if "option" in sources else None},
    )["model"]
    order = [source for source in ("option", "environment", "project", "user") if source in sources]
    assert found.source == (order[0] if order else "default")
    assert found.value == (order[0] if order else "gemini-3.8-flash")


def test_each_setting_is_decided_by_itself() -> None:
    found = resolve(
        {}, user=layer("user", model="mine", horizon=3), project=layer("project", horizon=9), options={}
    )
    assert (found["model"].value, found["horizon"].value) == ("mine", 9)
    assert found["horizon"].source == "project"


def test_every_setting_is_on_the_value() -> None:
    fields = {row.name.replace(".", "_") for row in OPTIONS if not row.name.startswith(PRICES)}
    assert {*Settings.__struct_fields__} == fields | {"prices"}
    assert chosen().prices == {}
    assert chosen(prices__m=PRICE).prices == {"m": PRICE}
    assert chosen(attachments__limit=7).attachments_limit == 7


@pytest.mark.parametrize("row", [row for row in OPTIONS if row.variable], ids=lambda row: row.name)
def test_the_environment_is_read_as_text(row: Any) -> None:
    value = {"backend": "contents", "warm": "10m"}.get(row.name, "https://x")
    found = resolve({row.variable: value}, user={}, project={}, options={})[row.name]
    assert found == Found(value=value, source="environment", where=row.variable)


def test_who_said_it_is_named_when_it_is_wrong() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve({"GEMCHAT_BACKEND": "soap"}, user={}, project={}, options={})
    assert caught.value.message.startswith("GEMCHAT_BACKEND: backend must be auto")
    with pytest.raises(UsageError) as wrong:
        resolve({}, user={}, project={}, options={"backend": "soap"})
    assert wrong.value.message.startswith("--backend must be auto, interactions or contents, not soap")


def test_the_backend_follows_the_service_unless_it_is_named() -> None:
    assert chosen().backend == "interactions"
    assert chosen(vertex=True).backend == "contents"
    assert chosen(vertex=True, backend="interactions").backend == "interactions"
    assert chosen(vertex=True, option="local").backend == "interactions"


def test_the_environments_local_model_replaces_the_one_in_a_file() -> None:
    by_url = chosen({"GEMCHAT_LOCAL_URL": "http://u"}, local__path="/m")
    assert (by_url.local_path, by_url.local_url) == (None, "http://u")
    by_path = chosen({"GEMCHAT_LOCAL_MODEL": "/m"}, local__url="http://u")
    assert (by_path.local_path, by_path.local_url) == ("/m", None)


def test_the_directory_of_the_settings() -> None:
    assert str(config_directory({"GEMCHAT_CONFIG_DIR": "/c"})) == "/c"
    assert config_directory({}).name == "gemchat"
    with pytest.raises(ConfigError):
        config_directory({"GEMCHAT_CONFIG_DIR": "~nobody-of-that-name/c"})
