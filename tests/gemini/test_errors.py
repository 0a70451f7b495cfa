"""The translator knows every exception that the SDK and its HTTP library have, and nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from google.genai import _interactions_continuation, _interactions_errors, errors

from gemchat.errors import Unavailable
from gemchat.gemini.errors import Asked, cut_short, reported, translate, translated

from .script import KEY, assert_fit_to_show

ASKED = Asked(KEY, "gemini-x")

NEVER_RAISED = {
    "UnknownFunctionCallArgumentError": "gemchat gives the model no functions to call",
    "UnsupportedFunctionError": "the same",
    "FunctionInvocationError": "the same",
    "ExperimentalWarning": "a warning",
    "HTTPStatusError": "a subclass of HTTPError, only raised on demand",
}


def with_subclasses(root: type[BaseException]) -> Iterator[type[BaseException]]:
    yield root
    for kind in root.__subclasses__():
        yield from with_subclasses(kind)


def defined_in(module: Any) -> set[type[BaseException]]:
    kinds = {kind for _, kind in inspect.getmembers(module, inspect.isclass)}
    return {kind for kind in kinds if issubclass(kind, BaseException)}


EVERY_KIND = {
    *defined_in(errors),
    *defined_in(_interactions_continuation),
    *defined_in(_interactions_errors),
    *with_subclasses(errors.APIError),
    *with_subclasses(_interactions_errors.GeminiNextGenAPIClientError),
    *with_subclasses(httpx2.HTTPError),
}


def blank(kind: Any) -> Any:
    """An exception as it is without its constructor, which asks for a whole response."""
    made = kind.__new__(kind)
    made.message = ""
    return made


@pytest.mark.parametrize("kind", sorted(EVERY_KIND, key=str))
def test_every_exception_of_the_sdk_is_known(kind: type[BaseException]) -> None:
    if kind.__name__ in NEVER_RAISED:
        return
    ours = translate(blank(kind), ASKED)
    assert ours is not None, f"{kind.__name__} is new to the SDK and would end in a traceback"
    assert_fit_to_show(ours)


def test_the_list_of_exceptions_found_is_not_empty() -> None:
    names = {kind.__name__ for kind in EVERY_KIND}
    assert {"ServerError", "RateLimitError", "ConnectTimeout", "ContinuationInterruptedError"} <= names


@pytest.mark.parametrize("bug", [ValueError("x"), TypeError("x"), KeyError("x"), RuntimeError("x"), OSError("x")])
def test_bugs_are_not_swallowed(bug: Exception) -> None:
    with pytest.raises(type(bug)) as caught, translated(ASKED):
        raise bug
    assert caught.value is bug


def test_gemchats_own_errors_pass_through() -> None:
    own = cut_short()
    with pytest.raises(Unavailable) as caught, translated(ASKED):
        raise own
    assert caught.value is own


def test_wrong_arguments_are_a_bug_and_stay_one() -> None:
    from google.genai import types
    from pydantic import ValidationError

    with pytest.raises(ValidationError), translated(ASKED):
        types.GenerateContentConfig.model_validate({"no_such_field": 1})


def test_an_unknown_host_is_named_as_such() -> None:
    ours = translate(httpx2.ConnectError("[Errno -2] Name or service not known"), ASKED)
    assert ours is not None
    assert ours.message == "Gemini cannot be reached: Name or service not known"


def test_a_bad_certificate_is_told_without_the_library_lines() -> None:
    ours = translate(
        httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: expired (_ssl.c:1006)"),
        ASKED,
    )
    assert ours is not None
    assert ours.message == "Gemini cannot be reached: certificate verify failed: expired"


def test_the_key_never_shows_in_what_a_request_was_judged_by() -> None:
    assert KEY not in repr(ASKED)


class Response:
    def __init__(self, **headers: str) -> None:
        self.headers = {name.replace("_", "-"): text for name, text in headers.items()}


def refused(status: int, details: object = (), **headers: str) -> Unavailable:
    error = blank(errors.APIError)
    error.code, error.details = status, {"error": {"message": "no", "details": list(details)}}  # type: ignore[call-overload]
    error.response = Response(**headers)
    ours = translate(error, ASKED)
    assert isinstance(ours, Unavailable)
    return ours


@pytest.mark.parametrize(
    ("headers", "details", "seconds"),
    [
        ({}, [], None),
        ({"retry_after": "7"}, [], 7.0),
        ({"retry_after": "0"}, [], 0.0),
        ({"retry_after": "99999999999999999999"}, [], 366 * 86400.0),
        ({"retry_after": "soon"}, [], None),
        ({"retry_after": "-5"}, [], None),
        ({}, [{"retryDelay": "34.07s"}], 34.07),
        ({"retry_after": "7"}, [{"retryDelay": "34.07s"}], 34.07),
        ({}, [{"retryDelay": {}}, 5], None),
        ({"retry_after": "Mon, 30 Nov 2026 08:01:30 GMT", "date": "Mon, 30 Nov 2026 08:00:00 GMT"}, [], 90.0),
        ({"retry_after": "Mon, 30 Nov 2026 07:00:00 GMT", "date": "Mon, 30 Nov 2026 08:00:00 GMT"}, [], 0.0),
        ({"retry_after": "Mon, 30 Nov 2026 08:01:30 GMT"}, [], None),
        ({"retry_after": "Mon, 30 Nov 2026 08:01:30 -0000", "date": "Mon, 30 Nov 2026 08:00:00 GMT"}, [], None),
    ],
)
def test_how_long_the_service_wants_to_be_left_alone(
    headers: dict[str, str], details: list[object], seconds: float | None
) -> None:
    for status in (429, 503):
        ours = refused(status, details, **headers)
        assert (ours.passing, ours.retry_after) == (True, seconds)


@pytest.mark.parametrize(
    ("error", "passing"),
    [
        (httpx2.ConnectError("[Errno 111] Connection refused"), True),
        (httpx2.ConnectTimeout("timed out"), True),
        (httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"), False),
        (httpx2.ReadTimeout("timed out"), False),
        (httpx2.ReadError("reset"), False),
        (httpx2.RemoteProtocolError("peer closed connection"), False),
        (httpx2.ProxyError("403 Forbidden"), False),
    ],
)
def test_only_what_never_reached_the_service_passes(error: Exception, passing: bool) -> None:
    plain = translate(error, ASKED)
    wrapped = blank(
        _interactions_errors.APITimeoutError
        if isinstance(error, httpx2.TimeoutException)
        else _interactions_errors.APIConnectionError
    )
    wrapped.__cause__ = error
    for ours in (plain, translate(wrapped, ASKED)):
        assert isinstance(ours, Unavailable)
        assert ours.passing is passing


@pytest.mark.parametrize(
    ("code", "passing"),
    [("overloaded", True), ("503", True), (429, True), ("huh", False), (None, False), (7, False)],
)
def test_a_failure_reported_within_an_answer_passes_if_it_has_a_known_reason(code: object, passing: bool) -> None:
    ours = reported(code, "no", ASKED)
    assert isinstance(ours, Unavailable)
    assert ours.passing is passing
