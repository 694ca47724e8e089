"""The guard's own process: it stands by, and takes logger levels back when the observer has not."""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import IO, Any

from kadmin_nb import files
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.cluster import Cluster
from kadmin_nb.cluster.observation import mend, take_back
from kadmin_nb.cluster.observation_guard import DONE, holder_file, lock_path, locked
from kadmin_nb.errors import KadminError
from kadmin_nb.model.connection_settings import Settings
from kadmin_nb.plans.plan import read_plan
from kadmin_nb.secrets import Secret

TRIES_FOR = 600.0
"""Seconds for which a guard tries to take levels back."""

LATE = 60.0
"""Seconds beyond its time after which a guard ends an observation whose process hangs."""

_SETTLES = 2.0
"""Seconds after which it looks once more: what a killed process had sent may land a moment later."""


def restore_when_orphaned() -> None:
    """Stand by, and take the levels back if nobody else has."""
    order = json.loads(sys.stdin.buffer.readline())
    try:
        with _sole(order["cluster_id"], order["seconds"]) as log:
            _guard(order, log)
    except KadminError as exc:
        _answer({"kind": type(exc).__name__, "said": str(exc), "code": exc.code, "hint": exc.hint})


def _guard(order: dict[str, Any], log: IO[str]) -> None:
    settings = _settings(order["settings"])
    with Cluster(LiveKafka(settings), settings) as cluster:
        changes = read_plan(order["plan"], "the observer's plan").changes
        _answer({})
        if not _stood_by(order["observer"], order["seconds"] + LATE):
            _act(cluster, changes, log)


def _act(cluster: Any, changes: Any, log: IO[str]) -> None:
    not_restored = take_back(cluster.port, cluster.stage, changes, TRIES_FOR)
    time.sleep(_SETTLES)
    not_restored |= take_back(
        cluster.port, cluster.stage, [c for c in changes if c.resource.broker not in not_restored], TRIES_FOR
    )
    for change in changes:
        broker = change.resource.broker
        if broker in not_restored:
            line = mend(broker, change.old)
            _say(log, f"broker {broker} is NOT restored: {not_restored[broker]}. Fix it with: {line}", loud=True)
        else:
            _say(log, f"broker {broker} is restored by the guard", loud=False)


def _stood_by(observer: int, seconds: float) -> bool:
    """True if the observer said that all is done; False when it is gone, or long over its time."""
    end = time.monotonic() + seconds
    while os.getppid() == observer and time.monotonic() < end:
        if select.select([0], [], [], 0.5)[0]:
            return os.read(0, len(DONE)) == DONE
    return False


def _answer(words: dict[str, Any]) -> None:
    with suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(words) + "\n")
        sys.stdout.flush()


def _say(log: IO[str], text: str, *, loud: bool) -> None:
    log.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%SZ} {text}\n")
    log.flush()
    if loud:
        with suppress(OSError):
            print(f"\nkadmin-nb: {text}", file=sys.stderr, flush=True)


def _settings(words: dict[str, Any]) -> Settings:
    read: dict[str, Any]
    read = {name: Secret(value["secret"]) if isinstance(value, dict) else value for name, value in words.items()}
    return Settings(**{**read, "ignored": tuple(read["ignored"])})


@contextmanager
def _sole(cluster_id: str, seconds: float) -> Iterator[IO[str]]:
    """The guards' log of this cluster, and the sole right to observe it from this machine.

    Raises
    ------
    PlanRefused
        LOCKED.
    """
    place = lock_path(cluster_id)
    with locked(place):
        until = datetime.now(UTC) + timedelta(seconds=seconds)
        files.write(holder_file(place), f"until about {until:%H:%M:%SZ}, guarded by process {os.getpid()}\n")
        with place.with_suffix(".log").open("a") as log:
            yield log


if __name__ == "__main__":
    restore_when_orphaned()
