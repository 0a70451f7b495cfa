"""Images and PDFs as context, from the command line to the bytes of the requests."""

from __future__ import annotations

import base64
import json
import os
import shlex
import time
from pathlib import Path
from typing import Any

import pytest

from gemchat.blobs import sha256
from gemchat.core.media import FILE_LIMIT
from tests import pictures
from tests.cli.conftest import Gemchat
from tests.cli.test_readme import blocks

CONTINUE = 'compaction = "never"\n'
BACKENDS = pytest.mark.parametrize("backend", ["interactions", "contents"])


def sent(gemchat: Gemchat, request: int = -1) -> list[tuple[str, bytes]]:
    """The kind and the bytes of every image and PDF in a request, in order."""
    found: list[tuple[str, bytes]] = []

    def look(value: Any) -> None:
        if isinstance(value, dict):
            data, kind = value.get("data"), value.get("mime_type") or value.get("mimeType")
            if data is not None and kind is not None:
                found.append((kind, base64.b64decode(data, validate=True)))
            for inner in value.values():
                look(inner)
        elif isinstance(value, list):
            for inner in value:
                look(inner)

    look(json.loads(gemchat.requests[request].body))
    return found


def state(gemchat: Gemchat) -> Path:
    (project,) = Path(gemchat.environ["GEMCHAT_STATE_DIR"], "projects").iterdir()
    return project


@BACKENDS
def test_an_image_goes_out_once_and_the_follow_up_does_without(gemchat: Gemchat, backend: str) -> None:
    gemchat.environ["GEMCHAT_BACKEND"] = backend
    gemchat.write("page.html", "<p>\n")
    image = gemchat.write("shot.png", pictures.png()).read_bytes()
    result = gemchat("ask", "what is wrong?", "page.html", "--context", "shot.png", "--json")
    assert (result.code, result.err) == (0, "")
    named = {"path": "shot.png", "mime_type": "image/png", "sha256": sha256(image), "bytes": len(image)}
    assert result.json["sent"]["media"] == [{**named, "tokens": 1120}]
    assert result.json["sent"]["bytes"] > len(image)
    assert result.json["sent"]["tokens"] > 1120
    assert result.json["usage"]["input"] > 1120
    assert sent(gemchat) == [("image/png", image)]
    (item,) = gemchat.mind.belief.newest["secondaryContext"]
    expected = {"path": "shot.png", "mimeType": "image/png", "sha256": sha256(image), "inline": 1}
    assert item == expected
    follow_up = gemchat("ask", "and now?", "--json").json
    assert (follow_up["sent"]["route"], follow_up["sent"]["media"]) == ("continue", [])
    assert "secondaryContext" not in gemchat.mind.belief.newest
    assert sent(gemchat) == ([] if backend == "interactions" else [("image/png", image)])
    assert gemchat.mind.contradictions == []


def test_how_the_parts_stand_in_the_requests(gemchat: Gemchat) -> None:
    gemchat.write("a.png", pictures.png())
    gemchat.write("b.pdf", pictures.pdf(2))
    gemchat("ask", "what?", "-c", "a.png", "-c", "b.pdf")
    (step,) = json.loads(gemchat.requests[-1].body)["input"]
    assert step["type"] == "user_input"
    header, *rest = step["content"]
    assert header["type"] == "text"
    assert rest == [
        {"type": "text", "text": "--- inline 1: a.png ---\n"},
        {"type": "image", "data": base64.b64encode(pictures.png()).decode(), "mime_type": "image/png"},
        {"type": "text", "text": "--- inline 2: b.pdf ---\n"},
        {
            "type": "document",
            "data": base64.b64encode(pictures.pdf(2)).decode(),
            "mime_type": "application/pdf",
        },
    ]
    gemchat("ask", "again?", "--backend", "contents")
    (content,) = json.loads(gemchat.requests[-1].body)["contents"][-1:]
    assert [part for part in content["parts"] if "inlineData" in part] == [
        {"inlineData": {"mimeType": item["mime_type"], "data": item["data"]}} for item in rest if "data" in item
    ]


