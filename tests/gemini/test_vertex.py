"""Vertex AI over the loopback: a service account signs in, and requests carry its token instead of a key.

The credentials are a service account's file, whose own address for tokens is the loopback server. Google Cloud
itself, user credentials and the metadata server of a virtual machine are not tested.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from msgspec.structs import replace

from gemchat.cli.app import run
from gemchat.cli.surroundings import Surroundings
from gemchat.core.model import Backend
from gemchat.errors import ConfigError, GemchatError, MissingKey, RejectedKey, Unavailable
from gemchat.gemini import connect_vertex
from gemchat.gemini.client import build_client
from gemchat.gemini.vertex import sign_in

from .loopback import Service, as_events, as_json
from .script import REQUEST, assert_fit_to_show, chunks, collect, events, failure
from .test_inline import BYTES, CONTENTS_PARTS, INTERACTIONS_CONTENT, SHOWN

TOKEN = "ya29.not-a-real-token"
SIGNED_IN = as_json({"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"})


@pytest.fixture(scope="module")
def private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(*pem).decode()


@pytest.fixture(autouse=True)
def credentials(
    service: Service, private_key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Application default credentials as the environment names them."""
    fields = {
        "type": "service_account",
        "project_id": "own-project",
        "private_key_id": "1",
        "private_key": private_key,
        "client_email": "gemchat@own-project.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": f"{service.url}/token",
    }
    write(tmp_path, fields)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "adc.json"))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    return fields


def write(directory: Path, fields: dict[str, Any]) -> None:
    (directory / "adc.json").write_text(json.dumps(fields))


@pytest.mark.parametrize(
    ("backend", "answer", "path"),
    [
        ("contents", chunks("ok"), "publishers/google/models/gemini-x:streamGenerateContent?alt=sse"),
        ("interactions", events("ok"), "interactions"),
    ],
)
def test_a_request_goes_to_the_project_with_a_token_and_without_a_key(
    service: Service, monkeypatch: pytest.MonkeyPatch, backend: Backend, answer: list[object], path: str
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "a-key")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "another")
    service.enqueue(SIGNED_IN, as_events(answer))
    with connect_vertex(backend, "my-project", "europe-west1", base_url=service.url) as transport:
        assert collect(transport, REQUEST)[1].text == "ok"
        assert TOKEN not in repr(transport)
    token, request = service.seen
    assert token.path == "/token"
    headers = {name.lower(): text for name, text in request.headers.items()}
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert "x-goog-api-key" not in headers
    assert request.path == f"/v1beta1/projects/my-project/locations/europe-west1/{path}"


@pytest.mark.parametrize(
    ("backend", "answer", "expected"),
    [("contents", chunks("ok"), CONTENTS_PARTS), ("interactions", events("ok"), INTERACTIONS_CONTENT)],
)
def test_images_and_pdfs_go_the_same_way(
    service: Service, backend: Backend, answer: list[object], expected: list[object]
) -> None:
    service.enqueue(SIGNED_IN, as_events(answer))
    with connect_vertex(backend, "p", "global", base_url=service.url) as transport:
        collect(transport, replace(REQUEST, messages=(SHOWN,), media=BYTES))
    body = service.seen[1].body
    assert expected in (body.get("contents", [{}])[0].get("parts"), body.get("input", [{}])[0].get("content"))


def test_the_project_is_that_of_the_credentials_unless_named(service: Service) -> None:
    service.enqueue(SIGNED_IN, SIGNED_IN)
    assert sign_in(None, "global").project == "own-project"
    account = sign_in("mine", "global")
    assert account.project == "mine"
    assert TOKEN not in repr(account)


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("global", "https://aiplatform.googleapis.com"),
        ("us-central1", "https://us-central1-aiplatform.googleapis.com"),
    ],
)
def test_its_own_address_follows_the_region_whatever_the_environment_says(
    service: Service, monkeypatch: pytest.MonkeyPatch, location: str, host: str
) -> None:
    monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    service.enqueue(SIGNED_IN)
    client: Any = build_client(sign_in("p", location))
    assert client._api_client._http_options.base_url.rstrip("/") == host
    client.close()


def test_what_the_service_refuses_does_not_show_the_token(service: Service) -> None:
    service.enqueue(SIGNED_IN, as_json({"error": {"code": 403, "message": f"no {TOKEN}"}}, 403))
    with connect_vertex("contents", "p", "global", base_url=service.url) as transport:
        _, error = failure(transport, REQUEST)
    assert type(error) is RejectedKey
    assert TOKEN not in error.message


def refusal(project: str | None = None, location: str = "global") -> GemchatError:
    with pytest.raises(GemchatError) as caught:
        sign_in(project, location)
    assert_fit_to_show(caught.value)
    assert caught.value.hint
    return caught.value


def test_without_credentials_the_way_to_them_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS")
    error = refusal()
    assert type(error) is MissingKey
    assert "gcloud auth application-default login" in error.hint


def test_a_file_that_is_none_of_credentials(tmp_path: Path, credentials: dict[str, Any]) -> None:
    write(tmp_path, {"type": "nonsense"})
    assert type(refusal()) is MissingKey
    write(tmp_path, credentials | {"private_key": "nonsense"})
    assert type(refusal()) is MissingKey
    (tmp_path / "adc.json").unlink()
    assert type(refusal()) is MissingKey


def test_credentials_that_are_not_accepted(service: Service) -> None:
    service.enqueue(as_json({"error": "invalid_grant", "error_description": "Account\nis gone."}, 400))
    error = refusal()
    assert type(error) is RejectedKey
    assert "Account is gone." in error.message


def test_a_service_of_tokens_that_is_not_there(tmp_path: Path, credentials: dict[str, Any]) -> None:
    write(tmp_path, credentials | {"token_uri": "http://127.0.0.1:9/token"})
    assert type(refusal()) is Unavailable


def test_no_project_at_all(
    service: Service, tmp_path: Path, credentials: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    del credentials["project_id"]
    write(tmp_path, credentials)
    service.enqueue(SIGNED_IN)
    assert "gemchat config set project" in refusal().hint
    assert not [record for record in caplog.records if record.name.startswith("google")]


@pytest.mark.parametrize(("project", "location"), [("p/../q", "global"), ("p", "evil.example/"), ("p", "")])
def test_names_that_would_lead_elsewhere(service: Service, project: str, location: str) -> None:
    error = refusal(project, location)
    assert type(error) is ConfigError
    assert service.seen == []


def test_google_auth_is_loaded_only_then() -> None:
    code = "import sys, gemchat.gemini.vertex; print([name for name in sys.modules if name.startswith('google')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_settings_lead_there(
    service: Service, project_root: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.toml").write_text(
        f'vertex = true\nproject = "mine"\nlocation = "europe-west4"\nbase_url = "{service.url}"\n'
    )
    environ = {"GEMCHAT_CONFIG_DIR": str(tmp_path), "GEMCHAT_STATE_DIR": str(tmp_path / "state")}
    here = Surroundings(environ=environ, directory=project_root, has_local=lambda _: True)
    service.enqueue(SIGNED_IN, as_events(chunks("Hello.")))
    assert run(["ask", "hello"], here) == 0
    assert capfd.readouterr().out == "Hello.\n"
    assert service.seen[1].path.startswith(
        "/v1beta1/projects/mine/locations/europe-west4/publishers/google/models/"
    )
    assert json.dumps(service.seen[1].body).count("hello") == 1
