"""The one translator from what the SDK raises, and what the service reports, to gemchat's own error tree.

It judges by HTTP status and by class names along the MRO, as the SDK has two unrelated hierarchies and one of
them is private. What it does not know it leaves alone: that is a bug and must be seen. Messages are one short
line, hold what the service said and never the key, a whole body or a control character.

It also says which failures pass: those where the service itself declined (408, 429, 5xx) or was never reached. A
request that was sent and not answered may have been carried out, so its failure never counts as passing.
"""

from __future__ import annotations

import contextlib
import math
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from gemchat.errors import (
    ChainLost,
    GemchatError,
    RejectedKey,
    ReplyBlocked,
    RequestRefused,
    Unavailable,
)
from gemchat.gemini.client import GET_A_KEY

LONGEST = 200
CHECK_NAMES = "Check the name of the model, and the base URL if you set one."
AGAIN = "Try again in a moment."
CHECK_NETWORK = "Check the network, the proxy settings and the base URL."

_TIMEOUTS = {"APITimeoutError", "TimeoutException", "ContinuationTimeoutError"}
_BROKEN_OFF = {"RemoteProtocolError", "ReadError", "WriteError", "DecodingError"}
_CONNECTION = {"APIConnectionError", "HTTPError"}
_NEVER_REACHED = {"ConnectError", "ConnectTimeout"}
_LONGEST_WAIT = 366 * 86400.0  # seconds; what asks for more is as good as never
_NO_REPLY = {
    "APIResponseValidationError",
    "UnknownApiResponseError",
    "JSONDecodeError",
    "UnicodeDecodeError",
    "StreamError",
}
_ANY_API_ERROR = {"APIError", "GeminiNextGenAPIClientError"}

