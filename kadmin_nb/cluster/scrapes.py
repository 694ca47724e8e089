"""Scrapes of a cluster, as a collector of `prometheus_client`: parts that are read side by side, within bounds, and
never twice at the same time."""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from .. import files
from ..advice import FINDINGS as CONFIG_FINDINGS
from ..advice import UNREAD
from ..errors import KadminError, NotKnowable, UsageError, printable
from ..frames.answer import Answer
from ..frames.views import DIFFERENCES
from ..model.changes import UNKNOWN, UNVERIFIED
from ..model.findings import UNKNOWN as NOT_KNOWN
from ..model.findings import WARNING
from ..plans.journal.replay import JournalState
from ..plans.journal.store import journals
from ..plans.plan import Plan
from ..state.snapshot_kinds import KINDS
from ..usage.engines import Usage
from . import resolving
from .exposition import (
    FIGURES,
    LARGEST_MOST,
    MOST,
    UNITS,
    buckets_of,
    each_once,
    families,
    of_limits,
    of_use,
    plain_text_of,
    text_of,
)

# isort: split
from prometheus_client.core import Metric
from prometheus_client.registry import Collector  # after what says so where it is not installed

if TYPE_CHECKING:
    from . import Cluster

BOUND, ALONE = 8.0, 60.0
"""Seconds of a scrape: Prometheus waits for 10 unless it is told otherwise; one that nobody waits for may take longer.
"""

QUICK, REST = 0.5, 10.0
"""Seconds: a reading that took longer is not waited for once there is an earlier one, and rests so many times as long
as it took. What is slow costs at most a tenth of a processor."""

LAST = timedelta(minutes=5)
"""The time before the newest window of the usage that is looked at."""

LIMITS = "limits"
FINDINGS = {
    **{code: NOT_KNOWN if code == UNREAD else WARNING for code in CONFIG_FINDINGS},
    **dict.fromkeys(("shadowed", "redundant", "unlimited"), WARNING),
}
"""The findings that are counted, and their severity."""

Say = Callable[[str], None]


