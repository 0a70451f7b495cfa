"""A model for tests: it knows only what it was sent, does what the prompt literally says, and reports its belief.

Asked, it answers `{"belief": {path: sha256 of the text, or null}, "contradictions": [...]}`. An edit's prompt is
a directive: `{"replace": [[path or null, search, replacement], ...]}`, `{"write": [[path or null, text], ...]}`,
`{"raw": "the literal reply"}` or `{"nothing": true}`, answered in the format that the schema asks for; text after
the directive is ignored, a prompt without one changes nothing. Literal replies given beforehand come first.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from gemchat.core.contents import to_json
from gemchat.core.model import Message
from gemchat.core.proposals import Edit, EditReply
from gemchat.local.belief import Belief, apply_reply, read, sha256
from gemchat.local.mind import Prompt
from gemchat.local.replies import write

NOTHING_HEARD = read(())


class ReplicaMind:
    """`belief` is the newest one, its own reply included; `contradictions` are all it ever met."""

    name = "replica"

    def __init__(self, replies: Iterable[str] = ()) -> None:
        self.replies = list(replies)
        self.belief = NOTHING_HEARD
        self.contradictions: list[str] = []
        self.prompts: list[Prompt] = []
        self._lock = threading.Lock()

    def answer(self, prompt: Prompt) -> Iterator[str]:
        heard = read(prompt.messages)
        with self._lock:
            reply = self.replies.pop(0) if self.replies else _reply(heard, prompt.schema or {})
            self.prompts.append(prompt)
            self.belief = read((*prompt.messages, Message(role="model", parts=(reply,))))
            self.contradictions += [new for new in heard.contradictions if new not in self.contradictions]
        middle = len(reply) // 2
        yield reply[:middle]
        yield reply[middle:]


def report(belief: Belief) -> str:
    hashes = {path: None if text is None else sha256(text) for path, text in belief.files.items()}
    return to_json({"belief": hashes, "contradictions": belief.contradictions})


def _reply(belief: Belief, schema: dict[str, Any]) -> str:
    return _edit(belief, schema) if belief.newest.get("mode") == "edit" else report(belief)


def _directive(prompt: str) -> dict[str, Any]:
    try:
        directive, _ = json.JSONDecoder().raw_decode(prompt)
    except ValueError:
        return {"nothing": True}
    return directive if isinstance(directive, dict) else {"nothing": True}


def _edit(belief: Belief, schema: dict[str, Any]) -> str:
    directive = _directive(belief.newest["prompt"])
    if "raw" in directive:
        return str(directive["raw"])
    edits = [Edit(path=path, search=search, replace=new) for path, search, new in directive.get("replace", ())]
    edits += [
        Edit(path=path, search=_text(belief, path), replace=text) for path, text in directive.get("write", ())
    ]
    told = f"as told: {', '.join(directive)}"
    if "edits" in schema.get("properties", {}):
        return _as_edits(told, edits, several=len(belief.targets) > 1)
    before = {path: belief.files.get(path) for path in belief.targets}
    after = apply_reply(EditReply(explanation=told, edits=tuple(edits)), before, belief.targets)
    return write(schema, told, before, after)


def _as_edits(told: str, edits: list[Edit], *, several: bool) -> str:
    """Search texts go out as the directive has them, so that a wrong one is a wrong edit."""
    listed = [
        {**({"path": edit.path} if several else {}), "search": edit.search, "replace": edit.replace}
        for edit in edits
    ]
    return to_json({"explanation": told, "edits": listed})


def _text(belief: Belief, path: str | None) -> str:
    return belief.files.get(path if path is not None else belief.targets[0]) or ""
