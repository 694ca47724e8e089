"""Local Kafkas that were started, a folder for each: written by `kadmin_nb.local`, read by whoever looks for a log.

<state>/local/NAME/run.json          what was started (no secret in it)
                   node-1/           server.log and the request log of a node
"""

from __future__ import annotations

import dataclasses
import json
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from . import documents, files
from .errors import UsageError
from .paths import state_dir

ADMIN = "admin"
"""The user that may do everything, where there are logins."""


@dataclass(frozen=True, slots=True)
class Run:
    """A local Kafka that was started. `ports` maps listener names to ports, a mapping a node; the clients' is first."""

    name: str
    run_id: str
    cluster_id: str
    version: str
    secure: bool
    outlives: bool
    started_at: str
    command: tuple[str, ...]
    node_flags: tuple[str, ...]
    classpath: str
    ports: tuple[dict[str, int], ...]

    def save(self, folder: Path) -> None:
        files.write(folder / "run.json", json.dumps(dataclasses.asdict(self), indent=2))


def run_folder(name: str) -> Path:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", name):
        raise UsageError(f"a local Kafka's name is up to 63 letters, digits, '.', '_' and '-', not {name!r}")
    return state_dir() / "local" / name


def load_run(folder: Path) -> Run | None:
    """The run in a folder; None without one, or with half of one."""
    try:
        return documents.as_type(documents.from_json((folder / "run.json").read_text()), Run)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None


def admin_properties() -> Path | None:
    """The properties with which an admin connects to the local Kafka that runs: `default`, else the last started."""
    running = ((folder, run) for folder, run in all_runs() if accepts(next(iter(run.ports[0].values()))))
    known = [(run.name == "default", run.started_at, folder) for folder, run in running]
    return user_file(max(known)[2], ADMIN) if known else None


def user_file(folder: Path, user: str) -> Path:
    """The Java client properties with which a user connects to the run in this folder."""
    return folder / "users" / f"{quote(user, safe=' ')}.properties"


def accepts(port: int) -> bool:
    """True if this machine takes connections at a port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
    except OSError:
        return False
    return True


def all_runs() -> list[tuple[Path, Run]]:
    """Every folder with a run in it, by name, dead ones too."""
    folders = sorted((state_dir() / "local").glob("[!.]*/"))
    return [(folder, run) for folder in folders if (run := load_run(folder))]
