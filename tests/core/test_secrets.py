from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemchat.core.contents import Delta, Target, lift, to_json, user_payload
from gemchat.core.diff import unified
from gemchat.core.model import Message
from gemchat.core.screening import Leak, leaks, texts
from gemchat.core.secrets import Finding, find, none_is_possible, redacted

ROOT = Path(__file__).parent.parent.parent
MIXED = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA"  # joined at run time, so that no scanner takes these for real ones
GOOGLE = "AI" + "za" + MIXED + "-_9"
PEM = "-----BEGIN " + "PRIVATE KEY-----"

FORMS = [
    ("a private key", f"{PEM}\n{MIXED * 2}\n-----END PRIVATE KEY-----"),
    ("a private key", PEM.replace("PRI", "OPENSSH PRI") + f"\\n{MIXED * 2}"),
    ("an AWS access key", "AK" + "IA" + "Q3EGRIVK5WNZ7LFB"),
    ("an AWS secret key", f'aws_secret_access_key = "{MIXED}/abcdEF+"'),
    ("a GitHub token", "gh" + "p_" + MIXED + "Bc1d"),
    ("a GitHub token", "github" + "_pat_" + MIXED[:22] + "_" + (MIXED * 2)[:59]),
    ("a GitLab token", "gl" + "pat-" + MIXED[:20]),
    ("a Google API key", GOOGLE),
    ("a Google API key", "AQ" + ".Ab8" + MIXED + MIXED[:10]),
    ("a Google client secret", "GOC" + "SPX-" + MIXED[:28]),
    ("a Slack token", "xo" + "xb-123456789012-" + MIXED),
    ("a Slack webhook", "https://hooks.slack.com/" + "services/T12345678/B12345678/" + MIXED[:24]),
    ("a Stripe key", "sk" + "_live_" + MIXED[:24]),
    ("an npm token", "np" + "m_" + MIXED + "aB3d"),
    ("a PyPI token", "py" + "pi-AgEIcHlwaS5vcmc" + MIXED * 2),
    ("an OpenAI key", "sk" + "-proj-" + MIXED[:20] + "T3Blbk" + "FJ" + MIXED[:20]),
    ("an Anthropic key", "sk" + "-ant-api03-" + MIXED * 3),
    ("a Hugging Face token", "h" + "f_" + MIXED + "aB"),
    ("a SendGrid key", "S" + "G." + MIXED[:22] + "." + (MIXED * 2)[:43]),
    ("a DigitalOcean token", "do" + "p_v1_" + "0123456789abcdef" * 4),
    ("an Azure storage key", "Account" + "Key=" + (MIXED * 3)[:86] + "=="),
    ("a signed token (JWT)", "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0In0." + MIXED),
]


@pytest.mark.parametrize(("kind", "text"), FORMS)
def test_each_form_is_found_where_it_is(kind: str, text: str) -> None:
    (found,) = find(f"first\nkey: {text}\nlast\n")
    assert (found.kind, found.line) == (kind, 2)


@pytest.mark.parametrize(("kind", "text"), [*FORMS, ("own", MIXED)])
def test_where_one_is_it_is_possible(kind: str, text: str) -> None:
    own = [MIXED] if kind == "own" else []
    assert not none_is_possible(f"+first\n+key: {text}\n", own)
    assert none_is_possible("+first\n+key: none\n", own)


def test_the_name_of_a_secret_is_known_in_any_case() -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "awsSecretKey", "aws_Secret_Key"):
        assert [found.kind for found in find(f'{name}="{MIXED}/abcdEF+"')] == ["an AWS secret key"]


@pytest.mark.parametrize(
    "text",
    [
        "AIza" + "X" * 35,
        "ghp_" + "x" * 36,
        "AKIAIOSFODNN7EXAMPLE",
        f"{PEM}\n...\n-----END PRIVATE KEY-----",
        "sk_test_" + MIXED[:24],
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "c0ffee" * 10,
        "sha512-" + MIXED * 2,
        "npm_config_registry_and_other_settings",
        "def gho_st(): return pypi-AgE",
        "my" + GOOGLE[:20],
        "550e8400-e29b-41d4-a716-446655440000",
    ],
)
def test_what_only_resembles_one_is_left_alone(text: str) -> None:
    assert find(text) == []


