"""The conversation in plain words: complete, readable, and growing only at its end."""

from __future__ import annotations

from typing import Any

from gemchat.core import instruction
from gemchat.core.contents import Delta, Target, lift, to_json, user_payload
from gemchat.core.diff import unified
from gemchat.core.model import Message, Mode
from gemchat.local import transcript
from gemchat.local.belief import read, sha256
from gemchat.local.mind import Prompt

OLD, NEW = "one = 1\ntwo = 2\n", "one = 1\ntwo = 22\n"
HELD = Target(path="a.py", synchronized=True)


def user(wish: str, *targets: Target, mode: Mode = "ask", **extra: Any) -> Message:
    return lift(Message(role="user", parts=(to_json(user_payload(mode, wish, targets or [Target()], extra)),)))


def model(text: str) -> Message:
    return Message(role="model", parts=(text,))


def told(*messages: Message, system: str = instruction.SYSTEM) -> list[str]:
    return [say.text for say in transcript.conversation(Prompt(model="m", system=system, messages=messages))]


DIFF = unified(OLD, NEW, old_name="a.py", new_name="a.py")
TALK = (
    user("what is it?", Target(path="a.py", text=OLD)),
    model("Two numbers."),
    user("and now?", Target(path="a.py", delta=Delta(before=sha256(OLD), after=sha256(NEW), diff=DIFF))),
    model("Larger."),
    user("make one 11", HELD, mode="edit"),
    model('{"explanation":"Eleven.","edits":[{"search":"one = 1\\n","replace":"one = 11\\n"}]}'),
    user("why?", HELD),
)


def test_a_conversation_grows_only_at_its_end() -> None:
    whole = told(*TALK)
    for count in range(1, len(TALK), 2):
        assert told(*TALK[:count]) == whole[: count + 1]


def test_files_are_shown_as_text_and_no_json_is_left() -> None:
    _, first, _, changed, _, order, proposed, last = told(*TALK)
    assert first == f"`a.py`:\n```python\n{OLD}```\n\nwhat is it?"
    assert "-two = 2\n+two = 22" in changed
    assert order == "make one 11"
    assert proposed.startswith("Eleven.\n\nMy change of `a.py`:\n```diff\n")
    assert "+one = 11" in proposed
    assert last == "why?"


def test_a_rewritten_history_is_told_as_well() -> None:
    rewritten = model(to_json({"kind": "code_proposal", "explanation": "Done.", "proposedSource": NEW}))
    _, _, said, _ = told(user("x", Target(path="a.py"), mode="edit"), lift(rewritten), user("y", HELD))
    assert said == f"Done.\n\n`a.py`:\n```python\n{NEW}```"


def test_what_goes_along_is_named() -> None:
    message = user(
        "why?",
        Target(path="n.py", absent=True),
        secondaryContext=[{"path": "b.md", "text": "B"}],
        attachments=[{"name": "stdin", "text": "boom"}],
        carryover=["it failed"],
    )
    (_, text) = told(message)
    for part in (
        "For reference only, `b.md`:\n```markdown\nB\n```",
        "`n.py` does not exist yet.",
        "stdin:\n```\nboom",
    ):
        assert part in text
    assert text.endswith("Known from before: it failed\n\nwhy?")


def test_another_clients_words_go_through() -> None:
    assert told(Message(role="user", parts=("hello",)), system="Be brief.") == ["Be brief.", "hello"]


def test_an_edit_shares_its_beginning_with_a_question_about_the_file() -> None:
    prompt = Prompt(model="m", system="", messages=TALK[:1])
    asked = transcript.conversation(prompt)
    ordered = transcript.rewriting(prompt, read(TALK[:1]), "a.py", "rename one")
    assert ordered[0] == asked[0]
    assert ordered[1].text.startswith(f"`a.py`:\n```python\n{OLD}```\n\n")
    assert "two" not in ordered[1].text.split("```", 2)[2]
