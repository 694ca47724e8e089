"""Where we are: the folders for what kadmin_nb downloads, what it runs, and its journal; and whether on Databricks."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

from platformdirs.unix import Unix

from . import files
from .errors import NotFound

RUNBOOKS = (Path(__file__).parent / "runbooks" / "shipped", Path(__file__).parents[1] / "notebooks" / "runbooks")
"""The folders of runbooks: in the installed wheel, and in the checkout."""


def runbook(name: str) -> Path:
    """The notebook of a runbook that comes with kadmin_nb."""
    return next((folder for folder in RUNBOOKS if folder.is_dir()), RUNBOOKS[0]) / f"{name}.ipynb"


DATABRICKS = "DATABRICKS_RUNTIME_VERSION"
"""Set on the clusters of Databricks (`17.3`) and on its serverless compute (`client.4.9`), and nowhere else."""

VOLUMES = "/Volumes"
"""Below it are files that outlive its compute. Whole ones are written there; nothing is appended."""


def is_databricks() -> bool:
    """True if this process runs on Databricks' own compute; Databricks Connect on a laptop does not."""
    return bool(os.environ.get(DATABRICKS))


def cache_dir() -> Path:
    """The folder of downloads: `$KADMIN_CACHE`, `$XDG_CACHE_HOME/kadmin-nb`, `~/.cache/kadmin-nb`."""
    return _place("KADMIN_CACHE", "XDG_CACHE_HOME", lambda user: user.user_cache_path)


def state_dir() -> Path:
    """The folder of runs and journals: `$KADMIN_STATE`, `$XDG_STATE_HOME/kadmin-nb`, `~/.local/state/kadmin-nb`."""
    return _place("KADMIN_STATE", "XDG_STATE_HOME", lambda user: user.user_state_path)


def journal_dir() -> Path:
    """The folder of journals, `journal` in the state folder.

    On Databricks that is the disk of the compute, which goes with it, unless `$KADMIN_STATE` names a folder of a
    Volume; a warning says so, once.
    """
    folder = state_dir() / "journal"
    if is_databricks() and not folder.is_relative_to(VOLUMES):
        warnings.warn(_LOST.format(folder=folder, volumes=VOLUMES), stacklevel=2)
    return folder


_LOST = (
    "{folder} is on the disk of this compute, so its journals are lost when it ends; "
    "os.environ['KADMIN_STATE'] = '{volumes}/CATALOG/SCHEMA/VOLUME/kadmin-nb' keeps them"
)


def _place(ours: str, xdg: str, of_user: Callable[[Unix], Path]) -> Path:
    if named := os.environ.get(ours):
        return files.expanded(named).absolute()
    home = files.home()
    if not os.path.isabs(os.environ.get(xdg, "")) and (home is None or not home.is_absolute()):
        reason = "HOME is not set" if home is None else f"HOME is {str(home)!r}, which is not an absolute path"
        raise NotFound(
            f"no home folder to keep files in: {reason}",
            hint=f"Set {ours}=/a/folder to a folder that you can write to.",
        )
    return of_user(Unix("kadmin-nb", appauthor=False)).absolute()
