"""`cluster.observe()`: the request log of every broker on for a bounded time, and off again whatever happens.

The levels of a broker's loggers live in its memory. They are set through a plan, and restored when the time is over,
after an error, Ctrl-C or SIGTERM, and when Python ends. What is switched on is written down before: of a process
that was killed, `left_on` has the lines that switch it off.
"""

from __future__ import annotations

import atexit
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from .. import documents, files
from ..client_configs.kafka import LiveKafka
from ..errors import (
    ExitState,
    Interrupted,
    KadminError,
    NotKnowable,
    PartlyFailed,
    PlanRefused,
    Unsupported,
    UsageError,
    kind_of,
)
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Page
from ..frames.schema_metadata import noted, stamped
from ..model.findings import Row
from ..model.resources import Resource
from ..paths import state_dir
from ..plans.execution.executor import refuse_invalid
from ..plans.execution.progress import Advance, Progress
from ..plans.plan import Plan
from ..plans.stage import Stage
from .request_logs import RequestLog, for_share_groups, log_places, request_logs, requests_of, top_of

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..usage.near_and_top import TopAnswer


LOGGER = "kafka.request.logger"


@dataclass(frozen=True)
class Logged:
    """The requests that a broker is to log: the level that has it do so, the levels that do, and seconds at most."""

    level: str
    enough: tuple[str, ...]
    longest: float


EVERY_REQUEST = Logged("DEBUG", ("DEBUG", "TRACE"), 3600.0)
"""Each is a line of a kilobyte on the broker's disk."""

DEPRECATED_REQUESTS = Logged("INFO", ("INFO", "DEBUG", "TRACE"), 86_400.0)
"""Those of a version that the broker calls deprecated: few, and only brokers of 3.9.1 to 3.9 do so (KAFKA-18272)."""

PATIENCE = 10.0
"""Seconds that one broker is given to tell a level."""

WITHIN = 30.0
"""Seconds for which it tries to restore the levels."""

ELSEWHERE = (
    "each broker writes its log where its log4j configuration says, often logs/kafka-request.log, which cannot be read "
    "from here: copy it, and read it with `quota usage LOG --broker ID`"
)

LISTS_CLIENTS = "Pass the log to the runbook upgrade_check: it lists who sent deprecated requests."
ALL_REQUESTS = "Observe all requests; then the runbook upgrade_check lists who sent which versions."

LEFT_ON = "an observation was killed, and left the brokers' request logs on"
_LARGEST = 1 << 20
"""Bytes of what is written down."""

KEPT, RESTORED, MOVED, LEFT, SKIPPED = "kept", "restored", "moved", "left", "skipped"
_PAUSE, _BEAT = 0.2, 0.5


