from __future__ import annotations

import base64
import hashlib
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core import kinds, media
from gemchat.core.contents import inline, lift, payload_of, to_json
from gemchat.core.kinds import kind_of
from gemchat.core.media import described, inline_parts, joined, listed, pdf_pages, unheld
from gemchat.core.model import MediaRef, Message, Request
from tests import pictures

SUPPORTED = {
    "image/png": pictures.png(),
    "image/jpeg": pictures.jpeg(),
    "image/webp": pictures.webp(),
    "image/heic": pictures.heif(b"heic", b"mif1"),
    "image/heif": pictures.heif(b"mif1", b"miaf"),
    "application/pdf": pictures.pdf(1),
}


def ref(path: str = "a.png", sha256: str = "1", tokens: int = 10) -> MediaRef:
    return MediaRef(path=path, mime_type="image/png", sha256=sha256, bytes=4, tokens=tokens)


REFS = st.builds(ref, path=st.text(st.characters(exclude_categories=["Cs"])), sha256=st.sampled_from("123456"))


class TestAKind:
    @pytest.mark.parametrize(("mime_type", "data"), SUPPORTED.items())
    def test_is_in_the_first_bytes(self, mime_type: str, data: bytes) -> None:
        assert kind_of(data) == kind_of(data[: kinds.HEAD]) == mime_type
        assert mime_type in kinds.TITLES

    def test_every_one_is_named_to_the_user(self) -> None:
        assert SUPPORTED.keys() == kinds.TITLES.keys()
        for title in kinds.TITLES.values():
            assert title.removesuffix(" image") in kinds.SUPPORTED

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"text",
            b"PNG",
            b" %PDF-1.7",
            pictures.gif(),
            b"RIFF\0\0\0\0WAVEfmt ",
            b"RIFF",
            pictures.heif(b"avif", b"mif1", b"heic"),
            pictures.heif(b"mif1", b"miaf", b"avif"),
            pictures.heif(b"isom", b"mp42"),
            pictures.heif(b"msf1", b"hevc"),
            b"\0\0\0\x18ftyp",
        ],
    )
    def test_anything_else_is_none(self, data: bytes) -> None:
        assert kind_of(data) is None
        assert described("x.png", data, "gemini-3.8-flash") is None

    def test_what_follows_the_brands_is_no_brand(self) -> None:
        assert kind_of(pictures.heif(b"mif1", b"miaf") + b"avif") == "image/heif"


class TestTokens:
    @pytest.mark.parametrize("model", ["gemini-3.8-flash", "gemini-4", "m", "", "models/gemini-3-pro"])
    def test_of_an_image_and_of_each_page(self, model: str) -> None:
        assert self.tokens(pictures.png(), model) == 1120
        assert self.tokens(pictures.pdf(3), model) == 3 * 560

    @pytest.mark.parametrize("model", ["gemini-2.5-flash", "models/gemini-1.5-pro", "gemini-2.0-flash"])
    def test_for_older_models(self, model: str) -> None:
        assert self.tokens(pictures.png(), model) == 258
        assert self.tokens(pictures.pdf(3), model) == 3 * 258

    def tokens(self, data: bytes, model: str) -> int:
        found = described("x", data, model)
        assert found is not None
        return found.tokens

    def test_and_all_else_that_is_known(self) -> None:
        data = pictures.png(7)
        sha256 = hashlib.sha256(data).hexdigest()
        expected = MediaRef(path="a.png", mime_type="image/png", sha256=sha256, bytes=len(data), tokens=1120)
        assert described("a.png", data, "m") == expected

    def test_a_message_weighs_its_texts_and_its_media(self) -> None:
        message = Message(role="user", parts=("abcd", "é"), media=(ref(tokens=100), ref(tokens=50)))
        assert media.message_tokens(message) == 151
        assert media.message_bytes(message) == 6 + 2 * 4
        assert media.request_size([message, message]) == 2 * (6 + 2 * 8)
        assert media.media_of([message, message]) == message.media * 2


def test_a_request_brings_the_bytes() -> None:
    """With a last character that only one of the alphabets of base64 has."""
    data = b"\xff\xff\xff"
    request = Request(model="m", system="", messages=(), media={"1": data})
    assert request.base64(ref(sha256="1")) == base64.b64encode(data).decode() == "////"


