"""Images and PDFs of the read-only context: what they weigh, and how messages carry them.

The header of a message lists every image and PDF of the context with its path, kind and hash. The bytes go out
only if the conversation does not hold them: then the file is `"inline": n`, the n-th that follows the texts,
otherwise `"synchronized": true`, the bytes of that hash which came before. So when another file of the context
changes, an image costs a line and is not sent again, and neither is one that was renamed, or left out for a while.
A restart sends all of them once more, as it does with texts.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from gemchat.core.economics import estimate_tokens
from gemchat.core.kinds import PDF, kind_of
from gemchat.core.model import MediaRef, Message

# The defaults in https://ai.google.dev/gemini-api/docs/media-resolution, section "Token counts", for Gemini 3 ...
IMAGE_TOKENS = 1120
PAGE_TOKENS = 560
# ... and before it. There a large image counts as several; the service's own count corrects that afterwards.
OLD_TOKENS = 258

# Bytes of one request, base64 and texts together, as documented for inline data in general. By now
# https://ai.google.dev/gemini-api/docs/file-input-methods allows more; Vertex AI does not for every model.
REQUEST_LIMIT = 20_000_000
FILE_LIMIT = REQUEST_LIMIT // 4 * 3  # bytes of one file, which base64 makes a third longer

_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_PACKED = re.compile(rb"/Type\s*/ObjStm(?![A-Za-z]).{0,300}?stream\r?\n", re.DOTALL)
_UNPACKED = 64_000_000  # bytes; nothing that unpacks to more is read to its end
_MARKER = re.compile(r"--- inline (\d+): (.*) ---\n")


def described(path: str, data: bytes, model: str) -> MediaRef | None:
    """An image or PDF as it goes along to a model, None for bytes that are neither."""
    kind = kind_of(data)
    if kind is None:
        return None
    pages = pdf_pages(data) if kind == PDF else 0
    sha256 = hashlib.sha256(data).hexdigest()
    return MediaRef(path=path, mime_type=kind, sha256=sha256, bytes=len(data), tokens=_tokens(kind, pages, model))


def _tokens(kind: str, pages: int, model: str) -> int:
    old = model.rsplit("/", 1)[-1].startswith(("gemini-1", "gemini-2"))
    if kind == PDF:
        return pages * (OLD_TOKENS if old else PAGE_TOKENS)
    return OLD_TOKENS if old else IMAGE_TOKENS


def pdf_pages(data: bytes) -> int:
    """How many page objects a PDF has, those in compressed object streams too; at least one.

    Pages that were changed and saved again are counted twice, those of an encrypted PDF may not be seen.
    """
    found = len(_PAGE.findall(data))
    left = _UNPACKED
    streams = [match.end() for match in _PACKED.finditer(data)]
    for start, end in pairwise((*streams, len(data))):
        objects = _inflated(data[start:end], left)
        found += len(_PAGE.findall(objects))
        left -= len(objects)
        if left <= 0:
            break
    return max(found, 1)


def _inflated(data: bytes, limit: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, limit)
    except zlib.error:
        return b""


def unheld(media: Iterable[MediaRef], held: Collection[str]) -> tuple[MediaRef, ...]:
    """Those whose bytes have to go out, each version once; `held` are hashes."""
    fresh: dict[str, MediaRef] = {}
    for ref in media:
        if ref.sha256 not in held:
            fresh.setdefault(ref.sha256, ref)
    return tuple(fresh.values())


def listed(media: Iterable[MediaRef], fresh: Sequence[MediaRef]) -> list[dict[str, Any]]:
    """How the header of a message with the bytes of `fresh` names all images and PDFs of the context."""
    numbers = {ref.sha256: number for number, ref in enumerate(fresh, 1)}

    def whence(ref: MediaRef) -> dict[str, Any]:
        return {"inline": numbers[ref.sha256]} if ref.sha256 in numbers else {"synchronized": True}

    return [{"path": ref.path, "mimeType": ref.mime_type, "sha256": ref.sha256, **whence(ref)} for ref in media]


def inline_parts(message: Message) -> Iterator[str | MediaRef]:
    """What a service is sent: the texts, then each image or PDF after a line that says which it is."""
    yield from message.parts
    for number, ref in enumerate(message.media, 1):
        yield f"--- inline {number}: {msgspec.json.encode(ref.path)[1:-1].decode()} ---\n"
        yield ref


def joined(role: Literal["user", "model"], parts: Iterable[str | MediaRef]) -> Message:
    """The inverse: `joined(m.role, inline_parts(m)) == m`. What comes without such a line has no path."""
    texts: list[str] = []
    media: list[MediaRef] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        marker = _MARKER.fullmatch(texts[-1]) if texts else None
        if marker:
            texts.pop()
        media.append(replace(part, path=_unescaped(marker[2]) if marker else ""))
    return Message(role=role, parts=tuple(texts), media=tuple(media))


def _unescaped(name: str) -> str:
    """Whatever stands in the line; a name only if it is one that `inline_parts` writes."""
    try:
        return msgspec.json.decode(f'"{name}"', type=str)
    except msgspec.DecodeError:
        return name


def message_tokens(message: Message) -> int:
    """An estimate."""
    return sum(map(estimate_tokens, message.parts)) + sum(ref.tokens for ref in message.media)


def message_bytes(message: Message) -> int:
    """The size of its texts in UTF-8, and of its images and PDFs as they are stored."""
    return _text_bytes(message) + sum(ref.bytes for ref in message.media)


def _text_bytes(message: Message) -> int:
    return sum(len(part.encode("utf-8", "replace")) for part in message.parts)


def request_size(messages: Sequence[Message]) -> int:
    """The bytes of the texts in UTF-8 and of images and PDFs in base64, without what JSON puts around them."""
    return sum(map(_text_bytes, messages)) + sum(4 * -(-ref.bytes // 3) for ref in media_of(messages))


def media_of(messages: Iterable[Message]) -> tuple[MediaRef, ...]:
    return tuple(ref for message in messages for ref in message.media)
