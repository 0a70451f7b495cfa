"""watch: what is saved is fed to it, so that nothing depends on time; one test at the end does it for real."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from gemchat.blobs import sha256
from gemchat.errors import WorkspaceError
from gemchat.local.mind import Prompt
from gemchat.local.server import LoopbackServer
from gemchat.watching import saved_files
from tests.cli.conftest import Gemchat, Result
from tests.cli.test_processes import command, environ, terminal
from tests.faults import HELLO, Way, good
from tests.gemini.loopback import Service, as_json
from tests.gemini.script import api_error
from tests.replica import ReplicaMind

CODE = "def f():\n    return 1\n"
DO = '# gemchat: {"replace": [[null, "1", "2"]]}\n'
OLD = "# gemchat: brought along\n"
QUESTION = "# gemchat? why one\n"
Step: TypeAlias = Callable[[], Iterable[Path]]


def watch(gemchat: Gemchat, *steps: Step | str | bytes, options: Sequence[str] = ()) -> Result:
    """Runs `watch` while app.py is saved with these texts one after the other, or these steps are taken."""

    def saved(_: Sequence[Path]) -> Generator[Collection[str], None, None]:
        yield ()
        for step in steps:
            files = step() if callable(step) else [gemchat.write("app.py", step)]
            yield [str(file) for file in files]

    gemchat.saved_files = saved
    return gemchat("watch", *options)


def turns(gemchat: Gemchat) -> list[str]:
    return [turn["mode"] for turn in gemchat("log", "--json").json["turns"]]


def believes(gemchat: Gemchat, path: str = "app.py") -> bool:
    text = gemchat.mind.belief.files[path]
    assert gemchat.mind.contradictions == []
    return text == (gemchat.root / path).read_text()


def test_a_comment_becomes_a_change_without_it(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", CODE)
    gemchat("ask", "what?", "app.py")
    code, out, err = watch(gemchat, CODE + DO, lambda: [file], options=["-y"])
    assert code == 0
    assert file.read_text() == CODE.replace("1", "2")
    assert "\n-    return 1\n-# gemchat: " in out
    assert err.startswith("gemchat: watching 2 files for new comments")
    assert "app.py, line 3: {" in err
    assert "gemchat: applied; take it back with: gemchat undo" in err
    assert (turns(gemchat), believes(gemchat)) == (["ask", "edit"], True)
    assert gemchat.mind.belief.newest["sourceSynchronized"], "the model holds what is left without the comment"
    assert gemchat("undo").code == 0
    assert file.read_text() == CODE + DO


def test_the_next_turn_knows_what_happened(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", CODE)
    watch(gemchat, CODE + DO, options=["-y"])
    assert gemchat("ask", "and now?", "--json").json["sent"]["files"][0]["source"] == "synchronized"
    assert gemchat("undo").code == 0
    assert gemchat("ask", "and now?").code == 0
    assert believes(gemchat)
    assert file.read_text() == CODE + DO


def test_a_question_is_answered(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", CODE)
    gemchat.mind.replies = ["Because **one**."]
    code, out, err = watch(gemchat, QUESTION + CODE)
    assert (code, out) == (0, "Because **one**.\n")
    assert "main, turn 1: " in err
    assert gemchat.mind.belief.newest["prompt"] == "why one\n\nThis is about line 1 of app.py: def f():"
    assert file.read_text() == QUESTION + CODE
    assert gemchat("diff").code == 5


def test_without_a_terminal_a_proposal_stays_pending(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", CODE)
    _, out, err = watch(gemchat, CODE + DO)
    assert "+    return 2" in out
    assert "pending; write it with: gemchat apply" in err
    assert file.read_text() == CODE + DO
    assert gemchat("apply").code == 0
    assert file.read_text() == CODE.replace("1", "2")


def test_questions_and_wishes_of_one_file(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", CODE)
    watch(gemchat, f"{QUESTION}{DO}# gemchat: and more\n\n{CODE}", options=["-y"])
    assert turns(gemchat) == ["ask", "edit"]
    assert file.read_text() == f"{QUESTION}\n{CODE.replace('1', '2')}"
    assert "\n\nand more\n\nThis is about line 3 of app.py: def f():" in gemchat.mind.belief.newest["prompt"]
    assert believes(gemchat)


def test_what_was_there_is_never_acted_on(gemchat: Gemchat) -> None:
    old = gemchat.write("old.py", DO + CODE)

    def moved() -> list[Path]:
        return [old, old.rename(gemchat.root / "moved.py")]

    def copied() -> list[Path]:
        return [gemchat.write("copy.py", DO + CODE)]

    def changed() -> list[Path]:
        return [gemchat.write("moved.py", "import os\n\n" + DO + CODE)]

    assert watch(gemchat, lambda: [old], copied, moved, changed, options=["-y"]).out == ""
    assert turns(gemchat) == []


def test_a_remark_survives_a_rename_without_being_repeated(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", CODE)

    def renamed() -> list[Path]:
        return [file, file.rename(gemchat.root / "b.py")]

    def changed() -> list[Path]:
        return [gemchat.write("b.py", CODE + QUESTION + "\n# gemchat? what two\n")]

    watch(gemchat, CODE + QUESTION, renamed, changed)
    assert [prompt.split("\n")[0] for prompt in prompts(gemchat)] == ["why one", "what two"]


def prompts(gemchat: Gemchat) -> list[str]:
    return [turn["prompt"] for turn in gemchat("log", "--json").json["turns"]]


def test_editors_replace_files(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", CODE)

    def saved() -> list[Path]:
        backup = file.rename(gemchat.root / "app.py~")
        new = gemchat.write(".app.py.tmp", QUESTION + CODE)
        new.replace(file)
        backup.write_text(QUESTION + CODE)
        return [file, backup, new, gemchat.write("4913", ""), gemchat.write("#app.py#", QUESTION + CODE)]

    watch(gemchat, saved, lambda: [file])
    assert turns(gemchat) == ["ask"]


def test_a_new_file_and_a_new_directory_are_watched(gemchat: Gemchat) -> None:
    def made() -> list[Path]:
        gemchat.write("lib/deep/a.py", QUESTION)
        return [gemchat.root / "lib"]

    watch(gemchat, made)
    assert [prompt.split("\n")[0] for prompt in prompts(gemchat)] == ["why one"]


def test_the_same_words_again_are_a_new_wish(gemchat: Gemchat) -> None:
    gemchat.write("app.py", CODE)
    watch(gemchat, QUESTION + CODE, CODE, CODE + QUESTION)
    assert len(turns(gemchat)) == 2


def test_its_own_writes_are_ignored_whatever_is_in_them(gemchat: Gemchat) -> None:
    """The model may write a comment to gemchat itself, and an undo brings one back."""
    file = gemchat.write("app.py", CODE)
    loop = DO.replace('"2"', '"2\\n# gemchat: again"')
    again = CODE.replace("1", "2\n# gemchat: again")

    def applied() -> list[Path]:
        assert file.read_text() == again
        return [file]

    def undone() -> list[Path]:
        file.write_text(CODE + loop)
        return [file]

    err = watch(gemchat, CODE + loop, applied, undone, options=["-y"]).err
    assert turns(gemchat) == ["edit"]
    assert err.count("app.py: gemchat itself wrote or replaced this version") == 2


@contextmanager
def served(gemchat: Gemchat, mind: ReplicaMind) -> Iterator[None]:
    with LoopbackServer(mind) as server:
        gemchat.environ["GOOGLE_GEMINI_BASE_URL"] = server.url
        yield


class Meddling(ReplicaMind):
    """Something else saves the file while the model thinks about it for the first time."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def answer(self, prompt: Prompt) -> Iterator[str]:
        if not self.prompts:
            self._file.write_text("import os\n" + self._file.read_text())
        yield from super().answer(prompt)