def test_what_was_said_is_said_again_byte_for_byte_without_the_file(gemchat: Gemchat) -> None:
    gemchat.environ["GEMCHAT_BACKEND"] = "contents"
    gemchat.write(".gemchat.toml", CONTINUE)
    file = gemchat.write("shot.png", pictures.png())
    gemchat("ask", "what?", "-c", "shot.png")
    file.unlink()
    assert gemchat("ask", "and now?").err.startswith("gemchat: the context file shot.png is left out: ")
    first, second = (json.loads(request.body)["contents"] for request in gemchat.requests)
    assert second[: len(first)] == first
    assert sent(gemchat) == [("image/png", pictures.png())]


@BACKENDS
def test_a_changed_text_of_the_context_does_not_send_the_image_again(gemchat: Gemchat, backend: str) -> None:
    gemchat.environ["GEMCHAT_BACKEND"] = backend
    gemchat.write("shot.png", pictures.png())
    readme = gemchat.write("README", "one\n")
    gemchat("context", "add", "README", "shot.png")
    gemchat("ask", "what?")
    readme.write_text("two\n")
    result = gemchat("ask", "and now?", "--json").json
    assert (result["sent"]["context"], result["sent"]["media"]) == (True, [])
    text, image = gemchat.mind.belief.newest["secondaryContext"]
    assert text["text"] == "two\n"
    assert (image["path"], image["synchronized"]) == ("shot.png", True)
    assert len(sent(gemchat)) == (0 if backend == "interactions" else 1)
    assert gemchat.mind.contradictions == []


def test_a_renamed_image_is_not_sent_again_and_a_changed_one_is(gemchat: Gemchat) -> None:
    gemchat.write(".gemchat.toml", CONTINUE)
    file = gemchat.write("shot.png", pictures.png())
    gemchat("ask", "what?", "-c", "shot.png")
    file.rename(gemchat.root / "better.png")
    gemchat("context", "rm", "shot.png")
    gemchat("ask", "and?", "-c", "better.png")
    assert sent(gemchat) == []
    assert gemchat.mind.belief.newest["secondaryContext"][0]["path"] == "better.png"
    gemchat.write("better.png", pictures.png(1))
    gemchat("ask", "and now?")
    assert sent(gemchat) == [("image/png", pictures.png(1))]
    gemchat.write("better.png", pictures.png())
    gemchat("ask", "and back?")
    assert sent(gemchat) == []
    gemchat("ask", "anew?", "--restart")
    assert sent(gemchat) == [("image/png", pictures.png())]
    assert gemchat.mind.contradictions == []


def test_equal_files_are_sent_once(gemchat: Gemchat) -> None:
    gemchat.write("a.png", pictures.png())
    gemchat.write("b.png", pictures.png())
    gemchat("ask", "what?", "-c", "*.png")
    assert len(sent(gemchat)) == 1
    assert [item["inline"] for item in gemchat.mind.belief.newest["secondaryContext"]] == [1, 1]


def test_a_lost_conversation_is_told_again_with_its_image(gemchat: Gemchat) -> None:
    gemchat.write("shot.png", pictures.png())
    gemchat("ask", "what?", "-c", "shot.png")
    gemchat.server.forget()
    assert gemchat("ask", "and now?", "--json").json["sent"]["route"] == "restart"
    assert len(sent(gemchat)) == 1
    assert gemchat.mind.contradictions == []


