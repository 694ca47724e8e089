"""The author of a plan: as the platform or the broker names them, else as this machine does, which proves nothing."""

from __future__ import annotations

import getpass
import os
import platform

BROKER, PLATFORM = "User:", "databricks:"
"""The prefix of names that another system vouches for."""


def author(named: str | None = None) -> str:
    """`User:alice (login@host)`, or `login@host` of somebody whom nobody else has named.

    A login without a name is its number.
    """
    try:
        login = getpass.getuser()
    except (KeyError, OSError):
        login = f"uid {os.getuid()}"
    here = f"{login}@{platform.node() or 'localhost'}"
    return f"{named} ({here})" if named else here


def named_by_others(author: str) -> str | None:
    """The part of an author that the platform or the broker gave."""
    return author.rpartition(" (")[0] or author if author.startswith((BROKER, PLATFORM)) else None
