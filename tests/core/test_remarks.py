"""Remarks to gemchat: in which comments they are, which are new, and the text without them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.comments import commented
from gemchat.core.remarks import Commented, Remark, likely_comments, remarks, seen, without, wording
from gemchat.core.remarks import fresh as fresh_since
from gemchat.core.textfile import decode, encode

NOWHERE = Commented("")


def fresh(before: Commented, now: Commented, known: Iterable[str] = ()) -> list[Remark]:
    return fresh_since(seen(before), now, known)


def taken_out(path: str, text: str) -> str:
    source = commented(path, text, bare=True)
    return without(decode(text.encode()), remarks(source)).decode()


def prompts(path: str, text: str) -> list[str]:
    return [remark.prompt for remark in remarks(commented(path, text, bare=True))]


@pytest.mark.parametrize(
    ("path", "before", "comment", "behind"),
    [
        ("a.py", "x = 1\n", "# gemchat: do it\n", "y = 2\n"),
        ("a.py", "def f():\n", "    # gemchat: do it\n", "    pass\n"),
        ("a.py", "x = 1", "  # gemchat: do it", "\ny = 2\n"),
        ("a.py", "x = 1\n", "# gemchat: do it", ""),
        ("a.js", "f();\n", "// gemchat: do it\n", "g();\n"),
        ("a.js", "f();", " /* gemchat: do it */", " g();\n"),
        ("a.js", "  ", "/* gemchat: do it */ ", "g();\n"),
        ("a.c", "int x;\n", "/*\n * gemchat: do it\n */\n", "int y;\n"),
        ("a.css", "a { }\n", "/* gemchat: do it */\n", "b { }\n"),
        ("a.html", "<p>a</p>\n", "<!-- gemchat: do it -->\n", "<p>b</p>\n"),
        ("a.html", "<p>a", " <!-- gemchat: do it -->", "</p>\n"),
        ("a.sql", "select 1;\n", "-- gemchat: do it\n", "select 2;\n"),
        ("a.lua", "x = 1\n", "--[[ gemchat: do it ]]\n", "y = 2\n"),
        ("a.hs", "x = 1\n", "{- gemchat: do it -}\n", "y = 2\n"),
        ("a.ml", "let x = 1\n", "(* gemchat: do it *)\n", "let y = 2\n"),
        ("a.el", "(f)\n", ";; gemchat: do it\n", "(g)\n"),
        ("a.ini", "[a]\n", "; gemchat: do it\n", "b = 1\n"),
        ("a.tex", "text\n", "% gemchat: do it\n", "more\n"),
        ("a.vim", "let x = 1\n", '" gemchat: do it\n', "let y = 2\n"),
        ("a.yaml", "a: 1\n", "# gemchat: do it\n", "b: 2\n"),
        ("a.rs", "fn a() {}\n", "// gemchat: do it\n", "fn b() {}\n"),
        ("a.bat", "echo a\n", "REM gemchat: do it\n", "echo b\n"),
        ("Makefile", "a:\n", "# gemchat: do it\n", "b:\n"),
        ("a.unknown", "words\n", "# gemchat: do it\n", "words\n"),
        ("a.unknown", "words", " // gemchat: do it", "\nwords\n"),
        ("a.unknown", "words\n", "/* gemchat: do it */\n", "words\n"),
        ("a.txt", "words\n", "gemchat: do it\n", "words\n"),
        ("a.md", "# Title\n", "<!-- gemchat: do it -->\n", "words\n"),
        ("a.md", "# Title\n", "<!--\ngemchat: do it\n-->\n", "words\n"),
    ],
)
def test_a_comment_in_any_syntax(path: str, before: str, comment: str, behind: str) -> None:
    assert prompts(path, before + comment + behind) == ["do it"]
    assert taken_out(path, before + comment + behind) == before + behind


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", 'x = "# gemchat: no"\n'),
        ("a.py", "x = ' # gemchat: no'\n"),
        ("a.py", '"""\n# gemchat: no\n"""\n'),
        ("a.py", "# the command gemchat: no\n"),
        ("a.py", "# gemchat:\n"),
        ("a.py", "# gemchat: \t\n"),
        ("a.py", "# gemchat does it\n"),
        ("a.py", "gemchat: int = 1\n"),
        ("a.js", 'f("// gemchat: no");\n'),
        ("a.html", "<p>gemchat: no</p>\n"),
        ("a.json", '{"a": "// gemchat: no"}\n'),
        ("a.txt", 'He said "gemchat: no".\n'),
        ("a.md", "Comments like `gemchat: no` are for gemchat: no.\n"),
    ],
)
def test_what_is_no_remark(path: str, text: str) -> None:
    assert remarks(commented(path, text, bare=True)) == []
    assert taken_out(path, text) == text