def test_what_is_added_and_its_size(gemchat: Gemchat) -> None:
    gemchat.write("design.pdf", pictures.pdf(3))
    gemchat.write("shots/one.png", pictures.png(1))
    gemchat.write("shots/two.webp", pictures.webp())
    gemchat.write("shots/misnamed.txt", pictures.jpeg())
    gemchat.write("shots/anim.png", pictures.gif())
    code, out, err = gemchat("context", "add", "design.pdf", "shots/*")
    assert code == 0
    assert out.splitlines() == [
        f"design.pdf  PDF, {len(pictures.pdf(3))} bytes, about 1,680 tokens",
        f"shots/misnamed.txt  JPEG image, {len(pictures.jpeg())} bytes, about 1,120 tokens",
        f"shots/one.png  PNG image, {len(pictures.png(1))} bytes, about 1,120 tokens",
        f"shots/two.webp  WebP image, {len(pictures.webp())} bytes, about 1,120 tokens",
    ]
    total = sum(map(len, (pictures.pdf(3), pictures.jpeg(), pictures.png(1), pictures.webp())))
    assert err == (
        "gemchat: left out: shots/anim.png is a binary file\n"
        f"gemchat: 4 files of context, {total} bytes, about 5,040 tokens; sent once, and again when one changes\n"
    )
    added = gemchat("context", "add", "design.pdf", "--json").json["added"]
    size = len(pictures.pdf(3))
    assert added == [{"path": "design.pdf", "bytes": size, "tokens": 1680, "mime_type": "application/pdf"}]
    gemchat.environ["GEMCHAT_MODEL"] = "gemini-2.5-flash"
    assert gemchat("context", "add", "design.pdf", "--json").json["added"][0]["tokens"] == 3 * 258
    assert gemchat.requests == []


def test_a_directory_stands_for_its_texts(gemchat: Gemchat) -> None:
    gemchat.write("site/index.html", "<p>\n")
    gemchat.write("site/logo.png", pictures.png())
    code, out, err = gemchat("context", "add", "site")
    assert (code, out) == (0, "site/index.html  4 bytes, about 1 tokens\n")
    assert "left out: site/logo.png is a PNG image; name it, or a glob, to take it\n" in err
    assert gemchat("context", "add", "site/*.png").code == 0
    assert gemchat("context", "rm", "site/*.png").out == "removed site/logo.png\n"


def test_an_image_is_no_target(gemchat: Gemchat) -> None:
    gemchat.write("shot.png", pictures.png())
    gemchat.write("large.pdf", pictures.pdf(1) + b"\0" * 5_000_000)
    for command, name, kind in (("ask", "shot.png", "PNG image"), ("edit", "large.pdf", "PDF")):
        code, out, err = gemchat(command, "what?", name)
        assert (code, out) == (5, "")
        assert err == (
            f"gemchat: {name} is a {kind}, not text\nAn image or PDF goes along as context: --context {name}\n"
        )
    assert gemchat.requests == []


def test_another_binary_file_is_refused_and_the_kinds_are_named(gemchat: Gemchat) -> None:
    gemchat.write("anim.gif", pictures.gif())
    for arguments in (["ask", "x", "anim.gif"], ["ask", "x", "-c", "anim.gif"], ["context", "add", "anim.gif"]):
        code, out, err = gemchat(*arguments)
        assert (code, out) == (5, "")
        assert "anim.gif is a binary file" in err
        assert "PNG, JPEG, WebP, HEIC and HEIF images, and PDFs" in err


def test_too_large_for_a_request(gemchat: Gemchat) -> None:
    gemchat.write("huge.png", pictures.png() + b"\0" * FILE_LIMIT)
    size = len(pictures.png()) + FILE_LIMIT
    for arguments in (["ask", "what?", "-c", "huge.png"], ["context", "add", "huge.png"]):
        code, out, err = gemchat(*arguments)
        assert (code, out) == (5, "")
        assert f"huge.png is too large: it has {size:,} bytes" in err
    for number in range(2):
        gemchat.write(f"{number}.png", pictures.png(number) + b"\0" * 8_000_000)
    assert "2 files with 16,000," in gemchat("context", "add", "*.png", "--json").err
    assert gemchat("context", "add", "0.png").code == 0
    assert gemchat("context", "add", "1.png").code == 0
    for arguments in (["ask", "what?"], ["ask", "what?", "--dry-run"]):
        code, out, err = gemchat(*arguments)
        assert (code, out) == (5, "")
        assert "the request would have 21,3" in err
        assert "0.png (PNG image) with 8,000,0" in err
        assert "gemchat context rm 0.png" in err
    assert gemchat.requests == []
    assert gemchat("context").code == 0
    gemchat("context", "rm", "1.png")
    assert gemchat("ask", "what?").code == 0


