from __future__ import annotations

import json

from gemchat import report
from gemchat.diffview import patch_bytes
from tests.cli.conftest import Gemchat

OLD = "é\r\nzwei\ncafé\r\n".encode("cp1252")
NEW = "é\r\ndrü\ncafé\r\n".encode("cp1252")


def test_an_encoding_named_once_holds_for_every_later_command(gemchat: Gemchat) -> None:
    file = gemchat.write("notes.txt", OLD)
    assert gemchat("ask", "what?", "notes.txt", "--encoding", "Windows-1252").code == 0
    assert gemchat.mind.belief.newest["currentSource"] == "é\nzwei\ncafé\n"
    gemchat.propose(("zwei", "drü"))
    edited = gemchat("edit", "three", "--json")
    assert edited.code == 0
    assert "+drü\n".encode("cp1252").decode("cp1252") in gemchat("diff", "--json").json["diff"]
    assert gemchat("apply").code == 0
    assert file.read_bytes() == NEW
    assert gemchat("status", "--json").json["targets"][0]["state"] == "synchronized"
    assert gemchat("undo").code == 0
    assert file.read_bytes() == OLD
    assert gemchat("redo").code == 0
    assert file.read_bytes() == NEW
    file.write_bytes(NEW.replace(b"dr\xfc", b"dr\xfcben"))
    assert gemchat("status", "--json").json["targets"][0]["state"] == "changed"
    assert gemchat("ask", "and now?").code == 0
    assert gemchat("show", "2", "--json").code == 0


def test_a_character_without_a_place_fails_the_edit_and_is_named(gemchat: Gemchat) -> None:
    file = gemchat.write("notes.txt", OLD)
    for _ in range(2):
        gemchat.propose(("zwei", "5 \u20ac \u0416"))
    result = gemchat("edit", "price", "notes.txt", "--encoding", "cp1252", "--json")
    assert (result.code, result.out) == (8, "")
    assert "cp1252 has no U+0416 (CYRILLIC CAPITAL LETTER ZHE), which is in line 2" in result.err
    assert file.read_bytes() == OLD


def test_hunks_and_merges_keep_the_encoding(gemchat: Gemchat) -> None:
    lines = [f"zeile {n} ü\n" for n in range(30)]
    file = gemchat.write("notes.txt", "".join(lines).encode("utf-16"))
    gemchat.propose(("zeile 2 ü", "zeile 2 ö"), ("zeile 25 ü", "zeile 25 ö"))
    assert gemchat("edit", "o", "notes.txt", "--encoding", "utf-16", "--json").code == 0
    assert gemchat("apply", "--hunks", "1").code == 0
    lines[2] = "zeile 2 ö\n"
    assert file.read_bytes() == "".join(lines).encode("utf-16")
    lines[12] = "hand ä\n"
    file.write_bytes("".join(lines).encode("utf-16"))
    assert gemchat("apply").code == 5
    assert gemchat("apply", "--merge").code == 0
    lines[25] = "zeile 25 ö\n"
    assert file.read_bytes() == "".join(lines).encode("utf-16")


def test_a_patch_has_the_bytes_of_the_file() -> None:
    diff = report.FileDiff(path="a", before="é\n", after="ü\n", mode=0o100644, encoding="cp1252")
    assert patch_bytes([diff]).endswith(b"-\xe9\n+\xfc\n")
    wide = report.FileDiff(path="a", before="é\n", after="ü\n", mode=0o100644, encoding="utf-16-le")
    assert patch_bytes([wide]).endswith("-é\n+ü\n".encode())


def test_another_encoding_shows_the_model_other_text(gemchat: Gemchat) -> None:
    gemchat.write("notes.txt", b"caf\xe9 \xa4\n")
    gemchat("ask", "what?", "notes.txt", "--encoding", "latin-1")
    again = gemchat("ask", "and now?", "--encoding", "iso8859-15", "--json")
    assert again.json["sent"]["reason"] == "notes.txt is read as iso8859-15 now"
    said = str(json.loads(gemchat.requests[-1].body))
    assert "café €" in said
    assert "café ¤" not in said
    assert gemchat("ask", "still?", "--json").json["sent"]["files"][0]["source"] == "synchronized"


def test_a_pending_change_keeps_its_encoding(gemchat: Gemchat) -> None:
    gemchat.write("notes.txt", OLD)
    gemchat.propose(("zwei", "drei"))
    gemchat("edit", "three", "notes.txt", "--encoding", "cp1252", "--json")
    refused = gemchat("edit", "four", "notes.txt", "--encoding", "latin-1", "--json")
    assert (refused.code, refused.out) == (5, "")
    assert "pending, and it is written in cp1252" in refused.err


def test_context_and_new_files_in_an_encoding(gemchat: Gemchat) -> None:
    gemchat.write("names.txt", b"J\xfcrgen\n")
    gemchat.mind.replies.append(json.dumps({"explanation": "", "proposedSource": "Jürgen!\n"}))
    assert gemchat("edit", "hi", "new.txt", "-c", "names.txt", "--encoding", "latin-1", "-y", "--json").code == 0
    assert gemchat.mind.belief.newest["secondaryContext"][0]["text"] == "Jürgen\n"
    assert (gemchat.root / "new.txt").read_bytes() == b"J\xfcrgen!\n"
    assert gemchat("ask", "again?").code == 0


def test_an_encoding_that_is_none(gemchat: Gemchat) -> None:
    gemchat.write("notes.txt", OLD)
    assert gemchat("ask", "what?", "notes.txt", "--encoding", "klingon").code == 2
    wrong = gemchat("ask", "what?", "notes.txt", "--encoding", "utf-16")
    assert wrong.code == 5
    assert "has no byte order mark" in wrong.err
    assert gemchat("status").code == 0
    assert gemchat.requests == []
