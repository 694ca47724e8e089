"""`quota usage`, `near` and `top`: what clients used; and where that is read from."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from . import completions, options
from .change_options import changing
from .click_glue import FRAME, Verb
from .history import history_at
from .options import Finite, Length
from .session import Note, PlanOptions, Session, spark_answer, typed_frame, usage_frame, where_spark_is, with_progress

if TYPE_CHECKING:
    from ..frames.answer import Answer
    from ..usage.engines import LogEngine, Usage
    from ..usage.request_log import Counts, Requests

EVERY = "1 second"
QUIET, REPEAT = 0.5, 0.2
"""Seconds before it is told how far a log is read, and until the next time."""

_BROKER_HINT = (
    r"--broker 3, --broker 'broker-(\d+)/' on each file's path, or --broker cluster: the current cluster's addresses."
)


@dataclass(frozen=True)
class UsageSource:
    """The source of usage and the engine, as the options say it."""

    paths: tuple[str, ...] = ()
    broker: str | None = None
    tz: str | None = None
    names: str | None = None
    every: str | None = None
    prometheus: str | None = None
    since: str = "1h ago"
    until: str = "now"
    step: float = 15.0
    label: str = "broker"
    broker_of: tuple[str, ...] = ()
    token: str | None = None
    usage: Any = None
    dedupe: bool = True
    strict: bool = False
    record_sizes: Any = None
    engine: str | None = None

    @property
    def is_named(self) -> bool:
        """Is there a source?"""
        return bool(self.paths or self.prometheus) or self.usage is not None

    def check(self, of_lines: bool = False) -> None:
        """Refuse what cannot be meant, before anything is read."""
        sources = sum((bool(self.paths), bool(self.prometheus), self.usage is not None))
        if sources != 1:
            problem = "a source of usage is required" if not sources else "usage takes one source"
            raise UsageError(problem, hint="Paths of a request log, --prometheus URL, or --usage NAME, a USAGE frame.")
        if of_lines and not self.paths:
            raise UsageError("only a request log has lines", hint="Give its paths.")
        if self.record_sizes is not None and not self.paths:
            raise UsageError("--record-sizes is for a request log", hint="Metrics have the bytes of share consumers.")
        if self.broker_of and not self.prometheus:
            raise UsageError("--broker-of is for a Prometheus", hint="For a request log: --broker.")
        if self.every and not self.paths:
            raise UsageError("--every is for a request log", hint="Metrics and frames have their own windows.")
        for path in self.paths:
            _refuse_what_is_no_path(path)
        if self.paths and self.broker is None:
            raise UsageError("--broker is required", hint=_BROKER_HINT)

    def read(self, session: Session) -> Usage:
        """USAGE, in its engine."""
        from ..usage.engines import Usage

        if self.paths:
            log = self.log()
            with where_spark_is(session, log.is_spark):
                requests = self.requests(session, log)
                note(session, requests.warnings)
                return Usage.of_log(requests, self.every or EVERY, log.why)
        with where_spark_is(session, self.engine == "spark"):
            if self.prometheus:
                return Usage.of_metrics(self.metrics(), self.engine)
            return Usage.of(usage_frame(session, self.usage), self.engine)

    def log(self) -> LogEngine:
        """The engine that reads the request log."""
        from ..usage.engines import LogEngine

        return LogEngine.of(self.paths, self.names, self.engine)

    def requests(self, session: Session, log: LogEngine) -> Requests:
        """The request log, its first lines looked at."""
        broker: Any = session.cluster.brokers if self.broker == "cluster" else self.broker
        broker = int(broker) if isinstance(broker, str) and broker.isdecimal() else broker
        how = {"broker": broker, "tz": self.tz, "dedupe": self.dedupe, "strict": self.strict}
        if self.record_sizes is not None:
            how["record_sizes"] = self._record_sizes(session)
        with session.watch() as tell:
            return log.requests(None if tell is None else _Reading(tell), **how)

    def _record_sizes(self, session: Session) -> Any:
        """Those of the current cluster, or a frame."""
        if isinstance(self.record_sizes, str) and self.record_sizes == "cluster":
            return session.cluster.record_sizes()
        from ..frames import schemas

        return typed_frame(session, self.record_sizes, schemas.RECORD_SIZES)

    def metrics(self) -> Answer:
        """METRICS out of Prometheus."""
        from ..model.times import moment
        from ..profiles.secret_references import read_reference
        from ..usage import prometheus

        token = read_reference(self.token, Path.cwd()) if self.token else None
        first, last = moment(self.since), moment(self.until)
        brokers = dict(map(_value_and_broker, self.broker_of))
        how: dict[str, Any] = {"step": self.step, "broker": self.label, "brokers": brokers, "token": token}
        return prometheus(str(self.prometheus), first, last, **how)


def _value_and_broker(text: str) -> tuple[str, int]:
    """A value of the label and the broker that it means, out of `VALUE=ID`."""
    value, _, broker = text.rpartition("=")
    if not value or not broker.isdecimal():
        raise UsageError(f"{text} is not VALUE=ID", hint="For example --broker-of kafka-a:9404=3.")
    return value, int(broker)


class _Reading:
    """Tells how far a log is read, now and then, once it takes long."""

    def __init__(self, tell: Note) -> None:
        self._tell, self._next = tell, time.monotonic() + QUIET

    def __call__(self, done: int, size: int) -> None:
        from ..model import figures

        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + REPEAT
        self._tell(f"reading the log: {figures.size(done)} of {figures.size(size)}, {figures.share(done / size)}")


def source(command: Any) -> Any:
    """The options that say where usage comes from; the command gets a `UsageSource` as its `source`."""
    for option in reversed((*_LOG_OPTIONS, *_USAGE_OPTIONS, _ENGINE)):
        command = option(command)
    return command


def bind_source(ctx: click.Context, session: Session, params: dict[str, Any]) -> None:
    """Those options as one object."""
    names = UsageSource.__dataclass_fields__
    params["source"] = UsageSource(**{name: params.pop(name) for name in names if name in params})


def note(session: Session, warnings: Iterable[str]) -> None:
    """Tell what a reader of the figures must know."""
    for warning in warnings:
        if session.note is not None:
            session.note(warning)


_LOG_OPTIONS = (
    click.argument("paths", nargs=-1, metavar="[PATH]..."),
    click.option(
        "--broker",
        metavar="WHO",
        help=r"The broker that wrote the log: an id, a pattern such as 'broker-(\d+)/', or cluster.",
    ),
    click.option("--tz", metavar="ZONE", help="The brokers' time zone, such as Europe/Berlin, if times have none."),
    click.option("--names", metavar="PATTERN", help="Only files with names like this: '*request*'."),
    click.option("--dedupe/--no-dedupe", default=True, help="Count a request once even if its line is read twice."),
    click.option(
        "--record-sizes",
        metavar="NAME",
        type=FRAME,
        help="Estimate the bytes of share consumers, by the current cluster (cluster), or a RECORD_SIZES frame.",
    ),
    click.option("--strict", is_flag=True, help="Fail on a damaged compressed file, instead of warning."),
)
_USAGE_OPTIONS = (
    click.option(
        "--every", metavar="LENGTH", help=f"The length of the windows, such as '5 minutes'; default: {EVERY}."
    ),
    click.option("--prometheus", metavar="URL", help="Read the quota metrics of this Prometheus."),
    click.option(
        "--since", default=UsageSource.since, show_default=True, metavar="TIME", help="Start of the Prometheus range."
    ),
    click.option("--until", default=UsageSource.until, show_default=True, metavar="TIME", help="Its end."),
    click.option("--step", default=UsageSource.step, show_default=True, metavar="SECONDS", help="Sampling interval."),
    click.option("--label", default=UsageSource.label, show_default=True, help="The label that names the broker."),
    click.option(
        "--broker-of",
        metavar="VALUE=ID",
        multiple=True,
        help="The broker that a value of that label means, if it has no number: kafka-a:9404=3.",
    ),
    click.option("--token", metavar="REFERENCE", help="A bearer token: env:NAME, file:PATH, keyring:NAME."),
    click.option("--usage", metavar="NAME", type=FRAME, help="A USAGE frame: a variable, or a Parquet or CSV file."),
)
_ENGINE = options.engine("The engine; default: by the size.")


def _refuse_what_is_no_path(path: str) -> None:
    if path.startswith(("http://", "https://")):
        raise UsageError(f"{path} is not a path", hint="Did you mean --prometheus URL?")
    if path.isidentifier() and not Path(path).exists():
        raise UsageError(f"no such path: {path}", hint=f"For a frame: --usage {path}.")


_FORMS = {"json", "out", "form"}
"""Options by which an answer is rows alone."""


def _note_unless_shown(session: Session, warnings: Iterable[str]) -> None:
    """Tell what stands below a table, where the answer is rows alone."""
    if _FORMS & {*click.get_current_context().meta}:
        note(session, warnings)


def _reading(command: Any) -> Any:
    return options.reading(command, bind_source)


def _changing(command: Any) -> Any:
    return changing(command, bind_source)


def _percent(name: str, default: float | None, most: float, text: str) -> Callable[[options.Command], options.Command]:
    """An option in percent, from 0 to the most."""
    return click.option(
        f"--{name}",
        type=Finite(min=0, max=most),
        default=default,
        show_default=default is not None,
        metavar="PERCENT",
        help=text,
    )


@click.command(cls=Verb)
@_reading
@source
@click.option(
    "--utilisation", is_flag=True, help="Compare with the current cluster's limits, a row for each broker and bucket."
)
@click.option("--clients", is_flag=True, help="Only the clients, PAIRS, for resolve --pairs.")
@click.option("--lines", is_flag=True, help="How the log's lines were read: how many are left out, and why.")
@click.option("--quarantine", is_flag=True, help="The log's lines that are not requests.")
@options.assume_default
def usage(
    session: Session, source: UsageSource, utilisation: bool, clients: bool, lines: bool, quarantine: bool,
    assume_default: bool,
) -> Any:  # fmt: skip
    """Show the usage of each client on each broker, by window.

    The answer is a USAGE frame.

    \b
    {here} logs/kafka-request.log* --broker 1 --tz UTC
    {here} logs --broker 'broker-(\\d+)/' --tz UTC --every '1 minute' --out usage.parquet
    {here} --prometheus http://prometheus:9090 --since '2h ago' --utilisation
    """
    if utilisation + clients + lines + quarantine > 1:
        raise UsageError(
            "--utilisation, --clients, --lines and --quarantine cannot be combined", hint="Use one at a time."
        )
    source.check(lines or quarantine)
    if lines or quarantine:
        return _of_lines(session, source, quarantine)
    used = source.read(session)
    with where_spark_is(session, used.is_on_spark):
        return with_progress(_answer(session, used, utilisation, clients, assume_default), session)


@click.command(cls=Verb)
@_reading
@options.detailed("a limit is near, 1 when that is not known")
@source
@options.keys(completions.quota_keys)
@click.option(
    "--percent",
    type=Finite(min=0, max=10**6),
    default=80.0,
    show_default=True,
    help="The share of a limit from which it counts as near.",
)
@click.option("--history", metavar="WHERE", help="Judge each window by the limit of its time, by this history.")
@options.assume_default
def near(
    session: Session, source: UsageSource, keys: tuple[str, ...], percent: float, history: str | None,
    assume_default: bool,
) -> Any:  # fmt: skip
    """List clients near or over a limit, or throttled.

    The limits are those that the current cluster has now. The worst is listed first.

    \b
    {here} logs/kafka-request.log* --broker 1 --tz UTC
    {here} --usage usage.parquet --percent 60
    """
    source.check()
    used = source.read(session)
    of_its_time = history_at(history)
    with where_spark_is(session, used.is_on_spark):
        answer = session.cluster.quotas.near(
            used, percent=percent, keys=options.keys_of(keys), history=of_its_time, assume_default=assume_default
        )
        _note_unless_shown(session, answer.warnings)
        return answer


@click.command(cls=Verb)
@_reading
@source
@options.keys(completions.quota_keys)
@click.option("--most", type=int, default=10, show_default=True, help="The number of clients of each key.")
@click.option(
    "--for", "seconds", default="10s", show_default=True, type=Length(), metavar="TIME", help="Observe for this long."
)
def top(session: Session, source: UsageSource, keys: tuple[str, ...], most: int, seconds: float) -> Any:
    """List the clients that use most of each key.

    The usage is that of a log, metrics or a USAGE frame, or of right now, by observing. Observing reads the brokers'
    request logs, so it works only with brokers that `local` started: others do not reveal where their log is.

    \b
    {here} --for 20s
    {here} logs/kafka-request.log* --broker 1 --tz UTC --most 3
    """
    more: dict[str, Any] = {"keys": options.keys_of(keys), "most": most}
    if not source.is_named:
        answer = session.cluster.top(seconds=seconds, progress=session.progress, **more)
        _note_unless_shown(session, answer.warnings)
        return answer
    source.check()
    used = source.read(session)
    with where_spark_is(session, used.is_on_spark):
        from ..usage import top as top_of

        return top_of(used.answer(), **more)


@click.command(cls=Verb)
@_changing
@source
@options.keys(completions.quota_keys)
@_percent("percentile", 99.0, 100, "A limit is at least what so many percent of windows use.")
@_percent("headroom", 20.0, 1000, "Added to what is needed, in percent.")
@_percent("promise", 2.0, 50, "The most of its active time that a proposal throttles, in percent.")
@_percent("growth", None, 1000, "Growth of the use in 30 days, in percent; default: as the usage shows.")
@click.option("--stage", is_flag=True, help="Stage the proposals; in the terminal: plan them.")
@options.assume_default
def recommend(
    session: Session, source: UsageSource, keys: tuple[str, ...], percentile: float, headroom: float, promise: float,
    growth: float | None, stage: bool, assume_default: bool, plan_options: PlanOptions,
) -> Any:  # fmt: skip
    """Find limits that are too low, far too high, or unused.

    Each has the limit that was needed, and a promise of how much the proposed one throttles. It needs about a week of
    usage.

    \b
    {here} --usage usage.parquet
    {here} logs/kafka-request.log* --broker 1 --tz UTC --promise 5
    {here} --usage usage.parquet --save plan.json
    """
    is_changing = plan_options.asks_for_change(stage)
    source.check()
    used = source.read(session)
    asked: dict[str, Any] = {"percentile": percentile, "headroom": headroom, "promise": promise, "growth": growth}
    with where_spark_is(session, used.is_on_spark):
        answer = session.cluster.quotas.recommend(
            used, keys=options.keys_of(keys), assume_default=assume_default, **asked
        )
    edits = answer.edits() if is_changing else []
    return session.change(edits, plan_options) if edits else answer


def _of_lines(session: Session, source: UsageSource, quarantine: bool) -> Answer:
    """The lines of a request log, counted, or those in quarantine."""
    from ..frames.answer import Answer

    log = source.log()
    with where_spark_is(session, log.is_spark):
        requests = source.requests(session, log)
        if not quarantine:
            return _counted(requests.counts, session)
        return spark_answer(requests.quarantine, session) if log.is_spark else Answer(requests.quarantine)


def _counted(counts: Counts, session: Session) -> Answer:
    """LOG_LINES; what a reader must know of them is noted."""
    from ..frames.answer import Answer
    from ..frames.schemas import LOG_LINES, table

    note(session, counts.warnings)
    rows: list[tuple[str, str | None, int]] = [
        ("request", None, counts.requests),
        ("duplicate", None, counts.duplicates),
    ]
    rows += [("left out", reason, lines) for reason, lines in counts.left_out.items()]
    rows += [("quarantined", reason, lines) for reason, lines in counts.quarantined.items()]
    return Answer(table(LOG_LINES, (dict(zip(LOG_LINES.names, row, strict=True)) for row in rows)))


def _answer(session: Session, used: Usage, utilisation: bool, clients: bool, assume_default: bool) -> Answer:
    if utilisation:
        return session.cluster.quotas.utilisation(used, assume_default=assume_default)
    return used.clients() if clients else used.answer()