def test_nothing_is_found_in_the_sources_of_this_project() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    files = [ROOT / name for name in listed.decode().split("\0") if name]
    assert len(files) > 100
    texts = {str(file): file.read_bytes().decode("utf-8", "replace") for file in files if file.is_file()}
    assert {name: found for name, text in texts.items() if (found := find(text))} == {}


@given(st.text())
def test_ordinary_text_has_none(text: str) -> None:
    assert find(text) == []


def test_a_key_of_ones_own_is_found_in_any_form() -> None:
    assert find(f"a\nb={MIXED}", [MIXED]) == [Finding(kind="your own API key", line=2, end=2)]
    assert find("short", ["short"]) == []
    assert find(f"{GOOGLE}", [GOOGLE]) == [Finding(kind="a Google API key", line=1, end=1)]


def test_a_private_key_spans_its_lines() -> None:
    text = f"x\n{PEM}\n{MIXED * 2}\n{MIXED}\n-----END PRIVATE KEY-----\n"
    assert find(text) == [Finding(kind="a private key", line=2, end=5)]


def test_a_text_is_cleared_of_keys() -> None:
    assert redacted(f"bad key {MIXED}!", [MIXED, "", "bad"]) == "bad key [API key]!"


def message(*targets: Target, prompt: str = "hello", **extra: object) -> Message:
    return lift(Message(role="user", parts=(to_json(user_payload("ask", prompt, targets or [Target()], extra)),)))


def test_everything_that_is_sent_is_looked_at() -> None:
    sent = message(
        Target(path="a.py", text=f"x\n{GOOGLE}\n"),
        Target(path="b.py", synchronized=True),
        prompt=f"my key is {GOOGLE}",
        secondaryContext=[{"path": "c.txt", "text": f"\n\n{GOOGLE}"}],
        attachments=[{"name": "stdin", "text": GOOGLE}, {"name": f"$ curl {GOOGLE}", "text": f"ok\n{GOOGLE}"}],
    )
    kind = "a Google API key"
    assert leaks(sent) == [
        Leak(where="the prompt", line=1, kind=kind),
        Leak(where="a.py", line=2, kind=kind),
        Leak(where="c.txt", line=3, kind=kind),
        Leak(where="stdin", line=1, kind=kind),
        Leak(where="the name of an attachment", line=1, kind=kind),
        Leak(where="an attachment", line=2, kind=kind),
    ]
    assert leaks(message()) == []
    assert texts(sent)[1] == ("a.py", f"x\n{GOOGLE}\n")


def test_of_a_diff_only_the_added_lines_are_looked_at() -> None:
    def delta(old: str, new: str) -> Message:
        diff = unified(old, new, old_name="a.py", new_name="a.py")
        return message(Target(path="a.py", delta=Delta(before="1", after="2", diff=diff)))

    lines = "".join(f"line {number}\n" for number in range(20))
    held = f"{lines}{GOOGLE}\n"
    assert leaks(delta(held, f"{held}more\n")) == []
    assert leaks(delta(held, lines)) == []
    (leak,) = leaks(delta(lines, held))
    assert (leak.where, leak.line) == ("a.py", 21)
    block = f"{PEM}\n{MIXED * 2}\nend\n-----END PRIVATE KEY-----\n"
    assert leaks(delta(f"{lines}{block}", f"{lines}{block.replace('end', 'END')}"))[0].line == 21


@pytest.mark.parametrize("piece", ["sk-", "eyJ-", "eyJaaaaaaaaaa.", "xoxa-", "ghp_", "AKIA", "SG."])
def test_what_nearly_is_a_credential_again_and_again_is_read_once(piece: str) -> None:
    """In time that grew with the square of its length this would not end."""
    assert find(f"{piece}T3BlbkFJ {piece * 200_000} eyJ T3BlbkFJ") == []


def test_of_very_many_credentials_enough_are_found() -> None:
    assert len(find(("AKIA" + "ABCDEFGH23456777\n") * 100_000)) == 100
