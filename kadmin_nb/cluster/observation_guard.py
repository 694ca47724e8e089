"""The guard of an observation: a process of its own that takes logger levels back when the observer cannot.

It acts when the observer is gone, however that happened, when the observer asks it to, and when the time is long over.
What it must know, secrets among it, comes through its standard input, and is never on a command line or a disk.
"""

from __future__ import annotations

import dataclasses
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from .. import errors, files
from ..errors import KadminError, PlanRefused
from ..model.connection_settings import Settings
from ..paths import state_dir
from ..plans.plan import Plan, document_of
from ..secrets import Secret

_READY_WITHIN = 60.0
DONE = b"done\n"

_acting: list[subprocess.Popen[bytes]] = []
"""Those that were left to act: an object that goes while its process runs is complained about."""


class Guard:
    """The observer's end of it. A context manager: left without `release`, the guard acts at once."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.is_released = False

    @classmethod
    def on(cls, settings: Settings, cluster_id: str, plan: Plan, seconds: float) -> Self:
        """A guard that has connected and stands by.

        Raises
        ------
        PlanRefused
            LOCKED: this cluster is being observed from this machine.
        KadminError
            The guard could not connect.
        """
        root = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        process = subprocess.Popen(
            [sys.executable, "-m", "kadmin_nb.cluster.observation_guard_process"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=_loud(),
            env={**os.environ, "PYTHONPATH": path}, start_new_session=True,
        )  # fmt: skip
        guard = cls(process)
        try:
            guard._told({"settings": _settings_as_json(settings), "cluster_id": cluster_id, "plan": document_of(plan),
                         "seconds": seconds, "observer": os.getpid()})  # fmt: skip
        except BaseException:
            guard.__exit__(None, None, None)
            raise
        return guard

    def _told(self, order: dict[str, Any]) -> None:
        assert self._process.stdin
        assert self._process.stdout
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
        heard, _, _ = select.select([self._process.stdout], [], [], _READY_WITHIN)
        line = self._process.stdout.readline() if heard else b""
        answer = json.loads(line or '{"kind": "TimedOut", "said": "the guard of the observation did not start"}')
        if answer:
            kind = getattr(errors, answer["kind"], KadminError)
            raise kind(answer["said"], code=answer.get("code"), hint=answer.get("hint"))

    def is_alive(self) -> bool:
        """True if it still stands by."""
        return self._process.poll() is None

    def release(self) -> None:
        """Nothing is left for it to do."""
        self.is_released = True
        assert self._process.stdin
        with suppress(BrokenPipeError):
            self._process.stdin.write(DONE)
            self._process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Its standard input ends here: without `release` that is the sign to act, and it is not waited for."""
        assert self._process.stdin
        assert self._process.stdout
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        if self.is_released:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=10)
        else:
            _acting.append(self._process)


def _loud() -> int | None:
    """Its complaints go to the terminal, where there is one; into a pipe they would keep the reader waiting."""
    return None if os.isatty(2) else subprocess.DEVNULL


def _settings_as_json(settings: Settings) -> dict[str, Any]:
    """Settings as JSON takes them, for the pipe alone."""
    fields = ((field.name, getattr(settings, field.name)) for field in dataclasses.fields(settings))
    return {name: {"secret": value.reveal()} if isinstance(value, Secret) else value for name, value in fields}


def folder() -> Path:
    """The folder in which guards say what they did, a file a cluster: `$KADMIN_STATE/observe`."""
    return state_dir() / "observe"


def refuse_another(cluster_id: str) -> None:
    """Refuse while a guard of this cluster stands by on this machine.

    Raises
    ------
    PlanRefused
        LOCKED.
    """
    with locked(lock_path(cluster_id)):
        pass


def lock_path(cluster_id: str) -> Path:
    return folder() / f"{quote(cluster_id, safe='')}.lock"


@contextmanager
def locked(place: Path) -> Iterator[None]:
    files.make_folder(place.parent, mode=0o700)
    with files.locking(place) as is_ours:
        if not is_ours:
            raise PlanRefused(
                f"this machine already observes this cluster, {_who(place)}",
                code="LOCKED",
                hint="Nothing was sent. Wait until it ends; its request log has all requests in the meantime.",
            )
        yield


def holder_file(place: Path) -> Path:
    """The file beside a lock that says until when it is held, and by which process."""
    return place.with_suffix(".holder")


def _who(place: Path) -> str:
    try:
        return holder_file(place).read_text().strip()
    except OSError:
        return "by a guard that has just started"
