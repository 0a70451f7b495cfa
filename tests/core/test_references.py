from __future__ import annotations

from gemchat.core.model import FileChange, MediaRef, Remote
from gemchat.core.references import references
from tests.core.sessions import Script


def test_every_blob_is_named_with_its_file() -> None:
    script = Script()
    script.turn(
        files={"a": "a1", "new": None},
        proposal={"a": ("a1", "a2"), "new": (None, "n1")},
        carried={"b": "b1"},
        remote=Remote(content="said"),
        media=(MediaRef(path="shot.png", mime_type="image/png", sha256="p1", bytes=1, tokens=1),),
    )
    script.change("applied", FileChange(path="a", before="a1", after="a3", turn="1"))
    assert set(references(script.session)) == {
        ("", "said"),
        ("a", "a1"),
        ("a", "a2"),
        ("a", "a3"),
        ("b", "b1"),
        ("new", "n1"),
        ("shot.png", "p1"),
    }
