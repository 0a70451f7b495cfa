"""The smallest files of each kind that goes along as an image or PDF, each different for another `content`."""

from __future__ import annotations

import struct
import zlib


def png(content: int = 0) -> bytes:
    """One grey pixel."""
    pixel = zlib.compress(bytes([0, content % 256]))
    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    comment = b"Comment\0%d" % content
    chunks = ((b"IHDR", header), (b"tEXt", comment), (b"IDAT", pixel), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def jpeg() -> bytes:
    return b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xd9"


def webp() -> bytes:
    return b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0"


def heif(main: bytes, *compatible: bytes) -> bytes:
    """The beginning of a file of that family, which AVIF belongs to as well."""
    brands = b"".join((main, b"\0\0\0\0", *compatible))
    return struct.pack(">I", 8 + len(brands)) + b"ftyp" + brands + b"\0\0\0\x08mdat"


def gif() -> bytes:
    return b"GIF89a\x01\0\x01\0\0\0\0;"


def pdf(pages: int, *, packed: bool = False, content: int = 0) -> bytes:
    """`packed` has the page objects in a compressed object stream, as from PDF 1.5 on."""
    leaves = [b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"] * pages
    kids = b" ".join(b"%d 0 R" % (10 + number) for number in range(pages))
    tree = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (pages, kids)
    if packed:
        starts = [sum(len(leaf) + 1 for leaf in leaves[:number]) for number in range(pages)]
        index = b" ".join(b"%d %d" % (10 + number, start) for number, start in enumerate(starts))
        stream = zlib.compress(index + b"\n" + b"\n".join(leaves))
        said = b"<< /Type /ObjStm /N %d /First %d /Length %d /Filter /FlateDecode >>"
        head = said % (pages, len(index) + 1, len(stream))
        body = b"5 0 obj\n" + head + b"\nstream\n" + stream + b"\nendstream\nendobj\n"
    else:
        body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (10 + number, leaf) for number, leaf in enumerate(leaves))
    start = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
    return start + b"2 0 obj\n" + tree + b"\nendobj\n" + body + b"%% %d\n%%%%EOF\n" % content
