"""Images and PDFs as both APIs of the loopback server get them: bytes with the kind that their sender names."""

from __future__ import annotations

from gemchat.core.media import described
from gemchat.core.model import MediaRef
from gemchat.local.mind import Refusal


def received(data: bytes, mime_type: str, model: str) -> MediaRef:
    """Raises Refusal for bytes that are not of that kind. What comes has no path of its own."""
    ref = described("", data, model)
    if ref is None or ref.mime_type != mime_type:
        raise Refusal(f"Unsupported MIME type, or not its bytes: {mime_type}")
    return ref
