"""`cluster.observe()`: the request log of every broker on for a bounded time, and off again whatever happens.

The levels of a broker's loggers live in its memory. They are set through a plan, and taken back to what they were when
the time is over. A guard, a process of its own (`observation_guard`), does it when this one cannot.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..client_configs.kafka import LiveKafka
from ..errors import (
    ExitState,
    Interrupted,
    Invalid,
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
from ..hints import Hint, Verb, sentence
from ..local_runs import all_runs
from ..model.changes import Change
from ..model.connection_settings import Settings
from ..model.resources import Resource
from ..plans.execution.executor import refuse_invalid
from ..plans.execution.progress import Advance, Progress
from ..plans.plan import Plan
from ..plans.stage import Stage
from .observation_guard import Guard, refuse_another

if TYPE_CHECKING:
    from ..frames.blocks import Block


NAME = "request.log"


class RequestLog:
    """One broker's request log, from the moment that this is made.

    log4j rolls the log at a size: the file that is written to gets another name, and the oldest is deleted.
    The file that is written to at that moment stays open, so that no later file gets its inode.
    """

    def __init__(self, first: IO[bytes], place: Path) -> None:
        self._first, self._place = os.fstat(first.fileno()).st_ino, place

    def files(self) -> tuple[list[Path], bool]:
        """The files with all that was written since, the oldest first; and whether none of them was deleted."""
        inodes, files = [], []
        for inode, file in _rolled(self._place):
            inodes.append(inode)
            files.append(file)
        if self._first not in inodes:
            return files, False
        return files[inodes.index(self._first) :], True


@contextmanager
def request_logs(cluster_id: str) -> Iterator[dict[int, RequestLog]]:
    """Those of a local Kafka's brokers by their ids, followed until the block ends; of others nobody can know."""
    with ExitStack() as stack:
        yield {
            broker: RequestLog(stack.enter_context(place.open("rb")), place)
            for broker, place in _log_places(cluster_id)
            if place.exists()
        }


def are_known(cluster_id: str) -> bool:
    """Is it a local Kafka's cluster?"""
    return any(True for _ in _log_places(cluster_id))


def _log_places(cluster_id: str) -> Iterator[tuple[int, Path]]:
    for folder, run in all_runs():
        if run.cluster_id == cluster_id:
            yield from ((number, folder / f"node-{number}" / NAME) for number in range(1, len(run.ports) + 1))


def _rolled(place: Path) -> list[tuple[int, Path]]:
    """Inode and path of the log and of what was rolled, oldest first; looked at until nothing moved in between."""
    before, now = None, _look(place)
    while now != before:
        before, now = now, _look(place)
    return now


def _look(place: Path) -> list[tuple[int, Path]]:
    """In the order of their last write; the one that is written to is the last."""
    files = []
    for file in place.parent.glob(f"{place.name}*"):
        with suppress(FileNotFoundError):  # it has another name by now
            status = file.stat()
            files.append((file == place, status.st_mtime_ns, status.st_ino, file))
    return [(inode, file) for _, _, inode, file in sorted(files)]


def beginning(file: Path) -> datetime:
    """The moment at which a log begins, by its first line: a local Kafka's log4j writes the time of this machine.

    Of a file that begins otherwise, the moment of its last write: nothing in it counts.
    """
    try:
        return datetime.fromisoformat(first_time(file).replace(",", ".")).astimezone(UTC)
    except ValueError:
        return datetime.fromtimestamp(file.stat().st_mtime, UTC)


def first_time(file: Path) -> str:
    """The time in front of the first line, as log4j writes it: the place where the log begins."""
    with file.open(errors="replace") as log:
        return log.read(40).partition("]")[0].lstrip("[")


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
"""Seconds for which this process tries to take the levels back; the guard tries longer."""

ELSEWHERE = "its log4j configuration names its log, often kafka-request.log; Kafka does not reveal it"

LOST, LOST_ALL = "log4j deleted rolled files: requests are missing before", "the log was deleted during the observation"

_CLIENTS = Verb("clients LOG… --broker ID", "kn.usage.upgrade_check(kn.usage.requests(…))")
LISTS_CLIENTS = "Pass the log to `clients`: it lists who sent deprecated requests."
ALL_REQUESTS = Hint(sentence("Observe all requests; then {} lists who sent which versions.", _CLIENTS))

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
        return "\n".join(mend(row["broker"], row["level_before"]) for row in rows)

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
    kafka: LiveKafka, settings: Settings, stage: Callable[[], Stage], seconds: float, progress: Progress, logged: Logged
) -> ObservationAnswer:
    """Switch on, wait, take back; see `Cluster.observe`."""
    if not 1 <= seconds <= logged.longest:
        raise UsageError(f"an observation of {seconds:g} s is not possible", hint=f"From 1 s to {logged.longest:g} s.")
    if logged == DEPRECATED_REQUESTS:
        _refuse_without_deprecated(kafka.version)
    refuse_another(kafka.id)
    before = levels(kafka, [broker.id for broker in kafka.brokers()])
    _refuse_blind(before)
    plan = _switch_on_plan(stage, before, seconds, logged)
    watch = _Watch(kafka, stage, plan, seconds, progress, logged)
    with request_logs(kafka.id) as logs:
        not_restored = _watched(watch, settings)
        answer = watch.answer(before, not_restored, logs)
    if watch.stopped is not None:
        how = "; a guard process keeps restoring the levels" if not_restored else ", and all log levels were restored"
        reason = f"the observation was stopped by Ctrl-C after {watch.lasted:.0f} s{how}"
        raise Interrupted(reason, outcomes=answer, hint=answer.lines or None)
    return answer.raise_for_errors() if not_restored else answer


