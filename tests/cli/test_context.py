from __future__ import annotations

from tests.cli.conftest import Gemchat


def a_project(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n")
    gemchat.write("lib/one.py", "one = 1\n")
    gemchat.write("lib/two.py", "two = 2\n")
    gemchat.write("lib/deep/three.py", "three = 3\n")
    gemchat.write("lib/deep/notes.txt", "notes\n")
    gemchat.write("lib/data.bin", b"a\0b")
    gemchat.write("build/out.py", "out = 1\n")
    gemchat.write(".gitignore", "build/\n*.log\n!keep.log\n")


def names(gemchat: Gemchat) -> list[str]:
    return gemchat("context", "--json").json["context"]  # type: ignore[no-any-return]


def test_a_directory_stands_for_what_is_text_and_not_ignored(gemchat: Gemchat) -> None:
    a_project(gemchat)
    gemchat.write("lib/x.log", "x\n")
    gemchat.write("lib/keep.log", "kept\n")
    code, out, err = gemchat("context", "add", "lib")
    assert code == 0
    assert out.splitlines()[0] == "lib/deep/notes.txt  6 bytes, about 1 tokens"
    assert err == (
        "gemchat: left out: lib/data.bin is a binary file\n"
        "gemchat: 5 files of context, 37 bytes, about 8 tokens; sent once, and again when one changes\n"
    )
    assert names(gemchat) == [
        "lib/deep/notes.txt", "lib/deep/three.py", "lib/keep.log", "lib/one.py", "lib/two.py",
    ]  # fmt: skip
    gemchat("ask", "what?", "app.py")
    assert [item["path"] for item in gemchat.mind.belief.newest["secondaryContext"]] == names(gemchat)
    gemchat("ask", "and?")
    assert "secondaryContext" not in gemchat.mind.belief.newest


def test_all_three_ignore_files_hold_at_every_depth(gemchat: Gemchat) -> None:
    a_project(gemchat)
    gemchat.write("lib/.gitignore", "two.py\n")
    gemchat.write(".geminiignore", "/lib/one.py\n")
    gemchat.write("lib/deep/.aiexclude", "*.txt\n!two.py\n")
    gemchat.write("lib/.aiexclude", "!*.txt\n")
    gemchat("context", "add", "lib")
    assert names(gemchat) == ["lib/.aiexclude", "lib/.gitignore", "lib/deep/.aiexclude", "lib/deep/three.py"]


def test_rules_of_the_repository_above_the_project_hold(gemchat: Gemchat) -> None:
    a_project(gemchat)
    (gemchat.root.parent / ".git").mkdir()
    (gemchat.root.parent / ".gitignore").write_text("/project/lib/deep/\n")
    gemchat("context", "add", "lib")
    assert names(gemchat) == ["lib/one.py", "lib/two.py"]


def test_an_ignored_directory_has_nothing_but_a_named_file_is_meant(gemchat: Gemchat) -> None:
    a_project(gemchat)
    for name in ("build", "build/*.py", "*.none", "no/*.py"):
        refused = gemchat("context", "add", name)
        assert (refused.code, refused.out) == (5, "")
        assert "has no file that is not ignored" in refused.err
    assert gemchat("context", "add", "missing.py").code == 5
    assert gemchat("context", "add", "lib/data.bin").code == 5
    assert names(gemchat) == []
    assert gemchat("context", "add", "build/out.py").code == 0
    assert names(gemchat) == ["build/out.py"]


def test_globs(gemchat: Gemchat) -> None:
    a_project(gemchat)
    gemchat.write("lib/[id].py", "id = 1\n")
    gemchat("context", "add", "lib/*.py")
    assert names(gemchat) == ["lib/[id].py", "lib/one.py", "lib/two.py"]
    gemchat("context", "rm", "lib/*.py")
    gemchat("context", "add", "**/*.py", directory=gemchat.root / "lib")
    assert names(gemchat) == ["lib/[id].py", "lib/deep/three.py", "lib/one.py", "lib/two.py"]
    gemchat("context", "rm", ".")
    gemchat("context", "add", "lib/[id].py")
    assert names(gemchat) == ["lib/[id].py"]


def test_what_leads_out_of_the_project_is_left_out(gemchat: Gemchat) -> None:
    a_project(gemchat)
    (gemchat.root.parent / "secret.py").write_text("s\n")
    (gemchat.root / "lib/link.py").symlink_to("../../secret.py")
    (gemchat.root / "lib/up").symlink_to("../..")
    gemchat("context", "add", "lib/*.py", "lib")
    assert "lib/link.py" not in names(gemchat)
    assert "lib/one.py" in names(gemchat)
    assert not any("up" in name for name in names(gemchat))
    for outside in ("../*.py", "..", "../secret.py"):
        assert gemchat("context", "add", outside).code == 5
    assert gemchat("context", "add", "../secret.py", "--allow-outside").code == 0
    assert names(gemchat)[-1] == "../secret.py"
    assert gemchat("ask", "what?").code == 0
    assert gemchat.mind.belief.newest["secondaryContext"][-1]["text"] == "s\n"
    assert gemchat("context", "rm", "../secret.py").code == 0


def test_context_is_removed_also_when_the_file_is_gone(gemchat: Gemchat) -> None:
    a_project(gemchat)
    gemchat("context", "add", "lib")
    (gemchat.root / "lib/one.py").unlink()
    assert gemchat("context", "rm", "lib/one.py") == (0, "removed lib/one.py\n", "")
    assert gemchat("context", "rm", "lib/deep", "--json").json["removed"] == [
        "lib/deep/notes.txt", "lib/deep/three.py",
    ]  # fmt: skip
    assert gemchat("context", "--json").json["context"] == ["lib/two.py"]
    refused = gemchat("context", "rm", "lib/one.py")
    assert (refused.code, refused.out) == (5, "")
    assert "lib/one.py is not part of the context" in refused.err


def test_context_of_a_question_may_be_a_directory_and_its_size_is_said(gemchat: Gemchat) -> None:
    a_project(gemchat)
    result = gemchat("ask", "what?", "app.py", "-c", "lib/deep")
    assert "gemchat: 2 files of context, 16 bytes" in result.err
    assert names(gemchat) == ["lib/deep/notes.txt", "lib/deep/three.py"]


def test_json_of_what_was_added(gemchat: Gemchat) -> None:
    a_project(gemchat)
    assert gemchat("context", "add", "lib/deep", "lib/data.bin", "--json").code == 5
    assert gemchat("context", "add", "lib", "--json").json["left_out"] == [
        {"path": "lib/data.bin", "reason": "lib/data.bin is a binary file"}
    ]
    added = gemchat("context", "add", "app.py", "--json").json
    assert added["added"] == [{"path": "app.py", "bytes": 6, "tokens": 1, "mime_type": None}]
    assert added["context"][-1] == "app.py"


def test_too_much_at_once(gemchat: Gemchat) -> None:
    for number in range(3):
        gemchat.write(f"lib/{number}.txt", b"a" * 1_500_000)
    refused = gemchat("context", "add", "lib")
    assert (refused.code, refused.out) == (5, "")
    assert "3 files with 4,500,000 bytes" in refused.err


def test_an_overview_of_the_project_is_sent_when_it_changes(gemchat: Gemchat) -> None:
    a_project(gemchat)
    gemchat.write("lib/app.py", "def start(): ...\nclass Engine: ...\n")
    gemchat.write("lib/broken.py", b"\xff")
    added = gemchat("context", "add", "--tree")
    assert (added.code, added.err) == (0, "")
    assert added.out.startswith("(project overview)  about ")
    assert gemchat("context", "--json").json["context"] == ["(project overview)"]
    gemchat("ask", "what is here?")
    (sent,) = gemchat.mind.belief.newest["secondaryContext"]
    assert sent["path"] == "(project overview)"
    assert "lib/\n  app.py 35 B: start, Engine\n  broken.py 1 B\n  data.bin 3 B\n  deep/\n" in sent["text"]
    assert "build" not in sent["text"]
    gemchat("ask", "and?")
    assert "secondaryContext" not in gemchat.mind.belief.newest
    gemchat.write("lib/new.py", "def fresh(): ...\n")
    gemchat("ask", "and now?")
    assert "new.py 17 B: fresh" in gemchat.mind.belief.newest["secondaryContext"][0]["text"]
    assert gemchat("context", "rm", "--tree").out == "removed (project overview)\n"
    assert gemchat("context", "--json").json["context"] == []
    for command in ("add", "rm"):
        assert gemchat("context", command).code == 2