def test_a_file_saved_meanwhile_is_not_overwritten_and_asked_about_again(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", CODE)
    mind = Meddling(file)
    with served(gemchat, mind):
        err = watch(gemchat, CODE + DO, lambda: [file], options=["-y"]).err
    assert "app.py has changed since the proposal was made; nothing was written" in err
    assert "the comment is tried again when app.py is saved again" in err
    assert file.read_text() == "import os\n" + CODE.replace("1", "2")
    assert (len(mind.prompts), mind.contradictions) == (2, [])


def test_only_what_failed_is_tried_again(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", CODE)
    mind = Meddling(file)
    mind.replies = ["Because.", '{"explanation": "", "proposedSource": "x = 1\\ny = 2\\n"}']
    with served(gemchat, mind):
        err = watch(gemchat, QUESTION + CODE + DO, lambda: [file], options=["-y"]).err
    assert "app.py was saved again before it was read; its proposal is dropped" in err
    assert turns(gemchat) == ["ask", "edit", "edit"]
    assert file.read_text() == "import os\n" + QUESTION + CODE.replace("1", "2")
    assert mind.contradictions == []


def test_a_turn_that_fails_does_not_end_it(gemchat: Gemchat) -> None:
    gemchat.write("app.py", CODE)
    code, out, err = watch(gemchat, CODE + "# gemchat: nothing\n", QUESTION + CODE + "# gemchat: nothing\n")
    assert code == 0
    assert "gemchat: the model proposes no change" in err
    assert "tried again" not in err
    assert "belief" in out
    assert turns(gemchat) == ["edit", "ask"]


def test_when_the_service_is_away_the_next_save_tries_again(gemchat: Gemchat) -> None:
    """The connection was opened to a service that answers with errors, then with sense."""
    gemchat.write("app.py", CODE)
    with Service() as service:
        gemchat.environ["GOOGLE_GEMINI_BASE_URL"] = service.url
        service.enqueue(*[as_json(api_error(503, "full"), 503)] * 5, good(Way("interactions", stream=True)))
        code, out, err = watch(gemchat, QUESTION + CODE, QUESTION + CODE + "\n", QUESTION + CODE)
    assert (code, out) == (0, f"{HELLO}\n")
    assert err.count("the comment is tried again when app.py is saved again") == 1
    assert len(service.seen) == 6


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("ignored.py", DO),
        (".git/hooks/a.py", DO),
        ("build/a.py", DO),
        ("a.bin", b"\0" + DO.encode()),
        ("latin.py", "é".encode("latin-1") + DO.encode()),
        ("app.py~", DO),
        (".app.py.swp", DO),
        ("large.py", DO + "#" * 4_000_000),
    ],
)
def test_what_is_left_alone(gemchat: Gemchat, name: str, data: str | bytes) -> None:
    gemchat.write(".gitignore", "ignored.py\n")
    gemchat.write(".aiexclude", "build/\n")
    assert watch(gemchat, lambda: [gemchat.write(name, data)]).out == ""
    assert gemchat.requests == []


