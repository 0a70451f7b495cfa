"""Signing in to Vertex AI: Google Cloud's application default credentials in place of a key.

google.auth is imported only here and only when it is used. Credentials are fetched at once, so that what is wrong
with them is known before anything is sent.
"""

from __future__ import annotations

import logging
import re
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gemchat.errors import ConfigError, MissingKey, RejectedKey, Unavailable
from gemchat.gemini.errors import CHECK_NETWORK, one_line

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
SIGN_IN = "Run: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS."
_PART = re.compile(r"[a-z0-9][a-z0-9.:-]*")  # becomes a part of an address


@dataclass(frozen=True)
class Account:
    """Who asks, and in which project and region."""

    project: str
    location: str
    credentials: Credentials = field(repr=False)


def sign_in(project: str | None, location: str) -> Account:
    """Without a project it is that of the credentials. Raises from the error tree."""
    for name, value in (("project", project), ("location", location)):
        if value is not None and not _PART.fullmatch(value):
            raise ConfigError(
                one_line(f"{name} {value} is none of Google Cloud's"), f"See: gemchat config get {name}"
            )
    credentials, of_credentials = _credentials()
    project = project or of_credentials
    if not project:
        raise ConfigError("there is no Google Cloud project", "Name it: gemchat config set project ID")
    return Account(project, location, credentials)


def _credentials() -> tuple[Credentials, str | None]:
    import google.auth
    from google.auth import exceptions
    from google.auth.transport.requests import Request

    _silence()
    try:
        credentials, project = google.auth.default(scopes=[SCOPE])
        credentials.refresh(Request())  # type: ignore[no-untyped-call]
    except exceptions.DefaultCredentialsError as error:
        raise MissingKey(_line("there are no Google Cloud credentials", error), SIGN_IN) from None
    except exceptions.TransportError as error:
        raise Unavailable(_line("Google Cloud cannot be reached to sign in", error), CHECK_NETWORK) from None
    except (exceptions.GoogleAuthError, ValueError) as error:
        raise RejectedKey(_line("Google Cloud does not accept the credentials", error), SIGN_IN) from None
    return credentials, project


def _line(start: str, error: Exception) -> str:
    """What its exceptions say comes first, the whole body of an answer after it."""
    return one_line(f"{start}: {error.args[0] if error.args else type(error).__name__}")


def _silence() -> None:
    """What matters of its remarks is raised as well."""
    logger = logging.getLogger("google.auth")
    logger.handlers = [logging.NullHandler()]
    logger.propagate = False
    warnings.filterwarnings("ignore", module=r"google\.auth(\.|$)")