class ClusterCollector(Collector):
    """The metrics of a cluster, for any number of scrapes.

    Parameters
    ----------
    usage
        USAGE, or METRICS of the brokers, or what returns one of them, asked at each scrape.
    against
        A declarative file, a saved snapshot or `history:WHERE`: drift is what differs from it.
    most
        The number of limits of each key that have series of their own; the others are one series.
    say
        Called with a line where a part of a scrape fails, and where it is read again.
    within
        Seconds that a scrape takes at most.

    Raises
    ------
    UsageError
        `most` is out of bounds; `against` is a cluster.
    """

    def __init__(
        self, cluster: Cluster, usage: object = None, *, against: str | None = None, most: int = MOST,
        assume_default: bool = False, say: Say = lambda line: None, within: float = BOUND,
    ) -> None:  # fmt: skip
        if not 1 <= most <= LARGEST_MOST:
            raise UsageError(f"the most of each key cannot be {most}", hint=f"1 to {LARGEST_MOST}.")
        self.within = within
        self._cluster, self._kafka, self._usage, self._most = cluster, cluster.port, usage, most
        self._against, self._assume_default = _reference(against), assume_default
        self._lease = self._kafka.lease_reader()
        readings = {"plans": self._read_plans, "lease": self._read_lease, "findings": self._read_findings}
        if usage is not None:
            readings["usage"] = self._read_usage
        if against is not None:
            readings["drift"] = self._read_drift
        self._limits = Reading(LIMITS, self._read_limits, say, quick=ALONE)
        self._readings = [self._limits, *(Reading(name, read, say) for name, read in readings.items())]
        self._lock, self._ended = Lock(), 0.0
        self._families = list[Metric]()

    def collect(self) -> Iterable[Metric]:
        """The metrics of now. Who asks while a scrape is running gets the answer of that one."""
        asked = time.monotonic()
        with self._lock:
            if self._ended <= asked:
                self._families = families(self._scraped(asked + self.within))
                self._ended = time.monotonic()
            return self._families

    def _scraped(self, until: float) -> Mapping[str, Any]:
        """The samples of each metric."""
        for reading in self._readings:
            reading.start()
        for reading in self._readings:
            reading.wait(until)
        samples, tables = defaultdict[str, list[Any]](list), dict[str, pa.Table]()
        for reading in self._readings:
            part = [reading.name]
            samples["part_success"].append((part, reading.success))
            samples["scrape_errors"].append((part, reading.errors))
            if reading.at is not None:
                samples["part_duration_seconds"].append((part, reading.seconds))
                samples["part_timestamp_seconds"].append((part, reading.at))
            for name, value in reading.found.items():
                tables.update({name: value}) if isinstance(value, pa.Table) else samples[name].extend(value)
        quotas, used = tables.get("quotas"), tables.get("used")
        samples["up"] = [([], quotas is not None)]
        limits = of_limits(quotas, used, self._most) if quotas is not None else {}
        return {**samples, **limits, **(of_use(used, self._most) if used is not None else {})}

    # --- what is read ---

    def _read_limits(self) -> dict[str, Any]:
        marks = resolving.marks(self._kafka, self._assume_default)
        told = [self._kafka.id, self._kafka.version, marks[resolving.BROKERS]]
        return {"cluster_info": [(told, 1)], "quotas": self._kafka.quotas.describe()}

    def _read_usage(self) -> dict[str, Any]:
        self._limits.wait(time.monotonic() + ALONE)
        if (quotas := self._limits.found.get("quotas")) is None:
            raise NotKnowable("the limits are not known")
        given: Any = self._usage() if callable(self._usage) else self._usage
        frame = given.to_arrow() if isinstance(given, Answer) else given
        names: Any = getattr(frame, "column_names", None) or getattr(frame, "columns", ())
        if {"type", "name", "time"} <= {*map(str, names)}:  # METRICS, not USAGE
            given = Usage.of_metrics(given)
        rows, newest = _newest(Usage.of(given, "arrow").of_cluster(self._kafka.id).frame)
        used = Usage.of(rows, "arrow").utilisation(quotas, self._kafka.id, None, {})
        return {"used": _used(used), "usage_timestamp_seconds": newest}

    def _read_findings(self) -> dict[str, Any]:
        of_quotas = self._cluster.quotas.audit(assume_default=self._assume_default).findings
        found = Counter((one.code, one.severity) for one in [*of_quotas, *self._cluster.configs.audit().findings])
        return {"findings": {**dict.fromkeys(FINDINGS.items(), 0), **found}.items()}

    def _read_drift(self) -> dict[str, Any]:
        rows = self._cluster.diff(self._against).to_arrow().select(["kind", "state"]).to_pylist()
        counts = Counter((row["kind"], row["state"]) for row in rows)
        return {
            "drift_rows": [((k, state), counts[kind.kind, state]) for state in DIFFERENCES for k, kind in KINDS.items()]
        }

    def _read_plans(self) -> dict[str, Any]:
        begun, unread = journals().begun(self._kafka.id)
        undone = {plan.head.undoes for plan, _ in begun}
        unfinished = [
            plan.head.created for plan, state in begun if plan.id not in undone and is_unfinished(plan, state)
        ]
        states = {"unfinished": len(unfinished), "finished": len(begun) - len(unfinished), "unreadable": unread}
        found = {"plans": [([state], float(count)) for state, count in states.items()]}
        if unfinished:
            since = datetime.fromisoformat(min(unfinished)).timestamp()
            found["plan_unfinished_timestamp_seconds"] = [([], since)]
        return found

    def _read_lease(self) -> dict[str, Any]:
        claim = self._lease.claim()
        if claim is None or claim.until <= self._kafka.now().timestamp() * 1000:
            return {"lease_held": [([], 0)]}
        found: dict[str, Any] = {"lease_held": [([], 1)], "lease_info": [([claim.holder, claim.host, claim.plan], 1)]}
        with suppress(ValueError):  # its writer chose the text
            if (taken := datetime.fromisoformat(claim.taken)).tzinfo:
                found["lease_taken_timestamp_seconds"] = [([], taken.timestamp())]
        return found


def is_unfinished(plan: Plan, state: JournalState) -> bool:
    """True for a plan that was started, can still be resumed, and has rows whose outcome is not known."""
    settled = {row for row, told in state.states.items() if told not in (UNKNOWN, UNVERIFIED)}
    return state.runs > 0 and not plan.head.has_expired() and any(change.row not in settled for change in plan.changes)


