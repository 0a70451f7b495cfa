"""Credentials in text: a short list of forms that are hardly ever anything else.

Precision comes first: each form has a fixed beginning and a fixed alphabet, so that ordinary code, hashes and
placeholders are left alone. Passwords without a form of their own are not found. A finding says the kind and the
lines, never the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from itertools import islice

from gemchat.core.model import Value

_SHORTEST_KEY = 16  # characters; a shorter key of the user's own would be found in ordinary words

# kind, words of which every match has one (where they are all in lower case, in any case), form
_FORMS = (
    (
        "a private key",
        "PRIVATE",
        r"-----BEGIN [A-Z ]{0,24}PRIVATE KEY(?: BLOCK)?-----(?=[\s\S]{0,300}?[A-Za-z0-9+/]{40})",
    ),
    ("an AWS access key", "AKIA ASIA", r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b"),
    (
        "an AWS secret key",
        "secret",
        r"(?i:aws_?secret_?(?:access_?)?key)[\"']?\s{0,4}[=:]\s{0,4}[\"']?[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])",
    ),
    (
        "a GitHub token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})\b",
    ),
    ("a GitLab token", "glpat-", r"\bglpat-[A-Za-z0-9_-]{20,64}"),
    ("a Google API key", "AIza", r"\bAIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    ("a Google API key", "AQ.Ab", r"\bAQ\.Ab[A-Za-z0-9_-]{40,100}"),
    ("a Google client secret", "GOCSPX-", r"\bGOCSPX-[A-Za-z0-9_-]{28}(?![A-Za-z0-9_-])"),
    ("a Slack token", "xox", r"\bxox[abeoprs]-[0-9A-Za-z]{8,}-[0-9A-Za-z-]{10,}"),
    (
        "a Slack webhook",
        "hooks.slack.com",
        r"https://hooks\.slack\.com/services/T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/[A-Za-z0-9]{20,}",
    ),
    ("a Stripe key", "k_live_", r"\b[sr]k_live_[A-Za-z0-9]{20,}"),
    ("an npm token", "npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("a PyPI token", "pypi-AgE", r"\bpypi-AgE[A-Za-z0-9_-]{50,}"),
    ("an OpenAI key", "T3BlbkFJ", r"(?<![\w-])sk-[A-Za-z0-9_-]{16,}T3BlbkFJ[A-Za-z0-9_-]{16,}"),
    ("an Anthropic key", "sk-ant-", r"\bsk-ant-[a-z0-9]{3,8}-[A-Za-z0-9_-]{80,}"),
    ("a Hugging Face token", "hf_", r"\bhf_[A-Za-z0-9]{34}\b"),
    ("a SendGrid key", "SG.", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    ("a DigitalOcean token", "_v1_", r"\bdo[opr]_v1_[0-9a-f]{64}\b"),
    ("an Azure storage key", "AccountKey=", r"AccountKey=[A-Za-z0-9+/]{86}=="),
    ("a signed token (JWT)", "eyJ", r"(?<![\w-])eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}"),
)
_ENOUGH = 100  # findings; to count the lines before each of very many takes long
_FEW = 5  # different characters after the beginning: xxxxxxxx, 00000000


class Finding(Value, frozen=True):
    """What was found, and its first and last line, counted from 1."""

    kind: str
    line: int
    end: int


def find(text: str, own: Collection[str] = ()) -> list[Finding]:
    """The credentials in a text; `own` are the user's own keys, found in whatever form they have."""
    possible = _possible(text)
    matches = _any_of(possible).finditer(text) if possible else iter(())
    found = [
        _finding(text, match, _FORMS[int((match.lastgroup or "f0")[1:])][0])
        for match in islice((match for match in matches if not _is_placeholder(match[0])), _ENOUGH)
    ]
    mine = [re.escape(key) for key in own if len(key) >= _SHORTEST_KEY and key in text]
    if mine:
        found += [
            _finding(text, match, "your own API key")
            for match in islice(re.finditer("|".join(mine), text), _ENOUGH)
        ]
    return _once(found)


def none_is_possible(text: str, own: Collection[str] = ()) -> bool:
    """Whether there can be no credentials in any part of a text."""
    return not _possible(text) and not any(key in text for key in own)


def _possible(text: str) -> tuple[int, ...]:
    """The forms that the text may have: looking for words costs a hundredth of looking for forms."""
    folded = text.casefold()
    return tuple(
        number
        for number, (_, words, _) in enumerate(_FORMS)
        if any(word in (folded if word.islower() else text) for word in words.split())
    )


@cache
def _any_of(numbers: tuple[int, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<f{number}>{_FORMS[number][2]})" for number in numbers))


def _finding(text: str, match: re.Match[str], kind: str) -> Finding:
    line = text.count("\n", 0, match.start()) + 1
    end = text.find("-----END", match.end()) if "BEGIN" in match[0] else -1
    last = line + text.count("\n", match.start(), max(end, match.end()))
    return Finding(kind=kind, line=line, end=last)


def _once(found: list[Finding]) -> list[Finding]:
    """One finding per line is enough to act on, in the order of the lines."""
    by_line: dict[int, Finding] = {}
    for finding in sorted(found, key=lambda finding: finding.line):
        by_line.setdefault(finding.line, finding)
    return list(by_line.values())


def _is_placeholder(text: str) -> bool:
    return "EXAMPLE" in text or ("BEGIN" not in text and len(set(text[-16:])) <= _FEW)


def redacted(text: str, keys: Collection[str]) -> str:
    """The text without the user's own keys."""
    for key in sorted(filter(None, keys), key=len, reverse=True):
        text = text.replace(key, "[API key]") if len(key) >= _SHORTEST_KEY else text
    return text
