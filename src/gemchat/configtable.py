"""Every setting there is, each in one row: its name, what it takes, its default, and who may set it.

It owns what a value must be. Where values come from and which one wins is not its business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from gemchat.core.model import Value
from gemchat.core.visible import one_line
from gemchat.errors import GemchatError

_SHOWN = 60  # characters of a name or a value in a message

Name = Annotated[str, Meta(min_length=1)]
Address = Annotated[str, Meta(pattern=r"^https?://\S+$")]
Seconds = Annotated[float, Meta(gt=0, le=7 * 86_400)]
Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Horizon = Annotated[int, Meta(ge=1, le=1000)]
Dollars = Annotated[float, Meta(ge=0, le=1_000_000)]
Mode = Literal["auto", "always", "never"]
Duration = Annotated[str, Meta(pattern=r"^(off|0|[1-9][0-9]{0,3}[smh])$")]


class Price(Value, frozen=True, forbid_unknown_fields=True):
    """US dollars per million tokens: input that is new, input from the cache, output."""

    fresh: Dollars
    cached: Dollars
    output: Dollars


class Option(NamedTuple):
    """`takes` says in words what `type` demands; `shared` is whether a project's file may set it."""

    name: str
    takes: str
    type: Any
    about: str
    default: Any = None
    shared: bool = False
    variable: str = ""


OPTIONS = (
    Option(
        "model", "a name", Name, "The model to talk to; `local` is the one on this machine.",
        default="gemini-3.8-flash", shared=True, variable="GEMCHAT_MODEL",
    ),
    Option(
        "backend", "auto, interactions or contents", Literal["auto", "interactions", "contents"],
        "The API that carries the conversation; `auto` is interactions, with Vertex AI contents.",
        default="auto", shared=True, variable="GEMCHAT_BACKEND",
    ),
    Option("thinking", "a level", Name, "How long the model may think: low, medium, high.", shared=True),
    Option(
        "base_url", "an http or https address", Address,
        "The service at another address; it receives the key and what is sent.",
        variable="GOOGLE_GEMINI_BASE_URL",
    ),
    Option("insecure", "true or false", bool, "Let `base_url` be plain http to another machine.", default=False),
    Option(
        "vertex", "true or false", bool,
        "Use Vertex AI with Google Cloud's application default credentials, and no key.", default=False,
    ),
    Option(
        "project", "a project's id", Name, "The Google Cloud project of `vertex`, if not that of the credentials.",
        variable="GOOGLE_CLOUD_PROJECT",
    ),
    Option(
        "location", "a region", Name, "The Google Cloud region of `vertex`.",
        default="global", variable="GOOGLE_CLOUD_LOCATION",
    ),
    Option(
        "compaction", "auto, always or never", Mode,
        "Rewrite the history when that is cheaper, with every turn, or only when it must be.",
        default="auto", shared=True,
    ),
    Option(
        "horizon", "a number of turns, 1 to 1000", Horizon, "How many more turns a rewrite may take to pay off.",
        default=8, shared=True,
    ),
    Option(
        "cache_ttl", "seconds, more than 0", Seconds,
        "How long the service is taken to keep a prefix in its cache.",
        default=300.0, shared=True,
    ),
    Option(
        "attachments.limit", "a number of tokens, 1 or more", Count,
        "Longer attachments are folded to head, tail and errors.",
        default=200_000,
    ),
    Option(
        "prices.<model>", "{fresh, cached, output}, each in dollars", Price,
        "What a model costs in US dollars per million tokens.", shared=True,
    ),
    Option(
        "deadline", "seconds, more than 0", Seconds, "How long after its start a request may be tried again.",
        default=120.0, shared=True,
    ),
    Option(
        "check", "a command", Name,
        "What `edit --check` runs, for every edit; `--check ''` runs none. `watch -y` runs it too.",
    ),
    Option(
        "check_timeout", "seconds, more than 0", Seconds, "How long that command may take.",
        default=300.0, shared=True,
    ),
    Option(
        "side_by_side", "true or false", bool, "Show diffs in two columns where the terminal is wide enough.",
        default=False, shared=True,
    ),
    Option(
        "pager", "true or false", bool, "Page answers and diffs that are longer than the terminal.",
        default=False,
    ),
    Option(
        "warm", "off or a time like 10m (s, m, h)", Duration,
        "How long after a turn a process that has loaded the SDK waits for the next one (Linux).",
        default="off", variable="GEMCHAT_WARM",
    ),
    Option(
        "local.path", "the whole path of a file", Name, "Another GGUF file as the local model.",
        variable="GEMCHAT_LOCAL_MODEL",
    ),
    Option(
        "local.url", "an http or https address", Address, "A running OpenAI-compatible server as the local model.",
        variable="GEMCHAT_LOCAL_URL",
    ),
)  # fmt: skip
_BY_NAME = {option.name: option for option in OPTIONS}
_GROUPS = {option.name.partition(".")[0] for option in OPTIONS if "." in option.name}
PRICES = "prices."


def option(name: str, kind: type[GemchatError], where: str = "") -> Option:
    """The row of a name; each model's price is a setting of its own. Raises `kind` with the name that is meant."""
    model = name.removeprefix(PRICES)
    if model and model != name:
        return _BY_NAME["prices.<model>"]
    if name not in _BY_NAME:
        raise kind(f"{where}there is no setting {one_line(name, _SHOWN)}", _meant(name))
    return _BY_NAME[name]


def checked(name: str, value: object, kind: type[GemchatError], *, where: str = "", text: bool = False) -> Any:
    """The value as its setting has it. `text` lets words stand for numbers and truth values."""
    row = option(name, kind, where)
    try:
        found = msgspec.convert(value, row.type, strict=not text)
    except (msgspec.ValidationError, OverflowError):
        raise _wrong(name, row, value, kind, where) from None
    if name == "local.path" and not text and not found.startswith(("/", "~")):
        raise _wrong(name, row, value, kind, where)  # relative to what, a file cannot say
    return found


def seconds(duration: str) -> float:
    """Of a `Duration`."""
    return 0.0 if duration in ("off", "0") else float(duration[:-1]) * {"s": 1, "m": 60, "h": 3600}[duration[-1]]


def flattened(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The names and values of a TOML document; a name with dots in quotes is none of ours."""
    for key, value in document.items():
        if key in _GROUPS and isinstance(value, dict):
            yield from ((f"{key}.{name}", inner) for name, inner in value.items())
        else:
            yield (f'"{key}"' if "." in key else key), value


def _wrong(name: str, row: Option, value: object, kind: type[GemchatError], where: str) -> GemchatError:
    quoted = isinstance(value, dict) and name.startswith(PRICES) and not set(value) & set(Price.__struct_fields__)
    hint = 'A name with dots is quoted in TOML: [prices."gemini-3.8-flash"]' if quoted else row.about
    shown = one_line(str(value), _SHOWN)
    return kind(f"{where}{one_line(name, _SHOWN)} must be {row.takes}, not {shown or 'empty'}", hint)


def _meant(name: str) -> str:
    from difflib import get_close_matches

    if close := get_close_matches(name.lower().replace("-", "_"), _BY_NAME, n=1, cutoff=0.5):
        return f"Did you mean {close[0]}? All settings: gemchat config list"
    if "key" in name.lower():
        return "A key is no setting. Store it with: gemchat config set-key"
    return "All settings: gemchat config list"
