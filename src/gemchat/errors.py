"""Every failure gemchat reports on purpose, and the exit code it ends with. Imports nothing.

    GemchatError
    ├── UsageError            2   the command line makes no sense
    ├── ConfigError           3   configuration, no or bad key
    │   ├── MissingKey
    │   └── RejectedKey
    ├── SessionError          4   the conversation's own file
    │   ├── SessionLocked
    │   ├── SessionCorrupt
    │   ├── SessionTooNew
    │   └── SessionUnknown
    ├── WorkspaceError        5   the user's files
    │   ├── FileMissing
    │   ├── NothingPending
    │   ├── NothingToUndo
    │   ├── EditConflict
    │   ├── OutsideProject
    â   âââ SecretFound
    â   âââ TooLarge
    â   âââ NotText
    â   âââ OutputLost                what was to be printed could not be
    ├── RequestRefused        6   the service said no and will say no again
    │   ├── ReplyBlocked
    │   └── ChainLost             the service no longer knows the conversation (handled, never shown)
    ├── Unavailable           7   the service could not be reached, or answered nonsense
    └── NoUsableReply         8   the reply arrived, but nothing may be made of it
        ├── ReplyTruncated
        └── ProposalRejected

`message` says what and where, `hint` what to do about it. Both are plain text.

`Ended` is no failure: somebody asked the process to end.
"""

from __future__ import annotations


class GemchatError(Exception):
    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def kind(self) -> str:
        return type(self).__name__


class UsageError(GemchatError):
    exit_code = 2


class ConfigError(GemchatError):
    exit_code = 3


class MissingKey(ConfigError):
    pass


class RejectedKey(ConfigError):
    pass


class SessionError(GemchatError):
    exit_code = 4


class SessionLocked(SessionError):
    pass


class SessionCorrupt(SessionError):
    pass


class SessionTooNew(SessionError):
    pass


class SessionUnknown(SessionError):
    pass


class WorkspaceError(GemchatError):
    exit_code = 5


class FileMissing(WorkspaceError):
    pass


class NothingPending(WorkspaceError):
    pass


class NothingToUndo(WorkspaceError):
    pass


class EditConflict(WorkspaceError):
    pass


class OutsideProject(WorkspaceError):
    pass


class SecretFound(WorkspaceError):
    pass


class TooLarge(WorkspaceError):
    pass


class NotText(WorkspaceError):
    pass


class OutputLost(WorkspaceError):
    pass


class RequestRefused(GemchatError):
    exit_code = 6


class ReplyBlocked(RequestRefused):
    pass


class ChainLost(RequestRefused):
    pass


class Unavailable(GemchatError):
    """`passing` says that the same request may be sent again: it was not carried out, and may be next time.

    `retry_after` is for how many seconds the service wants to be left alone, if it said so.
    """

    exit_code = 7

    def __init__(
        self, message: str, hint: str = "", *, passing: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message, hint)
        self.passing = passing
        self.retry_after = retry_after


class NoUsableReply(GemchatError):
    exit_code = 8


class ReplyTruncated(NoUsableReply):
    pass


class ProposalRejected(NoUsableReply):
    pass


class Ended(SystemExit):
    """A signal other than Ctrl-C asked the process to end. Event loops swallow other exceptions but this one."""

    def __init__(self, signal: int) -> None:
        self.exit_code = 128 + signal
        super().__init__(self.exit_code)
