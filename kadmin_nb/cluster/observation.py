"""`cluster.observe()`: the request log of every broker on for a bounded time, and off again whatever happens.

The levels of a broker's loggers live in its memory. They are set through a plan, and taken back to what they were when
the time is over, after an error, Ctrl-C or SIGTERM, and when Python ends. What is switched on is written down before:
of a process that was killed, `left_on` has the lines that switch it off.
"""

from __future__ import annotations

import atexit
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from .. import documents, files
from ..client_configs.kafka import LiveKafka
from ..errors import (
    ExitState,
    Interrupted,
    KadminError,
    PartlyFailed,
    PlanRefused,
    Unsupported,
    UsageError,
    kind_of,
)
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Page
from ..frames.schema_metadata import stamped
from ..model.resources import Resource
from ..paths import state_dir
from ..plans.execution.executor import refuse_invalid
from ..plans.execution.progress import Advance, Progress
from ..plans.plan import Plan
from ..plans.stage import Stage
from .request_logs import RequestLog, first_time, request_logs

if TYPE_CHECKING:
    from ..frames.blocks import Block


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
"""Seconds for which it tries to take the levels back."""

ELSEWHERE = (
    "each broker writes its log where its log4j configuration says, often logs/kafka-request.log, which cannot be read "
    "from here: copy it, and read it with `quota usage LOG --broker ID`"
)

LOST, LOST_ALL = "log4j deleted rolled files: requests are missing before", "the log was deleted during the observation"

LISTS_CLIENTS = "Pass the log to the runbook upgrade_check: it lists who sent deprecated requests."
ALL_REQUESTS = "Observe all requests; then the runbook upgrade_check lists who sent which versions."

_SECONDS = "seconds observed"
KEPT, RESTORED, MOVED, LEFT, SKIPPED = "kept", "restored", "moved", "left", "skipped"
_PAUSE, _BEAT = 0.2, 0.5


class ObservationAnswer(Answer):
    """OBSERVED. A row fails where the logger is still on, or could not be switched on."""

    @property
    def logs(self) -> tuple[str, ...]:
        """The files that the requests are in, those of a broker oldest first, where they are known."""
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

    def _failing(self) -> pa.Array:
        return pc.is_in(self._table["state"], pa.array([LEFT, SKIPPED]))

    @property
    def _anything_changed(self) -> bool:
        """True if a logger may still be on."""
        return LEFT in self._table["state"].to_pylist()

    @property
    def lines(self) -> str:
        """The commands that take back the remaining levels, a line a broker."""
        rows = (row for row in self._table.to_pylist() if row["state"] == LEFT)
        return "\n".join(switching_line(row["broker"], row["level_before"]) for row in rows)

    def raise_for_errors(self) -> ObservationAnswer:
        """Itself where every broker was observed, and its logger is back where it was.

        Raises
        ------
        PartlyFailed
            A logger is still on, or was never on; the hint has the lines that take it back.
        """
        if not self.ok:
            raise PartlyFailed("; ".join(self.failures), outcomes=self, hint=self.lines or None)
        return self

    def _exit_state(self, detailed: bool = False) -> ExitState:
        """A logger that is still on, or never was, is a change that is not verified."""
        return ExitState.DONE if self.ok else ExitState.PARTLY

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The lines that take levels back, and where the requests are."""
        from ..frames.blocks import Listing

        below = [*self.lines.splitlines(), *self.warnings, *(f"request log: {log}" for log in self.logs)]
        return [Listing(below, len(below), "lines", types=True)] if below else []


@dataclass(frozen=True)
class Level:
    """The level of one broker's logger, or the reason why it is unknown."""

    broker: int
    level: str | None
    error: str | None = None
    message: str | None = None


def observe(
    kafka: LiveKafka, stage: Callable[[], Stage], seconds: float, progress: Progress, logged: Logged
) -> ObservationAnswer:
    """Switch on, wait, take back; see `Cluster.observe`."""
    if not 1 <= seconds <= logged.longest:
        raise UsageError(f"an observation of {seconds:g} s is not possible", hint=f"From 1 s to {logged.longest:g} s.")
    if logged == DEPRECATED_REQUESTS:
        _refuse_without_deprecated(kafka.version)
    with _alone(kafka.id), request_logs(kafka.id) as logs:
        if lines := _left_on(kafka):
            raise PlanRefused(LEFT_ON, code="LEFT_ON", hint="\n".join(lines))
        before = levels(kafka, [broker.id for broker in kafka.brokers()])
        _refuse_blind(before)
        watch = _Watch(kafka, stage, _switch_on_plan(stage, before, seconds, logged), seconds, progress, logged)
        not_restored = watch.carry_out(logs)
        answer = watch.answer(before, not_restored, logs)
    if watch.stopped is not None:
        how = "; some log levels are not restored" if not_restored else ", and all log levels were restored"
        reason = f"the observation was stopped by Ctrl-C after {watch.lasted:.0f} s{how}"
        raise Interrupted(reason, outcomes=answer, hint=answer.lines or None)
    return answer.raise_for_errors() if not_restored else answer


