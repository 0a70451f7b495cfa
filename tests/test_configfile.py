"""Files of settings: what is wrong with one is said, a project's says little, and changing one keeps the rest."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.configfile import change, read_settings
from gemchat.configtable import OPTIONS, Price
from gemchat.errors import ConfigError

PRICE = Price(fresh=0.3, cached=0.03, output=2.5)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def refusal(file: Path, text: str | bytes) -> ConfigError:
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ConfigError) as caught:
        read_settings(file, "user")
    assert caught.value.message.startswith(str(file))
    assert caught.value.hint
    return caught.value


def values(file: Path) -> dict[str, Any]:
    return {name: found.value for name, found in read_settings(file, "user").items()}


def test_no_file_sets_nothing(file: Path) -> None:
    assert read_settings(file, "user") == {}
    file.touch()
    assert read_settings(file, "user") == {}
    assert read_settings(file / "below-a-file", "user") == {}


def test_what_a_file_sets(file: Path) -> None:
    file.write_text('model = "m"\nlocal.path = "~/m.gguf"\n[prices."a.b"]\nfresh=0.3\ncached=0.03\noutput=2.5\n')
    assert values(file) == {"model": "m", "local.path": "~/m.gguf", "prices.a.b": PRICE}
    assert {found.where for found in read_settings(file, "user").values()} == {str(file)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = 1\nmodel =\n", ", line 2 is not TOML"),
        ("model = 'a'\nmodel = 'b'\n", "is not TOML"),
        ("x = [", "is not TOML"),
        ("x = " + "[" * 5000, "is not TOML"),
        ("x = 1" + "0" * 5000, "is not TOML"),
        (b"model = '\xff'", "is not UTF-8"),
        ("# " + "x" * 300_000, "is no file of settings"),
        ("modle = 'x'\n", ": there is no setting modle"),
        ("[network]\nproxy = 'x'\n", ": there is no setting network"),
        ("[local]\nfile = '/x'\n", ": there is no setting local.file"),
        ("'local.path' = '/x'\n", ': there is no setting "local.path"'),
        ("horizon = 'six'\n", ": horizon must be a number of turns"),
        ("local.path = 'x'\n", ": local.path must be the whole path"),
        ("model = 1979-05-27\n", ": model must be a name"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(file: Path, text: str | bytes, said: str) -> None:
    assert said in refusal(file, text).message


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("pipe", "endless", "loop", "."):
        with pytest.raises(ConfigError):
            read_settings(tmp_path / name, "project")


@pytest.mark.parametrize("row", [row for row in OPTIONS if not row.shared], ids=lambda row: row.name)
def test_a_projects_file_may_not_set_what_is_not_shared(file: Path, row: Any) -> None:
    """Whatever the value: it is refused before it is looked at."""
    file.write_text(f"{row.name} = 'https://elsewhere.example'\n")
    with pytest.raises(ConfigError) as caught:
        read_settings(file, "project")
    assert caught.value.message == f"{file}: a project's file may not set {row.name}"
    assert "not trusted" in caught.value.hint


@pytest.mark.parametrize(
    "text", ["local = {url = 'x'}", "[local]\nurl = 'x'", "'check' = 'x'", '"\\u0063heck" = "x"']
)
def test_there_is_no_other_way_of_saying_it(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(ConfigError, match="may not set"):
        read_settings(file, "project")


def test_a_projects_file_may_set_the_rest(file: Path) -> None:
    file.write_text("model = 'm'\nhorizon = 3\n")
    found = read_settings(file, "project")
    assert {name: entry.source for name, entry in found.items()} == {"model": "project", "horizon": "project"}


BEFORE = """\
# my settings

model = "old"   # because
local = { url = "http://u" } # the desktop

[prices]  # from the list
"a.b" = {fresh = 1, cached = 1, output = 1}
# the end
"""


def test_a_change_keeps_comments_and_everything_else(file: Path) -> None:
    file.write_text(BEFORE)
    assert change(file, "model", "new")
    assert file.read_text() == BEFORE.replace('"old"', '"new"')
    assert change(file, "local.url", "http://v")
    assert change(file, "prices.c.d", PRICE)
    assert change(file, "pager", False)
    text = file.read_text()
    assert [line for line in BEFORE.splitlines() if "#" in line and line[0] == "#"] == [
        line for line in text.splitlines() if line[:1] == "#"
    ]
    for comment in ("# because", "# the desktop", "# from the list"):
        assert comment in text
    assert values(file) == {
        "model": "new",
        "local.url": "http://v",
        "prices.a.b": Price(fresh=1.0, cached=1.0, output=1.0),
        "prices.c.d": PRICE,
        "pager": False,
    }


def test_a_name_is_removed_once(file: Path) -> None:
    file.write_text(BEFORE)
    assert change(file, "prices.a.b", None)
    assert change(file, "model", None)
    assert values(file) == {"local.url": "http://u"}
    assert "# my settings" in file.read_text()
    before = file.stat().st_mtime_ns
    assert not change(file, "model", None)
    assert not change(file, "attachments.limit", None)
    assert file.stat().st_mtime_ns == before


def test_an_unknown_name_can_be_removed(file: Path) -> None:
    file.write_text("modle = 'x'\n")
    assert change(file, "modle", None)
    assert values(file) == {}


def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "new/config.toml"
    change(file, "model", "m")
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    file.chmod(0o644)
    change(file, "model", "n")
    assert file.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in file.parent.iterdir()] == ["config.toml"]


def test_a_link_stays_a_link(tmp_path: Path, file: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("# mine\n")
    file.symlink_to(real)
    change(file, "model", "m")
    assert file.is_symlink()
    assert real.read_text() == '# mine\nmodel = "m"\n'


@pytest.mark.parametrize("text", ["model = [", "local = 5\n"])
def test_a_file_that_cannot_be_changed_safely_is_left_alone(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(ConfigError):
        change(file, "local.path", "/m")
    assert file.read_text() == text


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        change(tmp_path / "file/config.toml", "model", "m")


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "model": st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    "horizon": st.integers(1, 1000),
    "deadline": st.floats(0.001, 1000),
    "pager": st.booleans(),
    "attachments.limit": st.integers(1, 10**9),
    "local.url": st.text(st.characters(exclude_categories=["Cs", "Z", "C"]), min_size=1).map("http://{}".format),
    "prices.a.b": st.just(PRICE),
    "prices.c": st.just(PRICE),
}
STEPS = st.lists(
    st.sampled_from(list(VALUES)).flatmap(lambda name: st.tuples(st.just(name), st.none() | VALUES[name])),
    max_size=12,
)


@given(
    start=st.sampled_from([BEFORE, "", "# only this", "[local]\n# here\n[attachments]\n# there\n"]), steps=STEPS
)
def test_whatever_is_set_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, start: str, steps: list[tuple[str, Any]]
) -> None:
    """Law: after any changes, the file is TOML, sets just what was set, and has every comment on its own line."""
    file = tmp_path_factory.mktemp("config") / "config.toml"
    file.write_text(start)
    expected = values(file)
    for name, value in steps:
        change(file, name, value)
        expected = {key: old for key, old in expected.items() if key != name}
        expected |= {} if value is None else {name: value}
    tomllib.loads(file.read_bytes().decode())
    assert values(file) == expected
    comments = [line for line in start.splitlines() if line.startswith("#")]
    assert all(comment in file.read_text() for comment in comments)