_EVENT_CODES = {
    "invalid_request": 400,
    "invalid_argument": 400,
    "failed_precondition": 400,
    "unauthenticated": 401,
    "permission_denied": 403,
    "not_found": 404,
    "resource_exhausted": 429,
    "rate_limit_exceeded": 429,
    "internal": 500,
    "unavailable": 503,
    "overloaded": 503,
    "deadline_exceeded": 504,
}
_BLOCKED_CODE = re.compile(r"safety|block|prohibited|recitation", re.IGNORECASE)
_SIGNATURE = re.compile(r"thought[ _]?signature", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """What a refusal is judged by. `previous` and `signed` say how the request relied on earlier answers."""

    secret: str = field(repr=False)
    model: str = ""
    previous: str | None = None
    signed: bool = False


@contextlib.contextmanager
def translated(asked: Asked) -> Iterator[None]:
    """Replaces what the SDK raises inside; the original is left out of the traceback, for it may hold the key."""
    try:
        yield
    except GemchatError:
        raise
    except Exception as error:
        ours = translate(error, asked)
        if ours is None:
            raise
        raise ours from None


def translate(error: BaseException, asked: Asked) -> GemchatError | None:
    """None for what is neither the service's nor the network's doing."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if "ContinuationInterruptedError" in names:
        known = translate(error.__cause__, asked) if error.__cause__ else None
        return known or cut_short()
    if names & _TIMEOUTS:
        return Unavailable("Gemini did not answer in time", AGAIN, passing=_never_reached(error))
    if names & _NO_REPLY or _is_unreadable_reply(error):
        return not_gemini()
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    if isinstance(status, int) and names & _ANY_API_ERROR:
        body = getattr(error, "body", None) or getattr(error, "details", None)
        return _refusal(status, _Said.from_body(body, _headers(error)), asked)
    if names & _CONNECTION:
        return _no_connection(error, asked)
    if names & _ANY_API_ERROR:
        return Unavailable(one_line(f"Gemini could not answer: {error}", asked.secret))
    if type(error) is RuntimeError and "client has been closed" in str(error):
        return Unavailable("the connection to Gemini was closed already")
    return None


def reported(code: object, message: object, asked: Asked) -> GemchatError:
    """An error the service put into an answer that had begun; its code may be a number or a word."""
    word = code.lower() if isinstance(code, str) else ""
    if _BLOCKED_CODE.search(word):
        return ReplyBlocked(one_line(f"the answer was blocked ({word}): {message}", asked.secret))
    status = int(word) if re.fullmatch(r"[1-5][0-9]{2}", word) else _EVENT_CODES.get(word, code)
    said = message if isinstance(message, str) else ""
    if not isinstance(status, int) or not 100 <= status < 600:
        return Unavailable(
            one_line(f"Gemini is not available: {said or 'it gave no reason'}", asked.secret), AGAIN
        )
    return _refusal(status, _Said(said), asked)


def cut_short() -> Unavailable:
    return Unavailable("the answer of Gemini was cut short", "Try again.")


def not_gemini() -> Unavailable:
    return Unavailable(
        "what answered is not the Gemini API, or its answer is damaged",
        "A captive portal, a proxy or a wrong base URL can be the reason.",
    )


def blocked(reason: str) -> ReplyBlocked:
    message = one_line(f"Gemini blocked the request or its answer: {reason}")
    return ReplyBlocked(message, "Rephrase it, or send other files.")


@dataclass(frozen=True)
class _Said:
    """What an error reply says: in words, why in the service's own terms, and when to come back."""

    message: str = ""
    reasons: frozenset[str] = frozenset()
    wait: float | None = None

    @classmethod
    def from_body(cls, body: object, headers: Mapping[str, str]) -> _Said:
        if isinstance(body, list) and len(body) == 1:
            body = body[0]
        error = body.get("error") if isinstance(body, dict) else None
        fields: dict[str, Any] = error if isinstance(error, dict) else {"message": error}
        message, details = fields.get("message"), fields.get("details")
        entries = [entry for entry in details if isinstance(entry, dict)] if isinstance(details, list) else []
        waits = [_seconds(entry.get("retryDelay")) for entry in entries]
        return cls(
            message if isinstance(message, str) else "",
            frozenset(str(entry.get("reason")) for entry in entries),
            max((wait for wait in (_retry_after(headers), *waits) if wait is not None), default=None),
        )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The header's seconds, or the time between its date and the service's own: the clock here may be wrong."""
    value = headers.get("retry-after", "")
    seconds = _seconds(value)
    if seconds is not None:
        return seconds
    try:
        wait = parsedate_to_datetime(value) - parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, TypeError, OverflowError):  # no dates, or one with and one without a zone
        return None
    return min(max(wait.total_seconds(), 0.0), _LONGEST_WAIT)


def _seconds(value: object) -> float | None:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?)s?", str(value))
    return min(float(found[1]), _LONGEST_WAIT) if found else None


def _refusal(status: int, said: _Said, asked: Asked) -> GemchatError:
    text = said.message or _phrase(status)

    def line(start: str) -> str:
        return one_line(f"{start}: {text}", asked.secret)

    if _key_is_bad(status, said):
        return RejectedKey(line("Gemini does not accept the API key"), GET_A_KEY)
    if _chain_is_lost(status, said, asked):
        return ChainLost(line("Gemini no longer knows the conversation"))
    if status in {401, 403}:
        return RejectedKey(line("Gemini does not let this API key in"), GET_A_KEY)
    if status >= 500 or status in {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}:
        return _declined(line, status, said.wait)
    if status >= 400:
        if status == HTTPStatus.NOT_FOUND and asked.model:
            return RequestRefused(line(f"Gemini has no model {asked.model}"), CHECK_NAMES)
        return RequestRefused(line("Gemini refused the request"))
    if status >= 300:
        return Unavailable(
            f"the service redirects elsewhere (HTTP {status}), and redirects are not followed",
            "Check the base URL; whoever is redirected to would receive the API key.",
        )
    return not_gemini()


def _declined(line: Callable[[str], str], status: int, wait: float | None) -> Unavailable:
    message, hint = line("Gemini is not available"), AGAIN
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        message = line("the quota or request rate of the API key is used up")
        hint = f"Try again in {math.ceil(wait)} s." if wait else "Try again later, or raise the quota."
    return Unavailable(message, hint, passing=True, retry_after=wait)


def _key_is_bad(status: int, said: _Said) -> bool:
    text = said.message.lower()
    return status in {400, 401, 403} and (
        "API_KEY_INVALID" in said.reasons or "api key not valid" in text or "api key expired" in text
    )


def _chain_is_lost(status: int, said: _Said, asked: Asked) -> bool:
    if asked.previous is not None:
        named = asked.previous in said.message or "previous_interaction" in said.message
        return status in {404, 410} or (status in {400, 403} and named)
    return asked.signed and status == HTTPStatus.BAD_REQUEST and bool(_SIGNATURE.search(said.message))


def _is_unreadable_reply(error: BaseException) -> bool:
    """The SDK checks some replies against its models and trips over others; wrong arguments are not meant."""
    if type(error).__name__ == "ValidationError":
        return str(getattr(error, "title", "")).endswith("Response")
    if not isinstance(error, TypeError | AttributeError | ValueError | LookupError | RecursionError):
        return False
    frames = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(name.startswith("google.genai") for name in frames)


def _no_connection(error: BaseException, asked: Asked) -> Unavailable:
    """One hierarchy wraps the HTTP library's exceptions, the other lets them pass; the innermost knows best."""
    names = {type(one).__name__ for one in (error, error.__cause__)}
    detail = re.sub(r"^(\[[^\]]*\] ?)+", "", str(error)).split(" (_ssl.c")[0] or type(error).__name__
    start = "the connection to Gemini broke" if names & _BROKEN_OFF else "Gemini cannot be reached"
    message = one_line(f"{start}: {detail}", asked.secret)
    return Unavailable(message, CHECK_NETWORK, passing=_never_reached(error))


def _never_reached(error: BaseException) -> bool:
    """Whether no connection was made; a certificate that is not trusted will not be trusted in a moment."""
    kinds = {kind.__name__ for one in (error, error.__cause__) for kind in type(one).__mro__}
    return bool(kinds & _NEVER_REACHED) and "[SSL" not in f"{error} {error.__cause__}"


def _headers(error: BaseException) -> Mapping[str, str]:
    return getattr(getattr(error, "response", None), "headers", None) or {}


def _phrase(status: int) -> str:
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def one_line(text: str, secret: str = "") -> str:
    masked = text.replace(secret, "***") if secret else text
    shown = " ".join("".join(char if char.isprintable() else " " for char in masked).split())
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"
