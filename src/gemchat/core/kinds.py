"""Which bytes are an image or PDF that goes along as context; the name of a file does not matter."""

from __future__ import annotations

from collections.abc import Mapping

# https://ai.google.dev/gemini-api/docs/image-understanding and /document-processing; GIF is not among them.
TITLES: Mapping[str, str] = {
    "image/png": "PNG image",
    "image/jpeg": "JPEG image",
    "image/webp": "WebP image",
    "image/heic": "HEIC image",
    "image/heif": "HEIF image",
    "application/pdf": "PDF",
}
SUPPORTED = "PNG, JPEG, WebP, HEIC and HEIF images, and PDFs"
PDF = "application/pdf"
HEAD = 64  # bytes that tell a kind
_BEGINNINGS = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"%PDF-", PDF))
_HEIC = (b"heic", b"heix", b"heim", b"heis")  # single images; sequences have other brands, and are not taken
_HEIF = b"mif1"


def kind_of(head: bytes) -> str | None:
    """The MIME type of a supported image or PDF by its first bytes, `HEAD` of them or more; None for all else."""
    for beginning, mime_type in _BEGINNINGS:
        if head.startswith(beginning):
            return mime_type
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return _heif(head) if head[4:8] == b"ftyp" else None


def _heif(head: bytes) -> str | None:
    """By the brands of the file: the main one, its version, and those it is compatible with."""
    length = int.from_bytes(head[:4], "big")
    main, others = head[8:12], head[16 : min(length, HEAD)]
    if main in _HEIC:
        return "image/heic"
    return "image/heif" if main == _HEIF and b"avif" not in others else None
