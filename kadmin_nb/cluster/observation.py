"""`cluster.observe()`: the request log of every broker on for a bounded time, and off again whatever happens; and the
requests in the logs of a local Kafka, those that log4j has rolled too.

The levels of a broker's loggers live in its memory. They are restored when the time is over, after an error, Ctrl-C or
SIGTERM, and when Python ends. What is switched on is written down before: of a process that was killed, `left_on` has
the lines that switch it off.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from .. import documents, files, usage
from ..admin.ports import ConfigOperation
from ..client_configs.kafka import LiveKafka
from ..errors import (
    ExitState,
    Interrupted,
    KadminError,
    NotFound,
    NotKnowable,
    PartlyFailed,
    PlanRefused,
    UsageError,
    kind_of,
)
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Listing, Page
from ..frames.schemas import mark, noted, stamped
from ..local_runs import all_runs
from ..model import rights
from ..model.changes import SET, Refusal
from ..model.findings import Row
from ..model.resources import Resource
from ..paths import state_dir
from ..plans.execution.progress import Advance, Progress

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..usage.near_and_top import TopAnswer


LOGGER = "kafka.request.logger"
LEVEL = "DEBUG"
"""At which each request is a line of a kilobyte on the broker's disk."""

_ENOUGH = (LEVEL, "TRACE")
LONGEST = 3600.0
"""Seconds of an observation, at most."""

PATIENCE = 10.0
"""Seconds that one broker is given to tell a level."""

WITHIN = 30.0
"""Seconds for which it tries to restore the levels."""

ELSEWHERE = (
    "each broker writes its log where its log4j configuration says, often logs/kafka-request.log, which cannot be read "
    "from here: copy it, and read it with `quota usage LOG --broker ID`"
)

LEFT_ON = "an observation was killed, and left the brokers' request logs on"
_LARGEST = 1 << 20
"""Bytes of what is written down."""

KEPT, RESTORED, MOVED, LEFT, SKIPPED = "kept", "restored", "moved", "left", "skipped"
_PAUSE, _BEAT = 0.2, 0.5


