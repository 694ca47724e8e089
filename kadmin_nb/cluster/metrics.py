"""Scrapes of a cluster: what is read for one, side by side, within bounds, and never twice at the same time."""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from .. import files
from ..errors import KadminError, UsageError, printable
from ..frames.answer import Answer
from ..frames.views import DIFFERENCES
from ..model.changes import UNKNOWN, UNVERIFIED
from ..plans.journal.replay import JournalState
from ..plans.plan import Plan
from ..state.snapshot_kinds import KINDS
from ..usage.broker_utilisation import Place, utilisation_differences
from ..usage.engines import Usage
from . import resolving
from .changes import journals
from .exposition import BUCKET, LARGEST_MOST, MOST, UNITS, Facts, Part, families, plain_text_of, text_of, to_base_unit

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from . import Cluster

BOUND, ALONE = 8.0, 60.0
"""Seconds of a scrape: Prometheus waits for 10 unless it is told otherwise; one that nobody waits for may take longer.
"""

QUICK, REST = 0.5, 10.0
"""Seconds: a reading that took longer is not waited for once there is an earlier one, and rests so many times as long
as it took. What is slow costs at most a tenth of a processor."""

LAST = timedelta(minutes=5)
"""The time before the newest window of the usage that is looked at."""

Say = Callable[[str], None]


class Exporter:
    """The metrics of a cluster, for as many scrapes as there are.

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

    Raises
    ------
    UsageError
        `most` is out of bounds; `against` is a cluster.
    """

    def __init__(
        self,
        cluster: Cluster,
        usage: object = None,
        *,
        against: str | None = None,
        most: int = MOST,
        assume_default: bool = False,
        say: Say | None = None,
    ) -> None:
        if not 1 <= most <= LARGEST_MOST:
            raise UsageError(f"the most of each key cannot be {most}", hint=f"1 to {LARGEST_MOST}.")
        self._cluster, self._kafka, self._usage, self._most = cluster, cluster.port, usage, most
        self._against, self._assume_default = _reference(against), assume_default
        self._lease = self._kafka.lease_reader()
        self._quotas = _Once(self._kafka.quotas.describe)
        readings = {"plans": self._read_plans, "lease": self._read_lease}
        if usage is not None:
            readings["usage"] = self._read_usage
        if against is not None:
            readings["drift"] = self._read_drift
        readings["findings"] = self._read_findings
        self.say = say or (lambda line: None)
        slow = [Reading(name, read, self.say) for name, read in readings.items()]
        self._readings = [Reading("limits", self._read_limits, self.say, quick=ALONE), *slow]
        self._lock = Lock()
        self._running: Future[list[Metric]] | None = None

    def scrape(self, within: float = BOUND) -> list[Metric]:
        """The metrics, within so many seconds. Who asks while a scrape is running gets the answer of that one."""
        with self._lock:
            running = self._running
            mine: Future[list[Metric]] = Future()
            if running is None:
                self._running = mine
        if running is not None:
            return running.result()
        try:
            mine.set_result(families(self._facts(time.monotonic() + within), self._most))
        except BaseException as exc:
            mine.set_exception(exc)
        finally:
            with self._lock:
                self._running = None
        return mine.result()

    def _facts(self, until: float) -> Facts:
        self._quotas.forget()
        for reading in self._readings:
            reading.start()
        for reading in self._readings:
            reading.wait(until)
        found = {name: value for reading in self._readings for name, value in reading.found.items()}
        return Facts(**found, parts={reading.name: reading.part for reading in self._readings})

    # --- what is read ---

    def _read_limits(self) -> dict[str, Any]:
        marks = resolving.marks(self._kafka, self._assume_default)
        told = {"cluster_id": self._kafka.id, "version": self._kafka.version, "brokers": marks[resolving.BROKERS]}
        return {"cluster": told, "quotas": self._quotas()}

    def _read_usage(self) -> dict[str, Any]:
        given: Any = self._usage() if callable(self._usage) else self._usage
        measured: Mapping[Place, float | None] = {}
        found: dict[str, Any] = {}
        if _is_metrics(given):
            differences = utilisation_differences(given, self._quotas())
            measured = differences.measured
            found["differing"] = len(differences) if measured else None
            given = Usage.of_metrics(given)
        rows, newest = _newest(Usage.of(given, "arrow").of_cluster(self._kafka.id).frame)
        used = Usage.of(rows, "arrow").utilisation(self._quotas(), self._kafka.id, None, {})
        return {**found, "used": _used(used, measured), "used_until": newest}

    def _read_findings(self) -> dict[str, Any]:
        of_quotas = self._cluster.quotas.audit(assume_default=self._assume_default).findings
        found = [*of_quotas, *self._cluster.configs.audit().findings]
        return {"findings": Counter((finding.code, finding.severity) for finding in found)}

    def _read_drift(self) -> dict[str, Any]:
        counts = self._cluster.diff(self._against).counts.to_arrow().to_pylist()
        rows = {row["state"]: row for row in counts if row["state"] in DIFFERENCES}
        nothing = dict.fromkeys(KINDS, 0)
        return {"drift": {(kind, state): rows.get(state, nothing)[kind] for state in DIFFERENCES for kind in KINDS}}

    def _read_plans(self) -> dict[str, Any]:
        begun, unread = journals().begun(self._kafka.id)
        undone = {plan.undoes for plan, _ in begun}
        open_since = [plan.created for plan, state in begun if plan.id not in undone and is_unfinished(plan, state)]
        return {
            "plans": {
                "unfinished": len(open_since),
                "finished": len(begun) - len(open_since),
                "unreadable": unread,
            },
            "unfinished_since": min((datetime.fromisoformat(at).timestamp() for at in open_since), default=None),
        }

    def _read_lease(self) -> dict[str, Any]:
        claim = self._lease.claim()
        if claim is None or claim.until <= self._kafka.now().timestamp() * 1000:
            return {"lease": {}}
        return {
            "lease": {"holder": claim.holder, "host": claim.host, "plan": claim.plan, "taken": _seconds(claim.taken)}
        }