def test_a_question_is_told_from_a_wish() -> None:
    found = remarks(commented("a.py", "# gemchat? why\n# GemChat: because\n"))
    assert [(remark.mode, remark.prompt) for remark in found] == [("ask", "why"), ("edit", "because")]


@pytest.mark.parametrize(
    ("path", "text", "prompt", "rest"),
    [
        ("a.py", "# gemchat: do this\n# and that\nx = 1\n", "do this\nand that", "x = 1\n"),
        ("a.py", "# gemchat: do this\n#\n# Not that.\n", "do this", "#\n# Not that.\n"),
        ("a.py", "# gemchat: do this\n\n# Not that.\n", "do this", "\n# Not that.\n"),
        ("a.py", "# gemchat: do this\n    # Not that.\n", "do this", "    # Not that.\n"),
        ("a.py", "x = 1  # gemchat: do this\n# Not that.\n", "do this", "x = 1\n# Not that.\n"),
        ("a.py", "# gemchat: do this\nx = 1  # not that\n", "do this", "x = 1  # not that\n"),
        ("a.c", "/* gemchat: do this\n * and that\n */\nint x;\n", "do this\nand that", "int x;\n"),
        ("a.js", "// gemchat: do this\n// and that\nf();\n", "do this\nand that", "f();\n"),
        ("a.js", "// gemchat: do this\n/// Not that.\n", "do this", "/// Not that.\n"),
        ("a.tex", "% gemchat: do this\n% and that\nwords\n", "do this\nand that", "words\n"),
        (
            "a.unknown",
            "// gemchat: do this\n// and that\n\n// Not that.\n",
            "do this\nand that",
            "\n// Not that.\n",
        ),
        ("a.unknown", "# gemchat: do this\n# and that", "do this\nand that", ""),
    ],
)
def test_several_lines_of_one_comment(path: str, text: str, prompt: str, rest: str) -> None:
    assert prompts(path, text) == [prompt]
    assert taken_out(path, text) == rest


def test_a_lexer_may_join_lines() -> None:
    text = "% gemchat: do this\n\n% Not that.\n"
    (remark,) = remarks(Commented(text, [(0, len(text))]))
    assert (remark.prompt, remark.spans) == ("do this", ((0, 18),))


def test_in_an_unknown_language_a_block_may_quote_others() -> None:
    (remark,) = remarks(commented("a.unknown", "/* gemchat: do it\n# gemchat: as said\n*/\nx\n"))
    assert remark.prompt == "do it\ngemchat: as said"


def test_several_in_one_line() -> None:
    text = "f(); /* gemchat: one */ /* gemchat? two */\n"
    assert prompts("a.js", text) == ["one", "two"]
    assert taken_out("a.js", text) == "f();\n"
    assert taken_out("a.js", text.removeprefix("f(); ")) == "\n"


def test_what_was_there_is_not_new() -> None:
    old = commented("a.py", "# gemchat: old\nx = 1\n")
    assert fresh(NOWHERE, old)
    assert fresh(old, old) == []
    assert fresh(old, commented("a.py", "y = 0\n\nx = 1\n    # gemchat: old\n")) == [], "moved"
    (new,) = fresh(old, commented("a.py", "# gemchat: old\nx = 1\n# gemchat: new\n"))
    assert new.prompt == "new"


@pytest.mark.parametrize(
    "text", ["# gemchat: do\nf()\n# gemchat: do\ng()\n", "# gemchat: do\n# gemchat: do\ng()\n"]
)
def test_of_two_that_say_the_same_the_new_one_is_new(text: str) -> None:
    now = commented("a.py", text)
    last = text.rindex("# gemchat")
    above = commented("a.py", text[last:])
    assert [remark.start for remark in fresh(above, now)] in ([0], [last])
    below = commented("a.py", text[:last])
    assert [remark.start for remark in fresh(below, now)] == [last]


def test_the_one_above_is_new_if_the_one_below_was_there() -> None:
    before = commented("a.py", "# gemchat: do\ng()\n")
    now = commented("a.py", "# gemchat: do\nf()\n# gemchat: do\ng()\n")
    assert [remark.start for remark in fresh(before, now)] == [0]


def test_a_new_remark_leaves_an_old_comment_below_it_alone() -> None:
    before = commented("a.py", "# What f does.\ndef f(): ...\n")
    now = commented("a.py", "# gemchat: rename it\n# to g\n# What f does.\ndef f(): ...\n")
    (new,) = fresh(before, now)
    assert new.prompt == "rename it\nto g"
    assert without(decode(now.text.encode()), [new]).decode() == before.text


