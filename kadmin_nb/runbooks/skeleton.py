"""A new runbook: a copy of `skeleton.ipynb` that works as it stands."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .. import files
from ..errors import UsageError, printable

SKELETON = Path(__file__).with_name("skeleton.ipynb")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def new(name: str, folder: str | os.PathLike[str] | None = None) -> Path:
    """Write a runbook that works: the tagged parameters, preflight, plan, gate and record, for you to change.

    Parameters
    ----------
    name
        Letters, digits, `_` and `-`; the file is `NAME.ipynb`.
    folder
        Where; the working folder unless given.

    Raises
    ------
    UsageError
        No such name; a file is there already, or a runbook that comes with kadmin_nb is called so.
    NotFound, Invalid
        It cannot be written there.
    """
    from .catalogue import runbooks

    if not _NAME.fullmatch(name):
        raise UsageError(printable(f"{name} is not a runbook name"), hint="Letters, digits, _ and -: restart_weekly.")
    if name in (runbook.name for runbook in runbooks()):
        raise UsageError(f"{name} comes with kadmin_nb already", hint=f"runbook show {name} says what it takes.")
    place = Path(folder or Path.cwd()) / f"{name}.ipynb"
    if os.path.lexists(place):
        raise UsageError(f"{place} is there already", hint="It was left as it is. Choose another name.")
    files.write(place, SKELETON.read_text(encoding="utf-8").replace("NAME", name))
    return place