class ObservationAnswer(Answer):
    """OBSERVED. A row fails where the logger is still on, or could not be switched on."""

    @property
    def logs(self) -> tuple[str, ...]:
        """The files that have the requests, where they are known; a broker's oldest file comes first."""
        return tuple(file for files in self._table["logs"].to_pylist() for file in files or ())

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for each broker whose log lacks a part of the observation: it is left out of the requests."""
        rows = (row for row in self._table.to_pylist() if row["complete"] is False)
        return tuple(f"WARNING: broker {row['broker']}: {row['message']}" for row in rows)

    @property
    def failures(self) -> tuple[str, ...]:
        """A line for each broker that was not observed, or whose logger is still on."""
        return tuple(f"broker {row['broker']}: {row['message']}" for row in self.failed._table.to_pylist())

    def requests(self) -> pa.Table:
        """REQUESTS of the time that was observed; its notes have the brokers whose logs lack them.

        Raises
        ------
        NotKnowable
            The request logs cannot be read from here, or all lack a part.
        """
        return noted(requests_of(self._logged()), self._missing())

    def top(self, *, keys: Sequence[str] | None = None, most: int = 10) -> TopAnswer:
        """TOP: the clients that used most of each key, or of these, in the time that was observed.

        Raises
        ------
        NotKnowable
            As of `requests`.
        """
        requests = requests_of(self._logged())
        seen = Observed.of(requests)
        assert seen is not None
        of_brokers = {"brokers": self._table["broker"].to_pylist(), "watched": seen.brokers}
        time, notes = (seen.since, seen.until), self._missing()
        return usage.top(usage.usage(requests), keys=keys, most=most, time=time, notes=notes, **of_brokers)

    def _logged(self) -> list[Row]:
        """The rows of brokers whose logs have all requests."""
        rows: list[Row] = [row for row in self._table.to_pylist() if row["complete"]]
        if not rows:
            raise NotKnowable(_DELETED, hint="Observe for a shorter time.") if self.warnings else _not_known()
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
        below = [*self.lines.splitlines(), *self.warnings, *(f"request log: {log}" for log in self.logs)]
        return [Listing(below)] if below else []


_DELETED = "log4j deleted rolled files, so that requests are missing"


def _not_known() -> NotKnowable:
    return NotKnowable(
        "brokers do not say where they write their request log",
        hint="Have them write it (observe), and name its files; or take the usage from metrics.",
    )


def observe(kafka: LiveKafka, seconds: float, progress: Progress, to_read: bool) -> ObservationAnswer:
    """Switch on, wait, restore; see `Cluster.observe`."""
    if to_read and not log_places(kafka.id):
        raise _not_known()
    if not 1 <= seconds <= LONGEST:
        raise UsageError(f"an observation of {seconds:g} s is not possible", hint=f"From 1 s to {LONGEST:g} s.")
    with _alone(kafka.id), request_logs(kafka.id) as logs:
        if lines := _left_on(kafka):
            raise PlanRefused(LEFT_ON, code="LEFT_ON", hint="\n".join(lines))
        before = levels(kafka, (broker.id for broker in kafka.brokers()))
        if all(row["value"] is None for row in before.values()):
            raise _unread(*next(iter(before.items())))
        ours = {broker: row["value"] for broker, row in before.items() if row["value"] not in (None, *_ENOUGH)}
        files.write(_place(kafka.id), documents.to_json({"level": LEVEL, "before": ours}))
        loggers = _Loggers(kafka, ours)
        since, stopped = kafka.now(), False
        with _ending_first(loggers.restored):
            try:
                loggers.switch_on()
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
                left = loggers.restored()
        times = {"since": since, "until": until}
        rows = [_row(broker, row, loggers, left.get(broker), logs.get(broker), times) for broker, row in before.items()]
    answer = ObservationAnswer(stamped(schemas.table(schemas.OBSERVED, rows), kafka.id))
    if stopped:
        how = "; some log levels are not restored" if left else ", and all log levels were restored"
        reason = f"the observation was stopped by Ctrl-C after {lasted:.0f} s{how}"
        raise Interrupted(reason, outcomes=answer, hint=answer.lines or None)
    return answer if not left or (to_read and answer.logs) else answer.raise_for_errors()


def _unread(broker: int, row: Row) -> KadminError:
    """The error of a cluster of which no broker tells its level, by the first."""
    error = row["error"]
    text = f"{error} while reading the loggers of broker {broker}: {row['message']}"
    return kind_of(error)(text, code=error, hint=rights.hint(error, rights.to_describe()))


def _wait(kafka: LiveKafka, seconds: float, progress: Progress) -> None:
    """Until the time is over."""
    end = kafka.monotonic() + seconds
    while (seconds_left := end - kafka.monotonic()) > 0:
        progress(Advance("seconds observed", int(seconds - seconds_left), round(seconds), left=seconds_left))
        kafka.sleep(min(_BEAT, seconds_left))


class _Loggers:
    """The request loggers of brokers, with the levels that they had before."""

    def __init__(self, kafka: LiveKafka, before: Mapping[int, str]) -> None:
        self._kafka, self._before = kafka, before
        self.moved = set[int]()
        """The brokers of which somebody has set another level meanwhile, or a restart has lost ours."""

    def switch_on(self) -> None:
        """Have each broker log its requests.

        Raises
        ------
        PlanRefused
            A broker refuses it.
        """
        for broker, why in self._set(dict.fromkeys(self._before, LEVEL)).items():
            raise PlanRefused(f"broker {broker} does not log its requests: {why}", code=why.code)

    def _set(self, levels_of: Mapping[int, str]) -> dict[int, Refusal]:
        """The brokers that refuse their level."""
        places = {Resource("BROKER_LOGGER", str(broker)): broker for broker in levels_of}
        wishes = {place: [ConfigOperation(SET, LOGGER, levels_of[broker])] for place, broker in places.items()}
        answers = self._kafka.configs.alter(wishes) if wishes else {}
        return {places[place]: refusal for place, refusal in answers.items() if refusal}

    def restored(self) -> dict[int, str]:
        """The brokers whose level is not back, and why, after trying for a while."""
        end, left = self._kafka.monotonic() + WITHIN, dict.fromkeys(self._before, "it was stopped meanwhile")
        with suppress(KeyboardInterrupt):
            while (left := self.tried([*left])) and self._kafka.monotonic() <= end:
                self._kafka.sleep(_PAUSE)
        if not left:
            _place(self._kafka.id).unlink(missing_ok=True)
        return left

    def tried(self, brokers: Sequence[int]) -> dict[int, str]:
        """One attempt. A level that is no longer ours stays."""
        try:
            now = levels(self._kafka, brokers)
            left = {broker: row["message"] for broker, row in now.items() if row["value"] is None}
            self.moved |= {b for b, row in now.items() if row["value"] not in (None, LEVEL, self._before[b])}
            ours = {broker: self._before[broker] for broker, row in now.items() if row["value"] == LEVEL}
            return left | {broker: str(why) for broker, why in self._set(ours).items()}
        except (KadminError, OSError) as exc:
            return dict.fromkeys(brokers, str(exc))


def _row(
    broker: int, before: Row, loggers: _Loggers, left: str | None, log: RequestLog | None, times: Mapping[str, datetime]
) -> Row:
    """OBSERVED of one broker: what became of its logger, and the files that its requests are in."""
    if before["value"] is None:
        return {"broker": broker, "state": SKIPPED, "message": f"not observed: {before['message']}"}
    if left is not None:
        state, message = LEFT, f"{LOGGER} is still at {LEVEL}, as far as is known: {left}"
    elif before["value"] in _ENOUGH:
        state, message = KEPT, f"was at {before['value']} before"
    else:
        state, message = (MOVED, "another level was set since") if broker in loggers.moved else (RESTORED, "")
    found, complete, further = (None, None, ELSEWHERE) if log is None else log.found()
    return {
        "broker": broker,
        "state": state,
        "level_before": before["value"],
        **times,
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


def restoring(broker: int, level: str) -> str:
    """The line that restores a level."""
    return f"kadmin-nb config set {LOGGER}={level} broker-logger={broker} --apply"


# --- the request logs of a local Kafka ---


NAME = "request.log"


class RequestLog:
    """One broker's request log, from the moment that this is made.

    log4j rolls the log at a size: the file that is written to gets another name, and the oldest is deleted.
    The file that is written to at that moment stays open, so that no later file gets its inode.
    """

    def __init__(self, first: IO[bytes], place: Path) -> None:
        self._first, self._place = os.fstat(first.fileno()).st_ino, place

    def found(self) -> tuple[list[str], bool, str | None]:
        """The files with all that was written since, the oldest first; whether none of them was deleted, and a sentence
        where one was."""
        files = []
        for file in self._place.parent.glob(f"{self._place.name}*"):
            with suppress(FileNotFoundError):  # it has another name by now
                status = file.stat()
                files.append((file == self._place, status.st_mtime_ns, status.st_ino, str(file)))
        files.sort()  # in the order of their last write; the one that is written to is the last
        names, inodes = [name for *_, name in files], [inode for _, _, inode, _ in files]
        if self._first in inodes:
            return names[inodes.index(self._first) :], True, None
        return names, False, _DELETED


@contextmanager
def request_logs(cluster_id: str) -> Iterator[dict[int, RequestLog]]:
    """The request logs of a local Kafka's brokers by their ids, followed until the block ends; none of any other."""
    places = {broker: place for broker, place in log_places(cluster_id).items() if place.exists()}
    with ExitStack() as stack:
        yield {broker: RequestLog(stack.enter_context(place.open("rb")), place) for broker, place in places.items()}