def text_of_one_scrape(
    cluster: Cluster,
    usage: object,
    against: str | None,
    most: int | None,
    textfile: str | os.PathLike[str] | None,
    assume_default: bool,
) -> str:
    """See `Cluster.metrics`."""
    if textfile is not None and Path(textfile).suffix != ".prom":
        raise UsageError(f"{textfile} does not end in .prom", hint="node_exporter reads no other files.")
    how: dict[str, Any] = {"against": against, "most": MOST if most is None else most, "assume_default": assume_default}
    problems = list[str]()
    scraped = Exporter(cluster, usage, say=problems.append, **how).scrape(ALONE)
    for problem in problems:
        warnings.warn(problem, stacklevel=3)
    if textfile is not None:
        files.write(Path(textfile), plain_text_of(scraped))
    return text_of(scraped)


def is_unfinished(plan: Plan, state: JournalState) -> bool:
    """True for a plan that was started, can still be resumed, and has rows of which nobody knows what became."""
    settled = {row for row, told in state.states.items() if told not in (UNKNOWN, UNVERIFIED)}
    return state.runs > 0 and not plan.has_expired() and any(change.row not in settled for change in plan.changes)


class Reading:
    """A part of a scrape, read by a thread of its own: one at a time, waited for within bounds.

    `found` is what the last reading found; nothing after one that failed.
    """

    def __init__(self, name: str, read: Callable[[], dict[str, Any]], say: Say, quick: float = QUICK) -> None:
        self.name, self._read, self._say, self._quick = name, read, say, quick
        self.found: dict[str, Any] = {}
        self._reasons = list[str]()  # since it was last read
        self._at: float | None = None
        self._done, self._errors, self._seconds, self._next = Event(), 0, 0.0, 0.0
        self._done.set()

    @property
    def part(self) -> Part:
        """How it went."""
        return Part(not self._reasons and self._at is not None, self._seconds, self._at, self._errors)

    def start(self) -> None:
        """Read, unless a reading is under way or a slow one was just made."""
        if self._done.is_set() and time.monotonic() >= self._next:
            self._done.clear()
            Thread(target=self._run, name=f"kadmin-metrics-{self.name}", daemon=True).start()

    def wait(self, until: float) -> None:
        """Wait for the reading under way; not for one that was slow before, of which there is an earlier one."""
        if self.found and self._seconds > self._quick:
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
            self.found, self._at, self._seconds = found, time.time(), time.monotonic() - began
            self._next = time.monotonic() + (REST * self._seconds if self._seconds > self._quick else 0.0)
            if self._reasons:
                self._reasons = []
                self._say(f"{self.name}: read again")
        finally:
            self._done.set()

    def _fail(self, why: str) -> None:
        """Count it; each reason is a line, once until it is read again."""
        self.found, self._errors = {}, self._errors + 1
        if why not in self._reasons:
            self._reasons.append(why)
            self._say(printable(f"{self.name}: {why}"))


