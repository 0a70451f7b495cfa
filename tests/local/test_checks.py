"""What is seen wrong with a rewritten file, and what must not be held against it."""

from __future__ import annotations

import pytest

from gemchat.local.checks import problem

OLD = '''\
import math


def area(radius):
    """The area."""
    return math.pi * radius**2


def around(radius):
    return 2 * math.pi * radius
'''


@pytest.mark.parametrize(
    ("new", "says"),
    [
        (OLD, "unchanged"),
        ("", "empty"),
        ("import math\n", "words are left"),
        (OLD.replace("radius):", "radius:"), "does not parse"),
        (OLD.replace("def around", "def circumference"), "around got lost"),
        (OLD.replace("2 * math.pi", "2 * PI"), "PI is used but never defined"),
        (
            OLD.replace("import math", 'import math\n\n__all__ = ["area", "volume"]'),
            "volume is used but never defined",
        ),
        (OLD.replace("return math.pi * radius**2", "# ... rest of the code"), "leaves code out"),
    ],
)
def test_a_faulty_text_is_not_proposed(new: str, says: str) -> None:
    assert says in problem("geo.py", OLD, new, "make area faster")


@pytest.mark.parametrize(
    ("request_", "new"),
    [
        ("rename around to circumference", OLD.replace("around", "circumference")),
        ("remove the function around", OLD[: OLD.index("def around")]),
        ("remove what is not used", OLD[: OLD.index("def around")]),
        ("add a constant", OLD.replace("def area", "TWO = 2\n\n\ndef area")),
        ("catch errors", f"{OLD}\n\ntry:\n    area(1)\nexcept TypeError as error:\n    print(error)\n"),
        ("rename the function `around` to `circle_length`", OLD.replace("around", "circle_length")),
        ("rename math to geometry in the comments", f"# geometry\n{OLD}"),
        ("add a function volume(r)", f"{OLD}\n\ndef volume(r):\n    return r\n"),
        ("add a function that is fast", f"{OLD}\n\ndef quick():\n    return 1\n"),
        ("match it", f"{OLD}\n\nmatch area(1):\n    case [first, *more]:\n        print(first, more)\n"),
    ],
)
def test_what_was_asked_for_is_no_fault(request_: str, new: str) -> None:
    assert problem("geo.py", OLD, new, request_) == ""


CONSTANT = "WIDE = 80\n\n\ndef pad(x):\n    return x.ljust(WIDE)\n"


@pytest.mark.parametrize(
    ("request_", "old", "new", "says"),
    [
        (
            "rename around to circle_length",
            OLD,
            OLD.replace("around", "circumference"),
            "circle_length is missing",
        ),
        ("rename around to circle_length", OLD, f"{OLD}\n\ndef circle_length(r):\n    return r\n", "still there"),
        ("rename WIDE to WIDTH", CONSTANT, f"WIDTH = 80\n{CONSTANT}", "WIDE is still there"),
        ("rename the constant `WIDE` to `WIDTH`", CONSTANT, CONSTANT.replace("WIDE", "width"), "WIDTH is missing"),
        ("add a function volume(r)", OLD, f"{OLD}\n\ndef size(r):\n    return r\n", "volume is missing"),
        ("write a class called `Shape`", OLD, f"{OLD}\n\nclass Form:\n    pass\n", "Shape is missing"),
        ("halve area", OLD, f"{OLD}\nreturn 1\n", "does not parse"),
        (
            "rename around to circle_length",
            f'__all__ = ["area"]\n{OLD}',
            f'__all__ = ["circle_length"]\n{OLD.replace("around", "circle_length")}',
            "area got lost",
        ),
    ],
)
def test_what_was_asked_for_by_name_must_be_there(request_: str, old: str, new: str, says: str) -> None:
    assert says in problem("geo.py", old, new, request_)


@pytest.mark.parametrize(
    ("path", "old", "new", "says"),
    [
        ("a.json", '{"a": 1, "b": 2}', '{"a": 1, "b": 3,}', "does not parse"),
        ("a.json", '{"a": 1, "b": {"c": 2}}', '{"a": 2, "b": {}}', "c got lost"),
        ("a.toml", "a = 1\nb = 2\n", "a = 1\nb = \n", "does not parse"),
        ("a.toml", "a = 1\nb = 2\n", "a = 1\nc = 2\n", "b got lost"),
        ("a.js", "function f() { return 1 }\n", "function f() { return 2\n", "{ and } do not match"),
        ("a.js", "f()\ng()\n", "f()\n// ... rest of the code\n", "leaves code out"),
        ("a.sh", "f() {\n  echo 1\n}\n", "g() {\n  echo 2\n}\n", "f got lost"),
    ],
)
def test_other_languages_as_far_as_they_are_known(path: str, old: str, new: str, says: str) -> None:
    assert says in problem(path, old, new, "change the value")


def test_a_file_that_was_broken_before_may_stay_so() -> None:
    assert problem("a.py", "def f(:\n    pass\n", "def f(:\n    return 1\n", "return 1") == ""


def test_a_new_file_has_nothing_to_lose_but_must_parse() -> None:
    assert problem("new.py", "", "x = 1\n", "write it") == ""
    assert "does not parse" in problem("new.py", "", "x = = 1\n", "write it")


def test_data_that_is_nested_too_deeply_is_no_failure() -> None:
    deep = "[" * 5000
    assert problem("a.json", f"{deep}{']' * 5000}", f"{deep}1{']' * 5000}", "add a 1") == ""