class _Watch:
    """One observation: from the plan to what became of it."""

    def __init__(
        self,
        kafka: LiveKafka,
        stage: Callable[[], Stage],
        plan: Plan | None,
        seconds: float,
        progress: Progress,
        logged: Logged,
    ) -> None:
        self.kafka, self.stage, self.seconds, self.progress, self.logged = kafka, stage, seconds, progress, logged
        self.plan = plan
        self.before = {} if plan is None else {c.resource.broker or 0: c.old for c in plan.changes}
        self.since = self.until = kafka.now()
        self.stopped: KeyboardInterrupt | None = None

    @property
    def lasted(self) -> float:
        return (self.until - self.since).total_seconds()

    def carry_out(self, logs: Mapping[int, RequestLog]) -> dict[int, str]:
        """The brokers whose level is not back, and why."""
        _write_down(self.kafka.id, self.before, self.logged)
        with _ending_first(self._take_back):
            try:
                if self.plan is not None:
                    self.plan.apply(lock=False).raise_for_errors()  # no editor sets levels: a killed one's lease stays
                self.since = self.kafka.now()
                if not logs:
                    warnings.warn(ELSEWHERE, stacklevel=2)
                self._wait()
            except KeyboardInterrupt as exc:
                self.stopped = exc
            finally:
                self.until = self.kafka.now()
                self.progress(Advance(_SECONDS, round(self.lasted), round(self.lasted)))
                not_restored = self._take_back()
        return not_restored

    def _take_back(self) -> dict[int, str]:
        """The brokers whose level is not back, and why, after trying for a while."""
        end, not_restored = self.kafka.monotonic() + WITHIN, dict.fromkeys(self.before, "it was stopped meanwhile")
        try:
            while not_restored := self._tried([*not_restored]):
                if self.kafka.monotonic() > end:
                    return not_restored
                self.kafka.sleep(_PAUSE)
        except KeyboardInterrupt as exc:
            self.stopped = exc
            return not_restored
        _place(self.kafka.id).unlink(missing_ok=True)
        return {}

    def _tried(self, brokers: Sequence[int]) -> dict[int, str]:
        """One attempt. A level that is no longer ours stays: a restart has lost it, or somebody has set another."""
        try:
            now = levels(self.kafka, brokers)
            silent = {one.broker: one.message or str(one.error) for one in now if one.level is None}
            return silent | self._set_back([one.broker for one in now if one.level == self.logged.level])
        except (KadminError, OSError) as exc:
            return dict.fromkeys(brokers, str(exc))

    def _set_back(self, brokers: Sequence[int]) -> dict[int, str]:
        """By an ordinary plan, a journal and all."""
        if not brokers:
            return {}
        wishes = self.stage()
        for broker in brokers:
            wishes.set_config(LOGGER, self.before[broker], broker_logger=broker)
        plan = wishes.plan("the observation is over")
        done = plan.apply(lock=False, verify_timeout=PATIENCE, quiet_period=PATIENCE).failed.to_arrow().to_pylist()
        failures = {row["resource"]: row["message"] or row["error"] or row["state"] for row in done}
        return {c.resource.broker or 0: failures[str(c.resource)] for c in plan.changes if str(c.resource) in failures}

    def _wait(self) -> None:
        """Until the time is over."""
        end = self.kafka.monotonic() + self.seconds
        while (seconds_left := end - self.kafka.monotonic()) > 0:
            self.progress(Advance(_SECONDS, int(self.seconds - seconds_left), round(self.seconds), left=seconds_left))
            self.kafka.sleep(min(_BEAT, seconds_left))

    def answer(
        self, before: Sequence[Level], not_restored: Mapping[int, str], logs: Mapping[int, RequestLog]
    ) -> ObservationAnswer:
        """OBSERVED, a row a broker."""
        after = {level.broker: level for level in levels(self.kafka, [level.broker for level in before if level.level])}
        rows = (self._row(level, after.get(level.broker), not_restored) for level in before)
        located = (_located(row, logs.get(row["broker"])) for row in rows)
        answer = ObservationAnswer(stamped(schemas.table(schemas.OBSERVED, located), self.kafka.id))
        if self.logged == DEPRECATED_REQUESTS:
            answer.hint = LISTS_CLIENTS
        return answer

    def _row(self, before: Level, after: Level | None, not_restored: Mapping[int, str]) -> dict[str, Any]:
        state, message = _became(before, after, not_restored, self.logged)
        return {
            "broker": before.broker,
            "state": state,
            "level_before": before.level,
            "level_after": after.level if after else None,
            "since": None if state == SKIPPED else self.since,
            "until": None if state == SKIPPED else self.until,
            "message": message,
        }


