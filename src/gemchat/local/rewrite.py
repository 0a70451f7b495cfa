"""One file changed by a small model: it writes the whole file, and only a text without visible faults is taken.

The model is asked up to three times, more freely each time and told what was wrong. What the change is worth is
for the user to see in the diff; what the reply looks like is not decided here.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial

from gemchat.core.model import Usage, Value
from gemchat.local import transcript
from gemchat.local.belief import Belief
from gemchat.local.checks import came_and_went, problem
from gemchat.local.engine import Call, Engine, Say, added, weigh
from gemchat.local.fences import first_fence, is_closed, opening, settled
from gemchat.local.mind import Prompt, Refusal

TEMPERATURES = (0.0, 0.4, 0.6)
NEW_FILE_TOKENS = 1500
_EXPLANATION_TOKENS = 80
_ROOM = 300


class Rewritten(Value, frozen=True):
    """The new text, or None and why there is none. `usage` counts every attempt."""

    text: str | None
    why: str
    usage: Usage


Work = Generator[str, None, Rewritten]


class Rewriter:
    """`seed` varies what is not decided by the model alone."""

    def __init__(self, engine: Engine, temperatures: Sequence[float] = TEMPERATURES, seed: int = 1) -> None:
        self._engine = engine
        self._temperatures = temperatures
        self._seed = seed

    def check_size(self, prompt: Prompt, belief: Belief, path: str) -> None:
        """Refuses a file that does not fit into the window twice, once read and once written."""
        text = belief.files.get(path)
        asked = sum(weigh(say.text) for say in transcript.rewriting(prompt, belief, path, transcript.wish(belief)))
        needed = asked + (NEW_FILE_TOKENS if text is None else weigh(text)) + _ROOM
        if needed > self._engine.window:
            most = (self._engine.window - _ROOM - (asked - weigh(text or ""))) // 2
            raise Refusal(
                f"{path} is too long for the local model: it reads and rewrites files of up to about "
                f"{max(most, 0):,} tokens, and this one has about {weigh(text or ''):,}. Use Gemini for it."
            )

    def rewrite(self, prompt: Prompt, belief: Belief, path: str, *, optional: bool = False) -> Work:
        """Yields signs of life. With `optional` an unchanged file is an answer and not a fault."""
        request, old = transcript.wish(belief), belief.files.get(path)
        why, used = "", Usage()
        for attempt, temperature in enumerate(self._temperatures):
            call = self._call(
                transcript.rewriting(prompt, belief, path, request, why), path, old, temperature, attempt
            )
            reply, spent = yield from heard(self._engine, call)
            used = added(used, spent)
            text = first_fence(f"{reply}\n", _ticks(path, old))
            if text is None:
                why = "no complete file was written"
                continue
            text = settled(old or "", text)
            if optional and text == old:
                return Rewritten(text=None, why="", usage=used)
            why = problem(path, old or "", text, request)
            if not why:
                return Rewritten(text=text, why="", usage=used)
        return Rewritten(text=None, why=why, usage=used)

    def explain(self, request: str, path: str, old: str, new: str) -> Work:
        """The model's sentence on a change, and what no model need be asked: which definitions came and went.

        A model that was asked for something likes to say that it did just that.
        """
        said = transcript.explaining(request, path, old, new)
        used, sentence = Usage(), ""
        if sum(weigh(say.text) for say in said) + _EXPLANATION_TOKENS < self._engine.window:
            sentence, used = yield from heard(self._engine, Call(messages=said, limit=_EXPLANATION_TOKENS))
        told = " ".join(sentence.split("\n\n")[0].split()) or f"Changes {path}."
        return Rewritten(text=" ".join(filter(None, [told, came_and_went(path, old, new)])), why="", usage=used)

    def _call(self, said: tuple[Say, ...], path: str, old: str | None, temperature: float, attempt: int) -> Call:
        length = NEW_FILE_TOKENS if old is None else weigh(old) + weigh(old) // 4 + _ROOM
        room = self._engine.window - sum(weigh(say.text) for say in said)
        return Call(
            messages=said,
            limit=max(min(length, room), _ROOM),
            temperature=temperature,
            seed=self._seed + attempt,
            enough=partial(is_closed, least=_ticks(path, old)),
        )


def _ticks(path: str, old: str | None) -> int:
    """How many backticks the fence that was asked for has."""
    return opening(path, old or "").count("`")


def heard(engine: Engine, call: Call) -> Generator[str, None, tuple[str, Usage]]:
    """The whole answer and its tokens; on the way, an empty text for each piece of it."""
    text, used = "", Usage()
    for item in engine.chat(call):
        if isinstance(item, Usage):
            used = item
        else:
            text += item
            yield ""
    return text, used
