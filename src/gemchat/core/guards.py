"""What makes a proposal doubtful although it fits: text left out, far too much gone, or syntax broken.

A placeholder such as "rest of the code unchanged" is only one if it is new: lines that the base has are fine.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from functools import cache

from gemchat.core.runs import passages

SHRUNK_TO = 1 / 3
_LONG_ENOUGH_TO_SHRINK = 12  # lines
_PARSED = 1_000_000  # characters; to parse more takes longer than a warning is worth

_OPENERS = r"(?:#+|//+|/\*+|\{/\*|\*+|--+|;+|%+|<!--|\(\*|\{-|\"\"\"|'''|'|!|\.\.|dnl\b|rem\b|<%--|@\*)"
_CLOSERS = r"(?:\*+/\}?|-->|\*\)|-\}|\"\"\"|'''|--%>|\*@)"
_OPENER = re.compile(_OPENERS, re.IGNORECASE)
_CLOSER = re.compile(rf"{_CLOSERS}\Z")
_LONGEST = 300  # characters; what stands for more is short, and longer lines would take long to judge
_DOTS = re.compile(r"\.{3,}|…+|⋯+|。{3,}")

_WHAT = (
    r"(?:code|files?|lines?|source|functions?|methods?|classes|class|body|implementation|content|logic|module"
    r"|script|tests?)"
)
_SAME = r"(?:unchanged|unmodified|untouched|the same|same|as (?:before|is|above)|identical)"
_PHRASES = (
    # English
    r"(?:your |the |all )?(?:rest|remainder|remaining|other|existing|previous|original|same|unchanged)"
    rf" (?:of )?(?:(?:the|your|this|my) )?(?:\w+ )?{_WHAT}(?: .*{_SAME}.*| goes here| here| follows?| omitted)?",
    rf"(?:the |all |your )?(?:\w+ )?{_WHAT} (?:remains?|stays?|is|are) {_SAME}.*",
    rf"(?:the )?(?:rest|remainder|everything else|all else)(?: (?:is|remains|stays))?(?: {_SAME}| here| omitted)?",
    rf"(?:remains? |is )?(?:{_SAME})|no changes?(?: here| needed)?|same as (?:before|above|original)",
    rf"(?:{_WHAT} )?(?:omitted|elided|truncated|snipped|abbreviated)(?: for brevity| here)?|for brevity|snip",
    r"etc|and so on|continues? (?:here|below)|keep (?:the )?(?:rest|existing|remaining).*",
    # German
    r"(?:der |die |das )?(?:rest|(?:restlich|übrig|bestehend|vorhanden|bisherig)e[rnms]?)"
    r"(?: (?:des|der|vom))?(?: \w+)?(?: (?:bleibt|bleiben|ist|sind))?(?: (?:unverändert|gleich|wie \w+))?",
    r"(?:\w+ )?(?:bleibt|bleiben) (?:unverändert|gleich|wie \w+)|unverändert|wie (?:zuvor|bisher|oben)|gekürzt",
    # French
    r"(?:le |la )?(?:reste|suite)(?: (?:du|de la|des|de l['’]))?(?: ?\w+)?"
    r"(?: (?:est |reste )?(?:inchangée?s?|identique|comme avant))?",
    r"(?:le )?(?:code|fichier|fonction)s? (?:existante?s?|inchangée?s?|identiques?|précédente?s?)",
    r"inchangée?s?|comme (?:avant|précédemment|ci-dessus)|omis",
    # Japanese
    r".*(?:以下|残り|その他|既存|他|この後|元|以前).*(?:同じ|同様|省略|変更なし|変更無し|そのまま|コード|実装|部分).*",
    r"(?:以下)?(?:省略|略|中略|変更なし|同上)",
    # Chinese
    r".*(?:其余|其餘|剩余|剩餘|其他|现有|現有|原有|已有|之前|余下|原来).*"
    r"(?:代码|代碼|程式碼|不变|不變|省略|相同|保持|内容|部分|逻辑|实现).*",
    r"(?:此处|此處|以下)?省略.*|(?:代码)?保持不变",
)
_SURE = (
    r"\brest of\b|remainder of|existing code|unchanged|untouched|unmodified|remains?\b|stays?\b|\bsame as\b"
    r"|omitted|elided|truncated|\bsnip|brevity|code here|goes here|keep the|unverändert|\bbleib|bestehender code"
    r"|gekürzt|inchang|identique|existante?s?\b|\b(?:suite|reste) d|[\u3040-\u30ff\u4e00-\u9fff]"
)
_DOTS_ARE_SYNTAX = (".py", ".pyi", ".yaml", ".yml", ".adoc", ".rst")
_PROSE = (".md", ".rst", ".adoc", ".txt")  # "#" and "*" begin headings and lists there
_EDGES = " \t.…⋯。-–—=*:()（）[]【】<>《》"


def elided_line(path: str, base: str, new: str) -> str | None:
    """The first new line that stands for text left out, None if there is none."""
    changed = (new[passage.new_start : passage.new_end] for passage in passages(base, new))
    doubtful = [line.strip() for text in changed for line in text.split("\n") if _stands_for_more(line, path)]
    known = {line.strip() for line in base.split("\n")} if doubtful else ()
    return next((line for line in doubtful if line not in known), None)


def has_shrunk(base: str, new: str) -> bool:
    """Whether a whole-file reply lost so much that it is more likely cut than meant."""
    before, after = base.count("\n") + 1, new.count("\n") + 1
    return before >= _LONG_ENOUGH_TO_SHRINK and after < before * SHRUNK_TO


def broken_syntax(path: str, base: str | None, new: str) -> str | None:
    """What is wrong with the syntax of `new` if that of `base` was right; None for what is not parsed here."""
    check = next((check for suffix, check in _SYNTAX.items() if path.lower().endswith(suffix)), None)
    if check is None or len(new) > _PARSED or (base is not None and check(base) is not None):
        return None
    return check(new)


def _stands_for_more(line: str, path: str) -> bool:
    stripped = line.strip()
    if len(stripped) > _LONGEST:
        return False
    if _DOTS.fullmatch(stripped):
        return "…" in stripped or "⋯" in stripped or not path.endswith(_DOTS_ARE_SYNTAX)
    said = _said(stripped, path)
    if not (_DOTS.search(said) or re.search(_SURE, said, re.IGNORECASE)):
        return False
    words = _DOTS.sub(" ", said).strip(_EDGES)
    if not words:
        return bool(_DOTS.search(said)) and not said.strip(" .…").strip("-=*#")
    return bool(_placeholder().fullmatch(" ".join(words.split())))


def _said(stripped: str, path: str) -> str:
    """What a comment, or a line in brackets, says; nothing for all other lines."""
    opener = None if path.endswith(_PROSE) else _OPENER.match(stripped)
    if opener is None:
        return stripped[1:-1] if stripped[:1] in "[(<{" and stripped[-1:] in "])>}" else ""
    said = stripped[opener.end() :]
    closer = _CLOSER.search(said)
    return (said[: closer.start()] if closer else said).strip()


@cache
def _placeholder() -> re.Pattern[str]:
    """Compiled when it is needed: that takes longer than most commands."""
    return re.compile("|".join(f"(?:{phrase})" for phrase in _PHRASES), re.IGNORECASE)


def _python(text: str) -> str | None:
    """Compiled and never run: a `return` outside of a function parses, and is an error all the same."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<text>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__
    return None


def _json(text: str) -> str | None:
    import json

    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        return str(error)
    return None


def _toml(text: str) -> str | None:
    import tomllib

    try:
        tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        return str(error)
    return None


_SYNTAX: Mapping[str, Callable[[str], str | None]] = {
    ".py": _python,
    ".pyi": _python,
    ".json": _json,
    ".toml": _toml,
}
PARSED = tuple(_SYNTAX)
