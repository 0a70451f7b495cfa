"""A conversation in gemchat's payloads, told again in the plain words a small model understands.

What a message becomes depends only on those before it, so a conversation that grows keeps its beginning word for
word and the engine's prefix cache serves it. A single message can also stand for the whole conversation:
`anew` has the texts as they are now and the newest wish, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gemchat.core import instruction
from gemchat.core.contents import payload_of
from gemchat.core.diff import hunks, unified
from gemchat.core.model import Message
from gemchat.core.proposals import parse
from gemchat.errors import ProposalRejected
from gemchat.local.belief import Belief, read
from gemchat.local.engine import Say
from gemchat.local.fences import fenced, language_of, opening
from gemchat.local.mind import Prompt

SYSTEM = (
    "You are a careful programmer who helps in a terminal. Answer questions about the files you are shown, "
    "briefly and exactly. When a file is to be changed, change only what is asked."
)


def system(prompt: Prompt) -> Say:
    """gemchat's own instruction explains its JSON, which the model never sees; anyone else's is passed on."""
    return Say(role="system", text=SYSTEM if prompt.system in ("", instruction.SYSTEM) else prompt.system)


def conversation(prompt: Prompt) -> tuple[Say, ...]:
    said = [system(prompt)]
    before = read(())
    for count, message in enumerate(prompt.messages, 1):
        now = read(prompt.messages[:count])
        if message.role == "user":
            said.append(Say(role="user", text=_asked(before, now)))
        else:
            said.append(Say(role="assistant", text=_answered(message, before, now)))
        before = now
    return tuple(said)


def anew(prompt: Prompt, belief: Belief) -> tuple[Say, ...]:
    files = [_shown(path, belief.files.get(path)) for path in belief.targets if path in belief.files]
    parts = [*_context(belief.context), *files, *_extras(belief.newest)]
    return system(prompt), Say(role="user", text="\n\n".join([*parts, wish(belief)]))


def rewriting(prompt: Prompt, belief: Belief, path: str, request: str, remark: str = "") -> tuple[Say, ...]:
    """Asks for one whole file. It begins like a question about the file, so that the cache serves it."""
    text = belief.files.get(path)
    parts = [_shown(path, text), *_context(belief.context), *_extras(belief.newest)]
    verb = "Write" if text is None else "Change"
    order = f"{verb} `{path}`: {request.strip()}"
    how = (
        f"Reply with the complete new text of `{path}` in one {opening(path, text or '')} block, "
        "from the first line to the last. Copy everything else exactly: comments, docstrings and code."
    )
    if text is None:
        how = f"Reply with the text of `{path}` in one {opening(path, '')} block and nothing else."
    remarks = [f"Take care: in an earlier attempt {remark}."] if remark else []
    return system(prompt), Say(role="user", text="\n\n".join([*parts, order, how, *remarks]))


def explaining(request: str, path: str, old: str, new: str) -> tuple[Say, ...]:
    diff = unified(old, new, old_name=path, new_name=path)
    return (
        Say(role="system", text="You describe changes of files in one short, exact sentence."),
        Say(
            role="user",
            text=f"The request was: {request.strip()}\n\nThe change:\n{fenced(diff, 'diff')}\n\n"
            "Say in one sentence what the change does.",
        ),
    )


def wish(belief: Belief) -> str:
    return str(belief.newest.get("prompt", ""))


def _asked(before: Belief, now: Belief) -> str:
    news = [text for path in now.targets if (text := _news(path, before, now))]
    context = now.newest.get("secondaryContext") or ()
    about = [f"This is about {_listed(now.targets)}."] if not news and _moved(before, now) else []
    return "\n\n".join([*_context(context), *news, *about, *_extras(now.newest), wish(now)])


def _moved(before: Belief, now: Belief) -> bool:
    return bool(before.targets) and set(now.targets) != set(before.targets) and any(now.targets)


def _news(path: str, before: Belief, now: Belief) -> str:
    if path not in now.files:
        return ""
    text = now.files[path]
    source = _source(path, now)
    if "currentSource" in source or "sourceAbsent" in source or path not in before.files:
        return _shown(path, text)
    if text == before.files[path]:
        return ""
    diff = unified(before.files[path] or "", text or "", old_name=path, new_name=path)
    return f"`{path}` was changed since (lines with - are gone, lines with + are new):\n{fenced(diff, 'diff')}"


def _source(path: str, now: Belief) -> Mapping[str, Any]:
    sources: Sequence[Mapping[str, Any]] = now.newest.get("files") or [now.newest]
    return next((source for source in sources if source.get("path", "") == path), {})


def _answered(message: Message, before: Belief, now: Belief) -> str:
    changed = [path for path, text in now.files.items() if path not in before.files or before.files[path] != text]
    shown = [_proposed(path, before.files.get(path), now.files[path] or "") for path in changed]
    return "\n\n".join([_spoken(message, editing=before.newest.get("mode") == "edit"), *shown])


def _spoken(message: Message, *, editing: bool) -> str:
    text = "".join(message.parts)
    try:
        rewritten = payload_of(message)
        if rewritten.get("kind"):
            return str(rewritten.get("explanation", ""))
    except ValueError:
        pass
    try:
        return parse(text).explanation if editing else text
    except ProposalRejected:
        return text


def _proposed(path: str, old: str | None, new: str) -> str:
    if old is None:
        return _shown(path, new)
    diff = unified(old, new, old_name=path, new_name=path)
    return f"My change of `{path}`:\n{fenced(diff, 'diff')}" if hunks(old, new) else ""


def _shown(path: str, text: str | None) -> str:
    name = f"`{path}`" if path else "The file"
    if text is None:
        return f"{name} does not exist yet."
    return f"{name}:\n{fenced(text, language_of(path))}"


def _context(context: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for item in context:
        yield f"For reference only, {_shown(str(item.get('path', '')), str(item.get('text', '')))}"


def _extras(payload: Mapping[str, Any]) -> Iterator[str]:
    for item in payload.get("attachments") or ():
        yield f"{item.get('name', 'Attached')}:\n{fenced(str(item.get('text', '')))}"
    if earlier := payload.get("carryover"):
        yield f"Known from before: {' '.join(map(str, earlier))}"


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(f"`{path}`" for path in paths)