def _watched(watch: _Watch, settings: Settings) -> dict[int, str]:
    """The brokers whose level is not back afterwards, and why."""
    if watch.plan is None:
        watch.wait(lambda: True)
        return {}
    with Guard.on(settings, watch.kafka.id, watch.plan, watch.seconds) as guard:
        return watch.carry_out(guard)


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
        self.kafka, self.stage, self.plan, self.seconds, self.progress = kafka, stage, plan, seconds, progress
        self.logged = logged
        self.since = self.until = kafka.now()
        self.stopped: KeyboardInterrupt | None = None

    @property
    def lasted(self) -> float:
        return (self.until - self.since).total_seconds()

    def carry_out(self, guard: Guard) -> dict[int, str]:
        """The brokers whose level is not back, and why; the guard is let go where there are none."""
        assert self.plan is not None
        try:
            _refuse_unguarded(guard.is_alive)
            self.plan.apply(lock=False).raise_for_errors()  # no editor sets levels: a killed one's lease would stay
            self.since = self.kafka.now()
            self.wait(guard.is_alive)
        except KeyboardInterrupt as exc:
            self.stopped = exc
        except PlanRefused:
            guard.release()  # nothing was sent
            raise
        finally:
            self.until = self.kafka.now()
            self.progress(Advance(_SECONDS, round(self.lasted), round(self.lasted)))
            not_restored = self._taken_back(guard)
        return not_restored

    def _taken_back(self, guard: Guard) -> dict[int, str]:
        if guard.is_released:
            return {}
        assert self.plan is not None
        try:
            not_restored = take_back(self.kafka, self.stage, self.plan.changes, WITHIN)
        except KeyboardInterrupt as exc:
            self.stopped = exc
            return {change_broker(change): "not restored by this process" for change in self.plan.changes}
        if not not_restored:
            guard.release()
        return not_restored

    def wait(self, may_go_on: Callable[[], bool]) -> None:
        """Until the time is over.

        Raises
        ------
        PartlyFailed
            Somebody ended the guard: without it nothing is certain.
        """
        end = self.kafka.monotonic() + self.seconds
        while (seconds_left := end - self.kafka.monotonic()) > 0:
            _refuse_unguarded(may_go_on)
            self.progress(Advance(_SECONDS, int(self.seconds - seconds_left), round(self.seconds), left=seconds_left))
            self.kafka.sleep(min(_BEAT, seconds_left))
        self.until = self.kafka.now()

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


def _refuse_unguarded(is_guarded: Callable[[], bool]) -> None:
    if not is_guarded():
        raise PartlyFailed("the guard of this observation ended, so it was stopped at once")


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
            f"{LOGGER} is still at {logged.level}, as far as is known: {not_restored[before.broker]}; a guard process "
            "keeps trying",
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


def take_back(
    kafka: LiveKafka,
    stage: Callable[[], Stage],
    changes: Sequence[Change],
    seconds: float,
) -> dict[int, str]:
    """Set what the changes have switched on back to what it was; the brokers where that failed, and why.

    It tries for so many seconds. A level that is no longer ours is left alone: a restart has lost it, or somebody has
    set another.
    """
    end, pause = kafka.monotonic() + seconds, _PAUSE
    pending = {change_broker(change): change for change in changes}
    not_restored = _tried(kafka, stage, pending)
    while not_restored and kafka.monotonic() < end:
        kafka.sleep(pause)
        pause = min(2 * pause, 5.0)
        not_restored = _tried(kafka, stage, {broker: pending[broker] for broker in not_restored})
    return not_restored


def _tried(kafka: LiveKafka, stage: Callable[[], Stage], pending: Mapping[int, Change]) -> dict[int, str]:
    """One attempt."""
    try:
        now = levels(kafka, pending)
        silent = {level.broker: level.message or str(level.error) for level in now if level.level is None}
        ours = [level.broker for level in now if level.level == pending[level.broker].wanted]
        return silent | _set_back(stage, {broker: pending[broker] for broker in ours})
    except (KadminError, OSError) as exc:
        return dict.fromkeys(pending, str(exc))


def _set_back(stage: Callable[[], Stage], changes: Mapping[int, Change]) -> dict[int, str]:
    """By an ordinary plan, a journal and all."""
    if not changes:
        return {}
    wishes = stage()
    for broker, change in changes.items():
        if change.old is None:
            wishes.reset_config(LOGGER, broker_logger=broker)
        else:
            wishes.set_config(LOGGER, change.old, broker_logger=broker)
    plan = wishes.plan("the observation is over")
    failed = plan.apply(lock=False, verify_timeout=PATIENCE, quiet_period=PATIENCE).failed.to_arrow().to_pylist()
    failures = {row["resource"]: row["message"] or row["error"] or row["state"] for row in failed}
    return {broker: failures[str(c.resource)] for broker, c in changes.items() if str(c.resource) in failures}


def change_broker(change: Change) -> int:
    """The broker whose logger a change sets."""
    broker = change.resource.broker
    if broker is None:
        raise Invalid(f"{change.resource} is not a logger of a broker")
    return broker


def mend(broker: int, level: str | None) -> str:
    """The line that takes a level back."""
    command = f"config set {LOGGER}={level}" if level else f"config reset {LOGGER}"
    return f"kadmin-nb {command} broker-logger={broker} --apply"
