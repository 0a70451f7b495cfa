"""Images and PDFs as both APIs of the loopback server get them: base64 and the kind that their sender names."""

from __future__ import annotations

import base64
import binascii

from gemchat.core.media import described
from gemchat.core.model import MediaRef
from gemchat.local.mind import Refusal


def received(data: str, mime_type: str, model: str) -> MediaRef:
    """Takes both alphabets of base64, as the service does. What comes has no path of its own.

    Raises Refusal for what is not of that kind.
    """
    try:
        raw = base64.b64decode(data.replace("-", "+").replace("_", "/"), validate=True)
    except binascii.Error:
        raise Refusal("'data' is not base64.") from None
    ref = described("", raw, model)
    if ref is None or ref.mime_type != mime_type:
        raise Refusal(f"Unsupported MIME type, or not its bytes: {mime_type}")
    return ref
