"""The scripted demo: a mind without a model, for trying gemchat without a key or a network.

It says that it is scripted, knows files only through what it was told, and always answers the same to the same
conversation. The changes it can make are those of `directives`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gemchat.local.belief import Belief, read
from gemchat.local.directives import change, functions
from gemchat.local.mind import Prompt
from gemchat.local.replies import write

NOTICE = "*Scripted demo, not a language model.*"
_KNOWN = "The scripted demo only knows “add validation”, “add a docstring” and “rename X to Y”."
_HOW = {
    "sourceSynchronized": "I still hold it from earlier in this conversation.",
    "sourceDelta": "I brought the version I held up to date with the diff in your message.",
    "currentSource": "Its text came with your message.",
}
_WORD = re.compile(r"[^\W\d]\w{4,}")
_MAX_NAMES = 8


class DemoMind:
    name = "gemchat-demo"

    def answer(self, prompt: Prompt) -> Iterator[str]:
        belief = read(prompt.messages)
        editing = belief.newest.get("mode") == "edit" and prompt.schema is not None
        text = _proposal(belief, prompt.schema or {}) if editing else _explanation(belief)
        return iter(re.findall(r"\s*\S+\s*|\s+", text))


def _proposal(belief: Belief, schema: dict[str, object]) -> str:
    wish = str(belief.newest.get("prompt", ""))
    before = {path: belief.files[path] for path in belief.targets if path in belief.files}
    changed = {path: found for path, text in before.items() if text and (found := change(wish, text))}
    told = " ".join(sentence for _, sentence in changed.values()) or f"Nothing to change. {_KNOWN}"
    return write(schema, told, before, {path: text for path, (text, _) in changed.items()})


def _explanation(belief: Belief) -> str:
    wish = str(belief.newest.get("prompt", ""))
    sources = belief.newest.get("files") or [belief.newest]
    about = [
        _about(path, belief.files.get(path), source, wish)
        for path, source in zip(belief.targets, sources, strict=True)
        if path
    ]
    others = [f"For reference I hold `{item['path']}`." for item in belief.context]
    return "\n\n".join([NOTICE, *about, *others] if about or others else [NOTICE, _KNOWN]) + "\n"


def _about(path: str, text: str | None, source: dict[str, object], wish: str) -> str:
    if text is None:
        return f"`{path}` does not exist yet."
    count = text.count("\n") + (not text.endswith("\n") and text != "")
    lines = f"{count} line" if count == 1 else f"{count} lines"
    how = next((sentence for key, sentence in _HOW.items() if key in source), "")
    return f"`{path}` has {lines}{_defines(text)}. {how}{_quotation(text, wish)}"


def _defines(text: str) -> str:
    names = [f"`{function.name}`" for function in functions(text)]
    more = f" and {len(names) - _MAX_NAMES} more functions" if len(names) > _MAX_NAMES else ""
    return f" and defines {', '.join(names[:_MAX_NAMES])}{more}" if names else ""


def _quotation(text: str, wish: str) -> str:
    """The first line with a word of the prompt in it; longer words say more."""
    words = sorted(set(_WORD.findall(wish.lower())), key=lambda word: (-len(word), word))
    for word in words:
        for number, line in enumerate(text.split("\n"), 1):
            if word in _WORD.findall(line.lower()) and "```" not in line:
                return f"\n\nLine {number} mentions “{word}”:\n\n```\n{line.strip()}\n```"
    return ""
