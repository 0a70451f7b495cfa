"""What a turn must not send: credentials that nobody noticed, and more than a model reads."""

from __future__ import annotations

from gemchat.core.economics import INPUT_LIMIT, estimate_tokens
from gemchat.core.model import Message, Request
from gemchat.core.screening import leaks, texts
from gemchat.errors import SecretFound, TooLarge

_NAMED = 5


def check_size(request: Request, newest: Message) -> None:
    """Raises TooLarge for a request that no model could read; names what is longest in the newest message."""
    tokens = sum(estimate_tokens(part) for message in request.messages for part in message.parts)
    if tokens > INPUT_LIMIT:
        found = sorted(((estimate_tokens(text), where) for where, text in texts(newest)), reverse=True)
        longest = ", ".join(f"{where} ({size:,})" for size, where in found[:_NAMED] if 10 * size > tokens)
        raise TooLarge(
            f"this turn would send about {tokens:,} tokens, more than a model reads{longest and f': {longest}'}",
            f"The limit is {INPUT_LIMIT:,}. Take fewer files, or pipe in the lines that matter.",
        )


def check_secrets(newest: Message, own_keys: tuple[str, ...]) -> None:
    """Raises SecretFound for credentials in what a turn newly sends; names the places, never the text."""
    found = leaks(newest, own_keys)
    if found:
        places = "; ".join(f"{leak.where}, line {leak.line}: {leak.kind}" for leak in found[:_NAMED])
        more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise SecretFound(
            f"this must not leave unnoticed, so nothing was sent: {places}{more}",
            "Take it out; ask and edit send it all the same, this once, with --allow-secret",
        )