def test_what_is_known_from_elsewhere_is_not_new() -> None:
    now = commented("b.py", "# gemchat: old\n# gemchat: new\n")
    (old,) = remarks(commented("a.py", "# gemchat: old\n"))
    assert [remark.prompt for remark in fresh(NOWHERE, now, [old.said])] == ["new"]


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("a\n# gemchat: do\n\nb  # it\n", "line 3 of a.py: b  # it"),
        ("a\nb  # gemchat: do\nc\n", "line 2 of a.py: b"),
        ("a\n# gemchat: do\n", "the end of a.py."),
        ("# gemchat: do\n# this\na\n", "line 1 of a.py: a"),
    ],
)
def test_a_prompt_says_what_it_is_about(text: str, about: str) -> None:
    found = remarks(commented("a.py", text))
    assert wording("a.py", text, found) == f"{found[0].prompt}\n\nThis is about {about}"


def test_a_prompt_for_several() -> None:
    text = "# gemchat: one\na\n# gemchat: two\nb  # gemchat: three\n"
    assert wording("a.py", text, remarks(commented("a.py", text))) == (
        "one\n\nThis is about line 1 of a.py: a\n\n"
        "two\n\nThis is about line 2 of a.py: b\n\n"
        "three\n\nThis is about line 2 of a.py: b"
    )


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("path", "text", "count"),
    [
        ("a.log", "gemchat\n" + " " * 1_000_000 + "x\n# gemchat: a\n", 1),
        ("a.log", "# gemchat: a\n" * 1000 + "x\n" * 1_000_000, 1000),
        ("a.log", " #" * 1_000_000 + " gemchat: a", 1),
        ("a.log", " /* gemchat: a */" * 1000 + "x" * 1_000_000, 1000),
        ("a.log", " /* gemchat: a" * 1000 + "x" * 1_000_000, 0),
        ("a.log", "# gemchat: a\n" * 100_000, 0),
        ("a.c", "/* gemchat: x */\n" + "\n" * 59_000 + "!", 1),
        ("a.c", "/* gemchat: x */\n" + "/" * 59_000, 1),
        ("a.py", "# gemchat: x\n" * 1000 + "# y\n" * 20_000, 1000),
    ],
)
def test_large_and_hostile_texts_take_no_time(path: str, text: str, count: int) -> None:
    source = commented(path, text)
    assert len(fresh(NOWHERE, source)) == count
    assert fresh(source, source) == []


def test_a_large_text_of_a_language_is_searched_by_its_looks() -> None:
    text = "x = 1  # gemchat: do it\ngemchat: int = 1\ny = ''' # gemchat: in a text\n'''\n"
    assert prompts("a.py", text) == ["do it"]
    assert prompts("a.py", text + "z = 2\n" * 20_000) == ["do it", "in a text"]
    assert prompts("a.py", text + " " * 200 + "z = 2\n") == ["do it", "in a text"]


@pytest.mark.parametrize(
    "text",
    [
        "gemchat: watching 2 files for new comments gemchat: … and gemchat? …; Ctrl-C ends it\n",
        "#\ngemchat: do it\n",
        "  gemchat: do it\n",
    ],
)
def test_a_line_as_it_is_counts_where_it_is_wanted_only(text: str) -> None:
    assert remarks(commented("watch.log", text)) == []
    assert len(remarks(commented("watch.log", text, bare=True))) == 1


def test_of_a_long_line_only_what_is_near_tells_remarks_apart() -> None:
    text = "/* gemchat: a */ " + "x" * 100_000 + " /* gemchat: b */\n"
    assert max(map(len, seen(commented("a.unknown", text)).surroundings)) <= 2000


LINES = st.lists(st.sampled_from(["x = 1", "", "    y = 2", "# note", 's = """', "\tz"]), max_size=8)


@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.sampled_from(["", "    "]))
def test_put_in_and_taken_out_it_leaves_every_byte(
    above: list[str], below: list[str], end: str, bom: bool, indent: str
) -> None:
    mark = "\ufeff" if bom else ""
    before = mark + "".join(line + end for line in (*above, *below))
    now = mark + "".join(line + end for line in (*above, f"{indent}// gemchat: do", *below))
    old, new = decode(before.encode()), decode(now.encode())
    found = fresh(commented("a.unknown", old.text), commented("a.unknown", new.text))
    assert [remark.prompt for remark in found] == ["do"]
    assert without(new, found) == before.encode()
    assert encode(old) == before.encode()


@given(
    st.text(alphabet="gemchat:? \n#/*-<!>\"'x", max_size=60).map(lambda text: text.replace("x", "# gemchat: x"))
)
def test_any_text_is_read(text: str) -> None:
    for source in (commented("a.py", text), commented("a.c", text), commented("a.txt", text)):
        found = remarks(source)
        rest = without(decode(source.text.encode()), found).decode()
        assert len(rest) < len(text) if found else rest == text
        assert wording("a", text, found).count("This is about") >= len(found)
    spans = likely_comments(text)
    assert all(a < b for a, b in spans)
    assert all(one[1] <= two[0] for one, two in pairwise(spans))