class Reading:
    """A part of a scrape, read by a thread of its own: one at a time, waited for within bounds.

    `found` is what the last reading found; nothing after one that failed.
    """

    def __init__(self, name: str, read: Callable[[], dict[str, Any]], say: Say, quick: float = QUICK) -> None:
        self.name, self._read, self._say, self._quick = name, read, say, quick
        self.found: dict[str, Any] = {}
        self.success, self.seconds, self.errors = False, 0.0, 0
        self.at: float | None = None
        self._reasons, self._next, self._done = list[str](), 0.0, Event()
        self._done.set()

    def start(self) -> None:
        """Read, unless a reading is under way or a slow one was just made."""
        if self._done.is_set() and time.monotonic() >= self._next:
            self._done.clear()
            Thread(target=self._run, name=f"kadmin-metrics-{self.name}", daemon=True).start()

    def wait(self, until: float) -> None:
        """Wait for the reading under way, but not for a slow one that has an earlier result."""
        if self.found and self.seconds > self._quick:
            return
        if not self._done.wait(max(0.0, until - time.monotonic())):
            self._fail("not read in time")

    def _run(self) -> None:
        began = time.monotonic()
        try:
            found = self._read()
        except Exception as exc:
            self._fail(f"{type(exc).__name__}: {exc}" if isinstance(exc, KadminError) else repr(exc))
        else:
            seconds = time.monotonic() - began
            self.found, self.success, self.at, self.seconds = found, True, time.time(), seconds
            self._next = time.monotonic() + (REST * seconds if seconds > self._quick else 0.0)
            if self._reasons:
                self._reasons = []
                self._say(f"{self.name}: read again")
        finally:
            self._done.set()

    def _fail(self, why: str) -> None:
        """Count it; each reason is a line, once until it is read again."""
        self.found, self.success, self.errors = {}, False, self.errors + 1
        if why not in self._reasons:
            self._reasons.append(why)
            self._say(printable(f"{self.name}: {why}"))


def _reference(against: str | None) -> str | None:
    from ..state.sides import named

    if against is not None and named(against).what == "cluster":
        raise UsageError(
            f"{against} is neither a declarative file nor history:WHERE", hint="cluster.yaml, for example."
        )
    return against


def _newest(rows: pa.Table) -> tuple[pa.Table, list[tuple[list[str], float]]]:
    """The rows of the last minutes of a usage, and the sample of its end."""
    newest = pc.max(rows["window_end"]).as_py() if "window_end" in rows.column_names else None
    if not isinstance(newest, datetime):
        return rows, []
    since = pa.scalar(newest - LAST, rows["window_end"].type)
    return rows.filter(pc.greater(rows["window_end"], since)), [([], newest.timestamp())]


def _used(utilised: Answer) -> pa.Table:
    """The rows of UTILISATION that have a limit, each bucket and broker once."""
    rows = utilised.to_arrow()
    known = pc.is_in(rows["key"].cast(pa.string()), pa.array([*UNITS], pa.string()))
    rows = rows.filter(pc.and_(pc.is_valid(rows["limit"]), known))
    whose = {**buckets_of(rows), "broker": rows["broker"]}
    table = pa.table({**whose, **{name: rows[name] for name in FIGURES}})
    return each_once(table, [*whose], FIGURES)


def text_of_one_scrape(
    cluster: Cluster, usage: object, against: str | None, most: int | None,
    textfile: str | os.PathLike[str] | None, assume_default: bool,
) -> str:  # fmt: skip
    """See `Cluster.metrics`."""
    if textfile is not None and Path(textfile).suffix != ".prom":
        raise UsageError(f"{textfile} does not end in .prom", hint="node_exporter reads no other files.")
    problems = list[str]()
    how: dict[str, Any] = {"against": against, "most": MOST if most is None else most, "assume_default": assume_default}
    collector = ClusterCollector(cluster, usage, **how, say=problems.append, within=ALONE)
    text = text_of(collector) if textfile is None else plain_text_of(collector)
    for problem in problems:
        warnings.warn(problem, stacklevel=3)
    if textfile is not None:
        files.write(Path(textfile), text)
    return text