class ObservationAnswer(Answer):
    """OBSERVED. A row fails where the logger is still on, or could not be switched on.

    `sizes` reads RECORD_SIZES, by which the bytes of share consumers are estimated; it gives None where nobody shares.
    """

    def __init__(self, table: pa.Table, sizes: Callable[[], pa.Table | None] = lambda: None) -> None:
        super().__init__(table)
        self._sizes = sizes

    @property
    def logs(self) -> tuple[str, ...]:
        """The files that have the requests, where they are known; a broker's oldest file comes first."""
        return tuple(file for files in self._table["logs"].to_pylist() for file in files or ())

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for each broker whose log lacks a part of the observation."""
        rows = (row for row in self._table.to_pylist() if row["complete"] is False)
        return tuple(f"WARNING: broker {row['broker']}: {row['message']}" for row in rows)

    @property
    def failures(self) -> tuple[str, ...]:
        """A line for each broker that was not observed, or whose logger is still on."""
        return tuple(f"broker {row['broker']}: {row['message']}" for row in self.failed._table.to_pylist())

    def requests(self) -> pa.Table:
        """REQUESTS of the time that was observed, as far as the logs of all brokers have it; its notes have the others.

        Raises
        ------
        NotKnowable
            The request logs cannot be read from here.
        """
        requests = requests_of(self._logged(), self._sizes())
        return noted(requests, self._missing())

    def top(self, *, keys: Sequence[str] | None = None, most: int = 10) -> TopAnswer:
        """TOP: the clients that used most of each key, or of these, in the time that was observed.

        Raises
        ------
        NotKnowable
            The request logs cannot be read from here.
        """
        return top_of(self._logged(), keys, most, self._sizes()).warned(self._missing())

    def _logged(self) -> list[Row]:
        rows: list[Row] = self._table.to_pylist()
        if all(row["logs"] is None for row in rows):
            raise _not_known()
        return rows

    def _missing(self) -> list[str]:
        """A line for each broker that is missing in them, or misses a part."""
        return [*(f"WARNING: {failure}" for failure in self.failures), *self.warnings]

    def _failing(self) -> pa.Array:
        return pc.is_in(self._table["state"], pa.array([LEFT, SKIPPED]))

    @property
    def _anything_changed(self) -> bool:
        """True if a logger may still be on."""
        return LEFT in self._table["state"].to_pylist()

    @property
    def lines(self) -> str:
        """The commands that restore the remaining levels, one line per broker."""
        rows = (row for row in self._table.to_pylist() if row["state"] == LEFT)
        return "\n".join(restoring(row["broker"], row["level_before"]) for row in rows)

    def raise_for_errors(self) -> ObservationAnswer:
        """Itself where every broker was observed, and its logger is back where it was.

        Raises
        ------
        PartlyFailed
            A logger is still on, or was never on; the hint has the lines that switch it off.
        """
        if not self.ok:
            raise PartlyFailed("; ".join(self.failures), outcomes=self, hint=self.lines or None)
        return self

    def _exit_state(self, detailed: bool = False) -> ExitState:
        """A logger that is still on, or never was, is a change that is not verified."""
        return ExitState.DONE if self.ok else ExitState.PARTLY

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The lines that restore levels, and where the requests are."""
        from ..frames.blocks import Listing

        below = [*self.lines.splitlines(), *self.warnings, *(f"request log: {log}" for log in self.logs)]
        return [Listing(below, len(below), "lines", types=True)] if below else []


def _not_known() -> NotKnowable:
    return NotKnowable(
        "brokers do not say where they write their request log",
        hint="Have them write it (observe), and name its files; or take the usage from metrics.",
    )


def observe(
    kafka: LiveKafka, stage: Callable[[], Stage], seconds: float, progress: Progress, logged: Logged, to_read: bool
) -> ObservationAnswer:
    """Switch on, wait, restore; see `Cluster.observe`."""
    if to_read and not log_places(kafka.id):
        raise _not_known()
    if not 1 <= seconds <= logged.longest:
        raise UsageError(f"an observation of {seconds:g} s is not possible", hint=f"From 1 s to {logged.longest:g} s.")
    if logged == DEPRECATED_REQUESTS:
        _refuse_without_deprecated(kafka.version)
    with _alone(kafka.id), request_logs(kafka.id) as logs:
        if lines := _left_on(kafka):
            raise PlanRefused(LEFT_ON, code="LEFT_ON", hint="\n".join(lines))
        levels_before = levels(kafka, (broker.id for broker in kafka.brokers()))
        plan = _switch_on_plan(stage, levels_before, seconds, logged)
        ours = {} if plan is None else {change.resource.broker or 0: change.old for change in plan.changes}
        written = {"level": logged.level, "before": {f"{broker}": level for broker, level in ours.items()}}
        files.write(_place(kafka.id), documents.to_json(written))
        restore = _Restoring(kafka, stage, ours, logged.level)
        since, stopped = kafka.now(), False
        with _ending_first(restore):
            try:
                if plan is not None:
                    plan.apply(lock=False).raise_for_errors()  # no editor sets levels: a killed one's lease stays
                since = kafka.now()
                if not logs:
                    warnings.warn(ELSEWHERE, stacklevel=2)
                _wait(kafka, seconds, progress)
            except KeyboardInterrupt:
                stopped = True
            finally:
                until = kafka.now()
                lasted = (until - since).total_seconds()
                progress(Advance("seconds observed", round(lasted), round(lasted)))
                left = restore()
        after = levels(kafka, (broker for broker, before in levels_before.items() if before["value"]))
        rows = [
            _row(broker, before, after.get(broker), left.get(broker), logs.get(broker), logged, since, until)
            for broker, before in levels_before.items()
        ]
    observed = stamped(schemas.table(schemas.OBSERVED, rows), kafka.id)
    answer = ObservationAnswer(observed, partial(for_share_groups, kafka))
    answer.hint = LISTS_CLIENTS if logged == DEPRECATED_REQUESTS else None
    if stopped:
        how = "; some log levels are not restored" if left else ", and all log levels were restored"
        reason = f"the observation was stopped by Ctrl-C after {lasted:.0f} s{how}"
        raise Interrupted(reason, outcomes=answer, hint=answer.lines or None)
    return answer if not left or (to_read and answer.logs) else answer.raise_for_errors()