def test_what_was_said_before_may_be_too_large_together(gemchat: Gemchat) -> None:
    gemchat.environ["GEMCHAT_BACKEND"] = "contents"
    gemchat.write(".gemchat.toml", CONTINUE)
    gemchat.write("shot.png", pictures.png(0) + b"\0" * 9_000_000)
    assert gemchat("ask", "what?", "-c", "shot.png").code == 0
    gemchat("context", "rm", "shot.png")
    gemchat.write("shot.png", pictures.png(1) + b"\0" * 8_000_000)
    result = gemchat("ask", "what?", "-c", "shot.png")
    assert (result.code, result.out) == (5, "")
    assert "--restart" in result.err
    assert gemchat("ask", "what?", "-c", "shot.png", "--restart").code == 0
    assert len(sent(gemchat)) == 1


def test_the_model_on_this_machine_sees_no_images(gemchat: Gemchat) -> None:
    gemchat.write("shot.png", pictures.png())
    gemchat.write("app.py", "x = 1\n")
    gemchat("context", "add", "shot.png")
    for extra in ([], ["--dry-run"]):
        code, out, err = gemchat("ask", "what?", "app.py", "--model", "local", *extra)
        assert (code, out) == (2, "")
        assert err == (
            "gemchat: the model on this machine cannot see shot.png (PNG image)\n"
            "Use a Gemini model (--model), or take it out of the context: gemchat context rm shot.png\n"
        )
    assert gemchat("log").err == "gemchat: there are no turns yet\n"
    assert gemchat("context", "--model", "local").code == 0
    assert gemchat.requests == []
    assert gemchat("ask", "what?", "app.py").code == 0