class _Once:
    """A value that is asked for once until it is forgotten, whoever asks."""

    def __init__(self, ask: Callable[[], pa.Table]) -> None:
        self._ask, self._lock = ask, Lock()
        self._value: pa.Table | None = None

    def __call__(self) -> pa.Table:
        with self._lock:
            if self._value is None:
                self._value = self._ask()
            return self._value

    def forget(self) -> None:
        self._value = None


def _reference(against: str | None) -> str | None:
    from ..state.sides import named

    if against is not None and named(against).what == "cluster":
        raise UsageError(
            f"{against} is neither a declarative file, a snapshot nor history:WHERE", hint="cluster.yaml, for example."
        )
    return against


def _is_metrics(given: Any) -> bool:
    """True for METRICS, False for USAGE."""
    frame = given.to_arrow() if isinstance(given, Answer) else given
    columns: Any = getattr(frame, "column_names", None) or getattr(frame, "columns", ())
    return {"type", "name", "time"} <= {*map(str, columns)}


def _newest(rows: pa.Table) -> tuple[pa.Table, float | None]:
    """The rows of the last minutes of a usage, and its end in seconds since 1970."""
    if "window_end" not in rows.column_names or not len(rows):
        return rows, None
    newest = pc.max(rows["window_end"]).as_py()
    if not isinstance(newest, datetime):
        return rows, None
    since = pa.scalar(newest - LAST, rows["window_end"].type)
    return rows.filter(pc.greater(rows["window_end"], since)), newest.timestamp()


def _used(utilised: Answer, measured: Mapping[Place, float | None]) -> pa.Table:
    """The rows of UTILISATION that have a limit, each bucket and broker once, in base units."""
    rows = utilised.to_arrow()
    keys = rows["key"].cast(pa.string())
    known = pc.is_in(keys, pa.array([*UNITS], pa.string()))
    rows, keys = (one.filter(pc.and_(pc.is_valid(rows["limit"]), known)) for one in (rows, keys))
    texts = {"user": rows["bucket_user"], "client_id": rows["bucket_client_id"], "level": rows["level"]}
    table = pa.table(
        {
            "broker": rows["broker"],
            "key": keys,
            **{name: pc.fill_null(column.cast(pa.string()), "") for name, column in texts.items()},
            "limit": rows["limit"],
            "ratio": pc.divide(rows["utilisation"], 100.0),
            "used": pc.multiply(rows["peak"], to_base_unit(keys)),
            "throttle": pc.divide(rows["throttle_ms"], 1000.0),
            "throttled": rows["share_throttled"],
        }
    )
    theirs = [(*place, None if percent is None else percent / 100) for place, percent in measured.items()]
    columns = zip(*theirs, strict=True) if theirs else [[] for _ in _MEASURED]
    table = table.join(pa.table([*map(pa.array, columns, _MEASURED.types)], schema=_MEASURED), _MEASURED.names[:-1])
    figures = ("limit", "ratio", "measured", "used", "throttle", "throttled")
    once = table.group_by([*BUCKET, "broker"]).aggregate([(name, "max") for name in figures])
    return once.rename_columns({f"{name}_max": name for name in figures})


_MEASURED = pa.schema(
    [("broker", pa.int32()), *((n, pa.string()) for n in ("key", "user", "client_id")), ("measured", pa.float64())]
)


def _seconds(iso_time: str) -> float | None:
    """A time of a lease's record, which its writer chose."""
    try:
        at = datetime.fromisoformat(iso_time)
    except ValueError:
        return None
    return at.timestamp() if at.tzinfo else None
