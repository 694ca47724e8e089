"""Small files, read whole or refused in one line."""

from __future__ import annotations

from pathlib import Path

from ..errors import KadminError, NotFound, UsageError


def read(path: Path, what: str, limit: int) -> bytes:
    """The bytes of a regular file of at most `limit` bytes; `what` says in errors what it should be.

    Only regular files: a pipe would make us wait, a device would never end.

    Raises
    ------
    NotFound, UsageError
        No such file; not a regular one, not readable, too big.
    """
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is not a file, so it cannot be {what}")
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(path, what, error) from None
    if len(content) > limit:
        raise UsageError(f"{path} is larger than {limit:,} bytes, so it cannot be {what}")
    return content


def _unreadable(path: Path, what: str, error: OSError | ValueError) -> KadminError:
    if isinstance(error, FileNotFoundError):
        return NotFound(f"{path}, {what}, does not exist")
    reason = error.strerror if isinstance(error, OSError) else "not a path"
    return UsageError(f"{path}, {what}, cannot be read: {reason}")