class TestPages:
    @given(st.integers(1, 40), st.booleans())
    def test_are_counted_also_in_compressed_objects(self, pages: int, packed: bool) -> None:
        assert pdf_pages(pictures.pdf(pages, packed=packed)) == pages

    def test_two_object_streams(self) -> None:
        assert pdf_pages(pictures.pdf(2, packed=True) + pictures.pdf(3, packed=True)) == 5

    def test_a_pdf_whose_pages_cannot_be_seen_has_one(self) -> None:
        assert pdf_pages(b"%PDF-1.7\n") == 1
        damaged = pictures.pdf(5, packed=True).replace(zlib.compress(b"")[:2], b"no")
        assert pdf_pages(damaged) == 1

    def test_what_unpacks_without_end_is_not_read_to_its_end(self) -> None:
        bomb = zlib.compress(b"/Type /Page " * 8_000_000, 9)
        stream = b"<< /Type /ObjStm >>\nstream\n" + bomb
        most = media._UNPACKED // len(b"/Type /Page ")
        assert most - 1 <= pdf_pages(b"%PDF-1.7\n" + stream * 3) <= most

    @given(st.binary())
    def test_any_bytes_have_a_number_of_pages(self, data: bytes) -> None:
        assert pdf_pages(b"%PDF-1.7\n" + data) >= 1
        assert pdf_pages(b"%PDF-1.7\n/Type/ObjStm>>stream\n" + data) >= 1


class TestWhatGoesOut:
    @given(st.lists(REFS), st.sets(st.sampled_from("123456")))
    def test_each_version_once_that_is_not_held(self, refs: list[MediaRef], held: set[str]) -> None:
        fresh = unheld(refs, held)
        hashes = [one.sha256 for one in fresh]
        assert sorted(hashes) == sorted({one.sha256 for one in refs} - held)
        assert [one for one in refs if one in fresh][:1] == list(fresh[:1])

    @given(st.lists(REFS), st.sets(st.sampled_from("123456")))
    def test_the_header_names_all_and_says_which_come(self, refs: list[MediaRef], held: set[str]) -> None:
        fresh = unheld(refs, held)
        for item, one in zip(listed(refs, fresh), refs, strict=True):
            assert (item["path"], item["sha256"], item["mimeType"]) == (one.path, one.sha256, one.mime_type)
            if one.sha256 in held:
                assert item["synchronized"] is True
                assert "inline" not in item
            else:
                assert fresh[item["inline"] - 1].sha256 == one.sha256
                assert "synchronized" not in item

    @given(st.lists(st.text(), min_size=1).map(tuple), st.lists(REFS).map(tuple))
    def test_joined_is_the_inverse_of_inline_parts(
        self, texts: tuple[str, ...], refs: tuple[MediaRef, ...]
    ) -> None:
        message = Message(role="user", parts=texts, media=refs)
        assert joined("user", inline_parts(message)) == message

    def test_a_line_says_which_image_follows(self) -> None:
        message = Message(role="user", parts=("{}",), media=(ref("a.png"), ref('b "\n.png')))
        assert list(inline_parts(message)) == [
            "{}",
            "--- inline 1: a.png ---\n",
            ref("a.png"),
            '--- inline 2: b \\"\\n.png ---\n',
            ref('b "\n.png'),
        ]

    def test_what_comes_without_such_a_line_has_no_path(self) -> None:
        assert joined("user", [ref("a"), "text", ref("b")]) == Message(
            role="user", parts=("text",), media=(ref(""), ref(""))
        )

    def test_a_line_that_somebody_else_wrote_is_taken_as_it_is(self) -> None:
        assert joined("user", ['--- inline 1: a"b ---\n', ref("")]).media == (ref('a"b'),)

    def test_lifting_texts_leaves_the_media(self) -> None:
        payload = {
            "mode": "ask",
            "prompt": "p",
            "currentSource": "x",
            "secondaryContext": listed([ref()], [ref()]),
        }
        message = Message(role="user", parts=(to_json(payload),), media=(ref(),))
        assert lift(message).media == (ref(),)
        assert len(lift(message).parts) == 2
        assert inline(lift(message)) == message
        assert payload_of(lift(message)) == payload
