"""A small language model as a mind: it answers questions about files, and changes short ones.

It asks an engine in words such a model understands and builds the reply that was asked for. Code is never written
inside JSON: a file is rewritten as a whole, and the edits are made from the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gemchat.core.media import media_of
from gemchat.core.model import Usage
from gemchat.local import transcript
from gemchat.local.belief import Belief, read
from gemchat.local.engine import Call, Engine, Say, added, weigh
from gemchat.local.mind import Prompt, Refusal
from gemchat.local.replies import write
from gemchat.local.rewrite import Rewriter

ANSWER_TOKENS = 1024
_EDIT_FIELDS = {"edits", "files", "proposedSource"}


class LlamaMind:
    """Usage is the engine's own count over all that one answer took."""

    def __init__(self, engine: Engine, rewriter: Rewriter | None = None) -> None:
        self._engine = engine
        self._rewriter = rewriter or Rewriter(engine)

    @property
    def name(self) -> str:
        return self._engine.name

    def answer(self, prompt: Prompt) -> Iterator[str | Usage]:
        if media_of(prompt.messages):
            raise Refusal("The local model reads text only, no images and no PDFs.")
        belief = read(prompt.messages)
        schema = prompt.schema
        if schema is None:
            return self._converse(prompt, belief)
        if belief.newest.get("mode") == "edit" and _EDIT_FIELDS & schema.get("properties", {}).keys():
            return self._edit(prompt, belief, schema)
        return self._fill_in(prompt, belief, schema)

    def _converse(self, prompt: Prompt, belief: Belief) -> Iterator[str | Usage]:
        yield from _until_cut(self._engine, Call(messages=self._fitting(prompt, belief), limit=ANSWER_TOKENS))

    def _fill_in(self, prompt: Prompt, belief: Belief, schema: dict[str, Any]) -> Iterator[str | Usage]:
        """Any other form: the engine lets through only what fits the schema."""
        call = Call(messages=self._fitting(prompt, belief), limit=ANSWER_TOKENS, schema=schema)
        yield from self._engine.chat(call)

    def _edit(self, prompt: Prompt, belief: Belief, schema: dict[str, Any]) -> Iterator[str | Usage]:
        paths = [path for path in belief.targets if path in belief.files]
        for path in paths:
            self._rewriter.check_size(prompt, belief, path)
        request, used = transcript.wish(belief), Usage()
        after: dict[str, str] = {}
        told: list[str] = []
        for path in paths:
            done = yield from self._rewriter.rewrite(prompt, belief, path, optional=len(paths) > 1)
            used = added(used, done.usage)
            if done.text is None:
                told += [f"{path}: no usable change found ({done.why})."] if done.why else []
                continue
            after[path] = done.text
            said = yield from self._rewriter.explain(request, path, belief.files[path] or "", done.text)
            used = added(used, said.usage)
            told.append(said.text or "")
        before = {path: belief.files[path] for path in paths}
        yield write(schema, " ".join(told) or "No usable change was found.", before, after)
        yield used

    def _fitting(self, prompt: Prompt, belief: Belief) -> tuple[Say, ...]:
        """The conversation, or what is left of one grown too long: the files as they are, and the wish."""
        room = self._engine.window - ANSWER_TOKENS
        weight = 0
        for said in (transcript.conversation(prompt), transcript.anew(prompt, belief)):
            weight = sum(weigh(say.text) for say in said)
            if weight <= room:
                return said
        raise Refusal(
            f"This is too long for the local model: it reads about {room:,} tokens at a time, and this has about "
            f"{weight:,}. Ask about fewer or shorter files, or use Gemini."
        )


def _until_cut(engine: Engine, call: Call) -> Iterator[str | Usage]:
    """The answer as it comes, and a note if it ends at the limit instead of its own end."""
    used = Usage()
    for item in engine.chat(call):
        if isinstance(item, Usage):
            used = item
        else:
            yield item
    if used.output >= call.limit:
        yield f"\n\n*(cut off: answers of the local model end after {call.limit:,} tokens)*"
    yield used
