"""Who makes a plan, as this machine names them: `login@host`. A statement, not a proof."""

from __future__ import annotations

import getpass
import os
import platform


def author() -> str:
    """`login@host`; a login without a name is its number."""
    try:
        login = getpass.getuser()
    except (KeyError, OSError):
        login = f"uid {os.getuid()}"
    return f"{login}@{platform.node() or 'localhost'}"