def _switch_on_plan(
    stage: Callable[[], Stage], before: Mapping[int, Row], seconds: float, logged: Logged
) -> Plan | None:
    """The plan that switches it on where it is off; None where it is on everywhere.

    Raises
    ------
    NotAuthorized, Invalid
        No broker tells its level.
    PlanRefused
        The brokers would not take it. Nothing was sent.
    """
    if all(row["value"] is None for row in before.values()):
        broker, first = next(iter(before.items()))
        needs = "It needs DESCRIBE_CONFIGS and ALTER_CONFIGS on the cluster."
        raise kind_of(first["error"])(
            f"{first['error']} while reading the loggers of broker {broker}: {first['message']}",
            code=first["error"],
            hint=needs if first["error"] == "CLUSTER_AUTHORIZATION_FAILED" else None,
        )
    wishes = stage()
    for broker, row in before.items():
        if row["value"] not in (None, *logged.enough):
            wishes.set_config(LOGGER, logged.level, broker_logger=broker)
    if not len(wishes):
        return None
    plan = wishes.plan(f"observe for {seconds:g} s")
    refuse_invalid([c for c in plan.changes if c.is_refused or c.lacks_right], len(plan))
    return plan


def _wait(kafka: LiveKafka, seconds: float, progress: Progress) -> None:
    """Until the time is over."""
    end = kafka.monotonic() + seconds
    while (seconds_left := end - kafka.monotonic()) > 0:
        progress(Advance("seconds observed", int(seconds - seconds_left), round(seconds), left=seconds_left))
        kafka.sleep(min(_BEAT, seconds_left))


@dataclass(frozen=True)
class _Restoring:
    """What puts the loggers of these brokers back where they were, from the level that we have set."""

    kafka: LiveKafka
    stage: Callable[[], Stage]
    before: Mapping[int, str | None]
    level: str

    def __call__(self) -> dict[int, str]:
        """The brokers whose level is not back, and why, after trying for a while."""
        end, left = self.kafka.monotonic() + WITHIN, dict.fromkeys(self.before, "it was stopped meanwhile")
        with suppress(KeyboardInterrupt):
            while (left := self.tried([*left])) and self.kafka.monotonic() <= end:
                self.kafka.sleep(_PAUSE)
        if not left:
            _place(self.kafka.id).unlink(missing_ok=True)
        return left

    def tried(self, brokers: Sequence[int]) -> dict[int, str]:
        """One attempt, by an ordinary plan, a journal and all.

        A level that is no longer ours stays: a restart has lost it, or somebody has set another.
        """
        try:
            now, wishes = levels(self.kafka, brokers), self.stage()
            left = {broker: row["message"] for broker, row in now.items() if row["value"] is None}
            for broker in (broker for broker, row in now.items() if row["value"] == self.level):
                wishes.set_config(LOGGER, self.before[broker], broker_logger=broker)
            if len(wishes):
                plan = wishes.plan("the observation is over")
                done = plan.apply(lock=False, verify_timeout=PATIENCE, quiet_period=PATIENCE).failed
                left |= {plan.changes[row["row"] - 1].resource.broker or 0: row["message"] or row["state"]
                         for row in done.to_arrow().to_pylist()}  # fmt: skip
        except (KadminError, OSError) as exc:
            return dict.fromkeys(brokers, str(exc))
        return left


def _row(
    broker: int, before: Row, after: Row | None, left: str | None, log: RequestLog | None, logged: Logged,
    since: datetime, until: datetime,
) -> Row:  # fmt: skip
    """OBSERVED of one broker: what became of its logger, and the files that its requests are in."""
    if before["value"] is None:
        return {"broker": broker, "state": SKIPPED, "message": f"not observed: {before['message']}"}
    same = after is None or after["value"] in (None, before["value"])
    if left is not None:
        state, message = LEFT, f"{LOGGER} is still at {logged.level}, as far as is known: {left}"
    elif before["value"] in logged.enough:
        state, message = KEPT, f"was at {before['value']} before" + ("" if same else ", and it was switched off since")
    else:
        state, message = (RESTORED, "") if same else (MOVED, "another level was set since")
    found, complete, further = (None, None, ELSEWHERE) if log is None else log.found()
    return {
        "broker": broker,
        "state": state,
        "level_before": before["value"],
        "level_after": after["value"] if after else None,
        "since": since,
        "until": until,
        "logs": found,
        "complete": complete,
        "message": "; ".join(filter(None, [message, further])) or None,
    }