def log_places(cluster_id: str) -> dict[int, Path]:
    """Where each broker of a local Kafka writes its log; empty for any other cluster."""
    runs = ((folder, run) for folder, run in all_runs() if run.cluster_id == cluster_id)
    return {node: folder / f"node-{node}" / NAME for folder, run in runs for node in range(1, len(run.ports) + 1)}


def requests_of(logged: Sequence[Row]) -> pa.Table:
    """REQUESTS of the time that was observed: OBSERVED's rows of brokers whose logs have all."""
    since, until = logged[0]["since"], logged[0]["until"]
    offset = datetime.now().astimezone().strftime("%z")  # a local Kafka's log4j writes the time of this machine
    parts = [schemas.REQUESTS.empty()]
    for row in logged:
        with suppress(NotFound):  # nobody asked for anything, so there is no line
            log = usage.requests(row["logs"], broker=row["broker"], tz=f"{offset[:3]}:{offset[3:]}")
            times = log.frame["time"]
            observed = log.frame.filter(pc.and_(pc.greater_equal(times, since), pc.less_equal(times, until)))
            parts.append(observed.select(schemas.REQUESTS.names).cast(schemas.REQUESTS.schema))
    return Observed(frozenset(row["broker"] for row in logged), since, until).marked(pa.concat_tables(parts))


OBSERVED = "kadmin.observed"
"""Metadata of REQUESTS: the brokers and the time that were observed."""


@dataclass(frozen=True)
class Observed:
    """The brokers that were observed, from when to when."""

    brokers: frozenset[int]
    since: datetime
    until: datetime

    def marked(self, requests: pa.Table) -> pa.Table:
        """The requests with all this in their metadata."""
        times = [self.since.isoformat(), self.until.isoformat()]
        text = json.dumps({"brokers": sorted(self.brokers), "times": times})
        return schemas.marked(requests, {**(requests.schema.metadata or {}), OBSERVED: text})

    @classmethod
    def of(cls, requests: object) -> Observed | None:
        """What the metadata of requests say; None of requests that were not observed from here."""
        text = mark(requests, OBSERVED) if isinstance(requests, pa.Table) else None
        if text is None:
            return None
        found = json.loads(text)
        since, until = map(datetime.fromisoformat, found["times"])
        return cls(frozenset(found["brokers"]), since, until)
