"""Joining a model from installed parts, made here and found as any package is."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from gemchat.errors import ConfigError
from gemchat.local.weights import Weights, is_joined, join, remove

PARTS = (b"GGUF first ", b"and second")
WHOLE = b"".join(PARTS)
IMPORTED = "raise AssertionError('a part was imported')"


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Weights:
    site = tmp_path / "site"
    for number, data in enumerate(PARTS, 1):
        package = site / f"fake_part{number}"
        (package / "data").mkdir(parents=True)
        (package / "data/part.bin").write_bytes(data)
        (package / "__init__.py").write_text(IMPORTED)
        info = site / f"fake_part{number}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: fake-part{number}\nVersion: 1.0\n")
        (info / "RECORD").write_text(f"fake_part{number}/__init__.py,,\nfake_part{number}/data/part.bin,,\n")
    monkeypatch.syspath_prepend(str(site))
    return Weights(
        name="fake",
        title="Fake",
        file="fake.gguf",
        sha256=hashlib.sha256(WHOLE).hexdigest(),
        size=len(WHOLE),
        parts=("fake-part1", "fake-part2"),
    )


def test_parts_are_joined_once(weights: Weights, tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    files = {join(weights, tmp_path / "cache", lambda *step: heard.append(step)) for _ in range(2)}
    assert [file.read_bytes() for file in files] == [WHOLE]
    assert heard == [(len(PARTS[0]), len(WHOLE)), (len(WHOLE), len(WHOLE))]
    assert remove(weights, tmp_path / "cache")
    assert not is_joined(weights, tmp_path / "cache")


def test_what_has_another_hash_is_refused_and_not_kept(weights: Weights, tmp_path: Path) -> None:
    (tmp_path / "site/fake_part2/data/part.bin").write_bytes(b"and forged")
    with pytest.raises(ConfigError, match="refused"):
        join(weights, tmp_path / "cache", lambda *_: None)
    assert not list((tmp_path / "cache").glob("*.gguf*[!k]"))


def test_a_missing_part_is_named(weights: Weights, tmp_path: Path) -> None:
    (tmp_path / "site/fake_part2-1.0.dist-info/METADATA").unlink()
    (tmp_path / "site/fake_part2-1.0.dist-info/RECORD").unlink()
    (tmp_path / "site/fake_part2-1.0.dist-info").rmdir()
    with pytest.raises(ConfigError, match="fake-part2 is not installed"):
        join(weights, tmp_path / "cache", lambda *_: None)