@contextmanager
def _ending_first(take_back: Callable[[], object]) -> Iterator[None]:
    """SIGTERM and a terminal that closes end the block as Ctrl-C does, and Python takes the levels back before it ends.

    Signals come to the main thread alone.
    """

    def end(number: int, frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, end) for number in _SIGNALS if is_main}
    atexit.register(take_back)
    try:
        yield
    finally:
        atexit.unregister(take_back)
        for number, handler in before.items():
            signal.signal(number, handler)


_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


# --- what is switched on, written down ---

_LARGEST = 1 << 20
"""Bytes of what is written down."""


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


def _write_down(cluster_id: str, before: Mapping[int, str | None], logged: Logged) -> None:
    levels_before = {f"{broker}": level for broker, level in before.items()}
    files.write(_place(cluster_id), documents.to_json({"level": logged.level, "before": levels_before}))


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
    now = levels(kafka, map(int, kept["before"]))
    lines = [
        switching_line(one.broker, kept["before"][f"{one.broker}"]) for one in now if one.level in (kept["level"], None)
    ]
    if not lines:
        place.unlink(missing_ok=True)
    return lines


LEFT_ON = "an observation was killed, and left the brokers' request logs on"


def _located(row: dict[str, Any], log: RequestLog | None) -> dict[str, Any]:
    """With the files of its log, or why they are not named."""
    if row["state"] == SKIPPED:
        return row
    files, complete, further = (None, None, ELSEWHERE) if log is None else _files(log)
    message = "; ".join(filter(None, [row["message"], further])) or None
    return {**row, "logs": files, "complete": complete, "message": message}


def _files(log: RequestLog) -> tuple[list[str], bool, str | None]:
    """The files, whether they are all, and a sentence where they are not."""
    files, complete = log.files()
    lost = None if complete else f"{LOST} {first_time(files[0])}" if files else LOST_ALL
    return [str(file) for file in files], complete, lost


def _became(
    before: Level, after: Level | None, not_restored: Mapping[int, str], logged: Logged
) -> tuple[str, str | None]:
    if before.level is None:
        return SKIPPED, f"not observed: {before.message or before.error}"
    if before.broker in not_restored:
        return (
            LEFT,
            f"{LOGGER} is still at {logged.level}, as far as is known: {not_restored[before.broker]}",
        )
    same = after is None or after.level in (None, before.level)
    if before.level in logged.enough:
        return KEPT, f"was at {before.level} before" + ("" if same else ", and it was switched off since")
    return (RESTORED, None) if same else (MOVED, "another level was set since")


def levels(kafka: LiveKafka, brokers: Iterable[int]) -> list[Level]:
    """The level of each of these brokers' request loggers."""
    return [_level(kafka, broker) for broker in brokers]


def _level(kafka: LiveKafka, broker: int) -> Level:
    loggers = [Resource("BROKER_LOGGER", str(broker))]
    rows = kafka.configs.describe(loggers, [LOGGER], synonyms=False, timeout=PATIENCE).to_pylist()
    for row in rows:
        if row["error"] is not None:
            return Level(broker, None, row["error"], row["message"])
        if row["key"] == LOGGER:
            return Level(broker, row["value"])
    return Level(broker, None, "INVALID_CONFIG", f"it has no {LOGGER}")


def _refuse_blind(before: Sequence[Level]) -> None:
    """Refuse where no broker tells its level."""
    if all(level.level is None for level in before):
        first = before[0]
        raise kind_of(first.error)(
            f"{first.error} while reading the loggers of broker {first.broker}: {first.message}",
            code=first.error,
            hint="It needs DESCRIBE_CONFIGS and ALTER_CONFIGS on the cluster."
            if first.error == "CLUSTER_AUTHORIZATION_FAILED"
            else None,
        )


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


def _switch_on_plan(stage: Callable[[], Stage], before: Sequence[Level], seconds: float, logged: Logged) -> Plan | None:
    """The plan that switches it on where it is off; None where it is on everywhere.

    Raises
    ------
    PlanRefused
        The brokers would not take it. Nothing was sent.
    """
    wishes = stage()
    for level in before:
        if level.level is not None and level.level not in logged.enough:
            wishes.set_config(LOGGER, logged.level, broker_logger=level.broker)
    if not len(wishes):
        return None
    plan = wishes.plan(f"observe for {seconds:g} s")
    refuse_invalid([*plan.refused, *plan.unauthorized], len(plan))
    return plan


def switching_line(broker: int, level: str | None) -> str:
    """The line that takes a level back."""
    command = f"config set {LOGGER}={level}" if level else f"config reset {LOGGER}"
    return f"kadmin-nb {command} broker-logger={broker} --apply"