def test_a_link_leads_nowhere_outside(gemchat: Gemchat, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text(DO)

    def linked() -> list[Path]:
        (gemchat.root / "link.py").symlink_to(tmp_path / "secret.py")
        return [gemchat.root / "link.py"]

    watch(gemchat, linked)
    assert gemchat.requests == []


def test_only_what_is_named_is_watched_and_a_named_file_is_meant(gemchat: Gemchat) -> None:
    gemchat.write(".gitignore", "ignored.py\n")
    gemchat.write("ignored.py", CODE)
    gemchat.write("src/a.py", CODE)

    def saved() -> list[Path]:
        names = ["ignored.py", "src/a.py", "src/b.py", "app.py"]
        return [gemchat.write(name, f"# gemchat? {name}\n") for name in names]

    assert "watching 2 files" in watch(gemchat, saved, options=["src", "ignored.py"]).err
    assert [prompt.split("\n")[0] for prompt in prompts(gemchat)] == ["ignored.py", "src/a.py", "src/b.py"]


def git(gemchat: Gemchat, *arguments: str) -> None:
    who = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=gemchat.root, check=True, capture_output=True)


def test_a_checkout_brings_no_wishes(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", CODE)
    git(gemchat, "init", "-b", "main")
    git(gemchat, "add", ".")
    git(gemchat, "commit", "-m", "one")
    git(gemchat, "checkout", "-b", "other")
    file.write_text(CODE + DO)
    git(gemchat, "commit", "-a", "-m", "two")
    git(gemchat, "checkout", "main")

    def checked_out() -> list[Path]:
        git(gemchat, "checkout", "other")
        return [file]

    err = watch(gemchat, checked_out, options=["-y"]).err
    assert "app.py: this version comes from the repository, so its comments are left alone" in err
    assert file.read_text() == CODE + DO
    watch(gemchat, CODE + DO + QUESTION)
    assert [prompt.split("\n")[0] for prompt in prompts(gemchat)] == ["why one"]


def test_a_credential_does_not_leave(gemchat: Gemchat) -> None:
    gemchat.write("app.py", CODE)
    key = "AKIA" + "IOSFODNN7EXAMPLF"
    code, _, err = watch(gemchat, f"key = '{key}'\n{QUESTION}", QUESTION.replace("one", "two"))
    assert (code, turns(gemchat)) == (0, ["ask"])
    assert "nothing was sent: app.py, line 1" in err
    assert key not in err


LOOK = "import sys; print('looked'); sys.exit('return 2' not in open('app.py').read())"
CHECK = f'"{sys.executable}" -c "{LOOK}"'


def test_what_is_applied_at_once_is_checked_as_edits_are(gemchat: Gemchat) -> None:
    """The first answer fails the check, is taken back, and the second one stays."""
    file = gemchat.write("app.py", CODE)
    gemchat("config", "set", "check", CHECK)
    for word in ("3", "2"):
        gemchat.propose(("return 1", f"return {word}"))
    err = watch(gemchat, CODE + "# gemchat: two\n", lambda: [file], options=["-y"]).err
    assert file.read_text() == CODE.replace("1", "2")
    assert gemchat.mind.belief.newest["attachments"][0]["text"] == "looked\n"
    assert "the check ended with 1; the change was taken back" in err
    assert "the check passes; the change is applied" in err
    assert (turns(gemchat), believes(gemchat)) == (["edit", "edit"], True)


def test_what_never_passes_the_check_is_taken_back_and_watching_goes_on(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", CODE)
    gemchat("config", "set", "check", "exit 1")
    for word in ("3", "4", "5"):
        gemchat.propose(("return 1", f"return {word}"))
    gemchat.mind.replies.append("Because.")
    wish = CODE + "# gemchat: two\n"
    code, out, err = watch(gemchat, wish, lambda: [file], wish + "\n" + QUESTION, options=["-y"])
    assert (code, out) == (0, "Because.\n")
    assert "the check failed with 3 changes; none is kept" in err
    assert file.read_text() == wish + "\n" + QUESTION
    assert turns(gemchat) == ["edit", "edit", "edit", "ask"]


def test_what_is_not_applied_at_once_is_not_checked(gemchat: Gemchat) -> None:
    file = gemchat.write("app.py", CODE)
    gemchat("config", "set", "check", "exit 1")
    err = watch(gemchat, CODE + DO).err
    assert "pending; write it with: gemchat apply" in err
    assert file.read_text() == CODE + DO


def test_attachments_are_folded_as_everywhere(gemchat: Gemchat) -> None:
    gemchat("config", "set", "attachments.limit", "20")
    gemchat("run", "--", sys.executable, "-c", "print('word ' * 1000)")
    watch(gemchat, QUESTION)
    (attachment,) = gemchat.mind.belief.newest["attachments"]
    assert len(attachment["text"]) < 1000


def test_line_ends_and_mark_stay(gemchat: Gemchat) -> None:
    raw = ("\ufeff" + CODE.replace("\n", "\r\n")).encode()
    file = gemchat.write("app.py", raw)
    watch(gemchat, raw + DO.replace("\n", "\r\n").encode(), options=["-y"])
    assert sha256(file.read_bytes()) == sha256(raw.replace(b"1", b"2"))


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["nowhere"], 5, "there is no file or directory nowhere"),
        ([".."], 5, "is outside the project"),
        (["-s", "nobody"], 4, "there is no session"),
    ],
)
def test_what_cannot_be_watched(gemchat: Gemchat, options: list[str], code: int, said: str) -> None:
    result = watch(gemchat, options=options)
    assert result.code == code
    assert said in result.err