def test_how_it_is_shown(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n")
    image = pictures.png()
    gemchat.write("shot\x1b[31m.png", image)
    named = f"shot\\x1b[31m.png, PNG image, {len(image)} bytes, about 1,120 tokens"
    gemchat("context", "add", "shot*.png")
    assert f"          {named}: not known to the model, goes along next\n" in gemchat("context").out
    assert f"  {named}\n" in gemchat("ask", "what?", "app.py", "--dry-run").out
    gemchat.mind.replies = ["It is grey.", "Still."]
    assert ", with shot\\x1b[31m.png; " in gemchat("ask", "what?", "app.py").err
    assert f"          {named}: held since turn 1\n" in gemchat("context").out
    gemchat("ask", "and?")
    assert ", with shot\\x1b[31m.png; " in gemchat("log").out
    assert f"sent: {named}\n" in gemchat("log", "-v").out
    assert f"sent: {named}\n" in gemchat("show", "1").out
    assert "shot" not in gemchat("show", "2").out
    assert "with `shot\\x1b[31m.png` (PNG image)" in gemchat("export").out
    (entry,) = gemchat("context", "--json").json["media"]
    assert (entry["path"], entry["since"], entry["tokens"]) == ("shot\x1b[31m.png", "1", 1120)
    assert gemchat("show", "1", "--json").json["sent"]["media"][0]["sha256"] == sha256(image)
    assert "\x1b" not in "".join(gemchat(*run).out for run in (["log", "-v"], ["show", "1"], ["context"]))


def test_tokens_count_in_the_comparison_and_on_the_bill(gemchat: Gemchat) -> None:
    gemchat.write("app.py", "x = 1\n")
    gemchat.write("design.pdf", pictures.pdf(100))
    gemchat("ask", "what?", "app.py", "-c", "design.pdf")
    following = gemchat("ask", "and?", "--dry-run", "--json").json["sent"]
    assert following["comparison"]["chain"] > 56_000
    assert following["comparison"]["rewritten"] > 56_000
    assert following["comparison"]["payload"] < 1_000
    assert following["tokens"] < 1_000
    gemchat("ask", "and?")
    first, second = gemchat("usage", "--json").json["turns"]
    assert first["usage"]["input"] > 56_000
    assert second["usage"]["cached"] > 56_000
    assert second["again"]["input"] > 56_000
    assert gemchat("context", "--json").json["tokens"] > 56_000


def test_stored_bytes_are_kept_as_long_as_a_session_needs_them(gemchat: Gemchat) -> None:
    """They are there once, and neither the session's file nor what was said repeats them."""
    file = gemchat.write("shot.png", pictures.png() + os.urandom(100_000))
    image = file.read_bytes()
    for question in ("what?", "and?"):
        assert gemchat("ask", question, "-c", "shot.png").code == 0
    file.unlink()
    blobs = state(gemchat) / "blobs"
    stored = blobs / sha256(image)
    assert stored.read_bytes() == image
    others = [*blobs.iterdir(), *(state(gemchat) / "sessions").iterdir()]
    assert sum(path.stat().st_size for path in others if path != stored) < 20_000
    old = time.time() - 100_000
    for path in blobs.iterdir():
        os.utime(path, (old, old))
    assert gemchat("doctor", "--fix").code == 0
    assert stored.read_bytes() == image
    gemchat("new", "empty")
    assert gemchat("sessions", "rm", "main", "--keep-remote").code == 0
    for path in blobs.iterdir():
        os.utime(path, (old, old))
    gemchat("doctor", "--fix")
    assert not stored.exists()


def test_doctor_misses_a_stored_image_and_reads_it_again(gemchat: Gemchat) -> None:
    file = gemchat.write("shot.png", pictures.png())
    gemchat("ask", "what?", "-c", "shot.png")
    (state(gemchat) / "blobs" / sha256(pictures.png())).unlink()
    assert "problem  blobs: session main: shot.png" in gemchat("doctor").out
    data = file.read_bytes()
    file.write_bytes(pictures.png(1))
    assert "problem  blobs: session main: shot.png" in gemchat("doctor", "--fix").out
    file.write_bytes(data)
    assert "fixed    blobs: shot.png" in gemchat("doctor", "--fix").out
    assert "problem  blobs" not in gemchat("doctor").out


def test_what_was_said_and_got_lost(gemchat: Gemchat) -> None:
    gemchat.environ["GEMCHAT_BACKEND"] = "contents"
    gemchat.write(".gemchat.toml", CONTINUE)
    gemchat.write("shot.png", pictures.png())
    gemchat("ask", "what?", "-c", "shot.png")
    gemchat("context", "rm", "shot.png")
    (state(gemchat) / "blobs" / sha256(pictures.png())).write_bytes(b"damaged")
    result = gemchat("ask", "and?")
    assert (result.code, result.out) == (4, "")
    assert "--restart" in result.err
    assert gemchat("ask", "and?", "--restart").code == 0


def test_credentials_are_searched_for_in_texts_only(gemchat: Gemchat) -> None:
    key = b"AI" + b"za" + b"aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA-_9"
    gemchat.write("shot.png", pictures.png() + key)
    assert gemchat("ask", "what?", "-c", "shot.png").code == 0


def test_a_change_of_model_sends_it_again_and_weighs_it_anew(gemchat: Gemchat) -> None:
    gemchat.write("shot.png", pictures.png())
    gemchat("ask", "what?", "-c", "shot.png")
    result = gemchat("ask", "and?", "--model", "gemini-2.5-flash", "--json").json
    assert [item["tokens"] for item in result["sent"]["media"]] == [258]


def test_the_log_has_the_size_and_no_name(gemchat: Gemchat) -> None:
    gemchat.write("secret-shot.png", pictures.png() + b"\0" * 50_000)
    gemchat("ask", "what?", "-c", "secret-shot.png")
    (line,) = Path(gemchat.environ["GEMCHAT_STATE_DIR"], "gemchat.log").read_text().splitlines()
    size = int(line.split(" messages, ")[1].split(" bytes")[0])
    assert size > 50_000
    assert "secret" not in line


def test_the_commands_of_the_readme(gemchat: Gemchat) -> None:
    gemchat.write("page.html", "<p>\n")
    gemchat.write("shot.png", pictures.png())
    gemchat.write("design.pdf", pictures.pdf(2))
    gemchat.write("shots/one.png", pictures.png(1))
    (block,) = blocks("Images and PDFs")
    for line in block.splitlines():
        program, *arguments = shlex.split(line, comments=True)
        assert program == "gemchat"
        assert gemchat(*arguments).code == 0
    held = [(item["path"], item["since"]) for item in gemchat("context", "--json").json["media"]]
    assert held == [("shot.png", "1"), ("design.pdf", None), ("shots/one.png", None)]