def levels(kafka: LiveKafka, brokers: Iterable[int]) -> dict[int, Row]:
    """The row of CONFIGS of each of these brokers' request loggers: its `value`, or an `error` and its `message`."""
    found: dict[int, Row] = {}
    for broker in brokers:
        loggers = [Resource("BROKER_LOGGER", str(broker))]
        rows = kafka.configs.describe(loggers, [LOGGER], synonyms=False, timeout=PATIENCE).to_pylist()
        some = (row for row in rows if row["error"] is not None or row["key"] == LOGGER)
        row = next(some, {"value": None, "error": "INVALID_CONFIG", "message": f"it has no {LOGGER}"})
        found[broker] = {**row, "message": row["message"] or row["error"]}
    return found


def _refuse_without_deprecated(version: str) -> None:
    """Refuse brokers that write no deprecated requests at INFO. That it is 3.9.0 and not later nobody can see.

    Raises
    ------
    Unsupported
    """
    if version != "3.9":
        is_later = version.partition(".")[0] not in ("0", "1", "2", "3")
        why = "they refuse old versions, and log none of it" if is_later else "they do not know which are deprecated"
        raise Unsupported(
            f"brokers of Kafka {version} log no deprecated requests by themselves, as those of 3.9.1 to 3.9 do: {why}",
            hint=None if is_later else ALL_REQUESTS,
        )


@contextmanager
def _ending_first(restore: Callable[[], object]) -> Iterator[None]:
    """SIGTERM and a terminal that closes end the block as Ctrl-C does, and Python restores the levels before it ends.

    Signals come to the main thread alone.
    """

    def end(number: int, frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    is_main = threading.current_thread() is threading.main_thread()
    names = [name for name in ("SIGTERM", "SIGHUP") if is_main and hasattr(signal, name)]
    handlers = {name: signal.signal(getattr(signal, name), end) for name in names}
    atexit.register(restore)
    try:
        yield
    finally:
        atexit.unregister(restore)
        for name, handler in handlers.items():
            signal.signal(getattr(signal, name), handler)


# --- what is switched on, written down ---


def _place(cluster_id: str) -> Path:
    """The file of what an observation of a cluster has switched on, while it lasts."""
    return state_dir() / "observe" / f"{quote(cluster_id, safe='')}.json"


@contextmanager
def _alone(cluster_id: str) -> Iterator[None]:
    """Nobody else on this machine observes the cluster until the block ends.

    Raises
    ------
    PlanRefused
        LOCKED: somebody does.
    """
    files.make_folder(_place(cluster_id).parent, mode=0o700)
    with files.locking(_place(cluster_id).with_suffix(".lock")) as is_ours:
        if not is_ours:
            raise PlanRefused(
                "this machine already observes this cluster",
                code="LOCKED",
                hint="Nothing was sent. Wait until it ends; its request log has all requests in the meantime.",
            )
        yield


def left_on(kafka: LiveKafka) -> list[str]:
    """The lines that switch off what an observation of this machine left on when it was killed."""
    if _place(kafka.id).exists():
        with suppress(PlanRefused), _alone(kafka.id):
            return _left_on(kafka)
    return []


def notes_left_on(kafka: LiveKafka) -> list[str]:
    """The same as notes of an answer, each with the line that switches a log off."""
    return [f"{LEFT_ON}: {line}" for line in left_on(kafka)]


def _left_on(kafka: LiveKafka) -> list[str]:
    place = _place(kafka.id)
    if not place.exists():
        return []
    kept = documents.from_json(files.read_text(place, "what was switched on", _LARGEST))
    before = {int(broker): level for broker, level in kept["before"].items()}
    now = levels(kafka, before)
    lines = [restoring(broker, before[broker]) for broker, row in now.items() if row["value"] in (kept["level"], None)]
    if not lines:
        place.unlink(missing_ok=True)
    return lines


def restoring(broker: int, level: str | None) -> str:
    """The line that restores a level."""
    command = f"config set {LOGGER}={level}" if level else f"config reset {LOGGER}"
    return f"kadmin-nb {command} broker-logger={broker} --apply"