def test_without_a_key_it_does_not_begin(gemchat: Gemchat) -> None:
    del gemchat.environ["GEMINI_API_KEY"]
    assert watch(gemchat).code == 3


def test_all_turns_share_a_connection(gemchat: Gemchat, connections: list[threading.Thread]) -> None:
    saves = [f"# gemchat? {number}\n" for number in range(3)]
    assert watch(gemchat, *saves).code == 0
    assert (len(connections), len(set(connections))) == (3, 1)


def test_nothing_is_missed_once_watching_has_begun(tmp_path: Path) -> None:
    before = threading.active_count()
    with closing(saved_files([tmp_path])) as bunches:
        assert next(bunches) == ()
        (tmp_path / "a.py").write_text("x")
        assert str(tmp_path / "a.py") in next(bunches)
        (tmp_path / "a.py").rename(tmp_path / "b.py")
        assert str(tmp_path / "b.py") in next(bunches)
    assert threading.active_count() == before


def test_what_cannot_be_watched_is_said(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere/app.py"
    with closing(saved_files([nowhere])) as bunches, pytest.raises(WorkspaceError, match="watched"):
        next(bunches)


def test_a_directory_that_may_not_be_read_is_passed_by(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    if os.access(closed, os.R_OK):
        pytest.skip("this user may read everything")
    with closing(saved_files([tmp_path])) as bunches:
        assert next(bunches) == ()


def test_it_ends_when_it_is_told_to(gemchat: Gemchat) -> None:
    process = terminal(gemchat, "watch")
    process.expect("watching")
    process.kill(signal.SIGTERM)
    assert "Traceback" not in process.read()
    process.close()
    assert process.exitstatus == 143


@pytest.mark.parametrize("name", ["watch.log", "watch.sh"])
def test_it_does_not_feed_on_what_it_says(gemchat: Gemchat, name: str) -> None:
    """Neither on its notes, each of which begins with its name, nor on what it answers."""
    gemchat.mind.replies = ["Because.\n\n# gemchat? and why that\n"]
    with (gemchat.root / name).open("wb") as output:
        process = subprocess.Popen(
            command("watch"), cwd=gemchat.root, env=environ(gemchat), stdout=output, stderr=output
        )
    try:
        wait_for(gemchat.root / name, "watching")
        gemchat.write("a.py", QUESTION)
        wait_for(gemchat.root / name, "main, turn 1: ")
        gemchat.write("b.py", "# gemchat? why two\n")
        wait_for(gemchat.root / name, "main, turn 2: ")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
    assert [prompt.split("\n")[0] for prompt in prompts(gemchat)] == ["why one", "why two"]


def wait_for(file: Path, text: str) -> None:
    while text not in file.read_text():
        time.sleep(0.05)


def test_for_real(gemchat: Gemchat) -> None:
    """Files saved as editors do, on a terminal; it is asked each time, and its own writes lead to nothing."""
    file = gemchat.write("app.py", OLD + CODE)
    process = terminal(gemchat, "watch")
    process.expect("watching 2 files")
    new = gemchat.write("app.py.new", file.read_text() + DO)
    os.replace(new, file)  # noqa: PTH105  what editors do
    process.expect(r"app.py, line 4: ")
    process.expect(r"\[o\]pen ")
    process.send("r")
    process.expect("Follow-up: ")
    process.sendline('{"replace": [[null, "return 2", "return 3"]]}')
    process.expect(r"\[o\]pen ")
    process.send("a")
    process.expect("gemchat: applied")
    gemchat.write("b.py", QUESTION)
    process.expect(r"b.py, line 1: why one")
    process.expect("main, turn 3: ")
    gemchat.write("b.py", QUESTION + '\n# gemchat: {"nothing": true}\n')
    process.expect("the model proposes no change")
    process.sendintr()
    process.expect("\\^C")
    rest = process.read()
    process.close()
    assert process.exitstatus == 130
    assert "Traceback" not in rest
    assert file.read_text() == OLD + CODE.replace("1", "3")
    assert turns(gemchat) == ["edit", "edit", "ask", "edit"]
