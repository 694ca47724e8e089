"""`quota usage`, `near` and `top`: what clients used; and where that is read from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from ..model.config_units import length_of_time
from . import completions, options
from .click_glue import FrameName, Verb
from .options import Finite, Length
from .session import (
    FRAME_FILES,
    Session,
    usage_frame,
    where_spark_is,
)
from .state_verbs import history_at

if TYPE_CHECKING:
    from ..cluster.observation import ObservationAnswer
    from ..frames.answer import Answer

EVERY = "1 second"

_BROKER_HINT = r"--broker 3, or --broker 'broker-(\d+)/' on each file's path."
_SOURCES = "The paths of a request log, the URL of a Prometheus, or a USAGE frame: a variable, a .parquet or .csv file."

LAST_HOUR = ("1h ago", "now")
"""The range of a Prometheus that is read."""

SAMPLING = 15.0
"""Seconds between the samples of a Prometheus."""


@dataclass(frozen=True)
class UsageSource:
    """The source of usage and the engine, as the line says it: what a source is shows in its form."""

    sources: tuple[Any, ...] = ()
    broker: tuple[str, ...] = ()
    tz: str | None = None
    every: str | None = None
    between: tuple[str, str] | None = None
    token: str | None = None
    engine: str | None = None

    @property
    def url(self) -> str | None:
        """The address of a Prometheus."""
        return next(filter(is_url, self.sources), None)

    @property
    def frames(self) -> list[Any]:
        """The USAGE frames: objects, files of frames, and names without a path of that name."""
        return [one for one in self.sources if self._is_frame(one)]

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of a request log."""
        return tuple(str(one) for one in self.sources if not is_url(one) and not self._is_frame(one))

    def _is_frame(self, one: Any) -> bool:
        if not isinstance(one, str | Path):
            return True
        is_variable = isinstance(one, str) and one.isidentifier() and not self.broker and not Path(one).exists()
        return is_variable or (not is_url(one) and Path(one).suffix in FRAME_FILES)

    def check(self) -> None:
        """Refuse what cannot be meant, before anything is read."""
        if not self.sources:
            raise UsageError("a source of usage is required", hint=_SOURCES)
        if len(self.sources) > 1 and len(self.paths) < len(self.sources):
            raise UsageError("usage takes one source", hint="Several paths of a request log are one.")
        if self.between and not self.url:
            raise UsageError("--between is for a Prometheus", hint="A log and a frame are read whole.")
        if self.frames and (self.every or self.broker):
            raise UsageError("--every and --broker are for a request log or a Prometheus", hint="A frame has its own.")
        if self.paths and len(self.broker) != 1:
            raise UsageError("one --broker is required", hint=_BROKER_HINT)

    def read(self, session: Session) -> Any:
        """USAGE where its engine wants it: a table, or a DataFrame of Spark's."""
        from ..usage import usage, usage_from_metrics
        from ..usage.engines import log_requests, placed_usage, reads_on_spark

        if self.paths:
            (broker,) = (int(text) if text.isdecimal() else text for text in self.broker)
            with where_spark_is(on_spark := reads_on_spark(self.paths, self.engine)):
                requests = log_requests(self.paths, on_spark, broker=broker, tz=self.tz)
                if not on_spark:  # there the log would be read once more for it
                    session.warn(*requests.counts.warnings)
                return usage(requests, self.every or EVERY)
        with where_spark_is(self.engine == "spark"):
            given = usage_from_metrics(self.metrics()) if self.url else usage_frame(session, self.frames[0])
            return placed_usage(given, self.engine)

    def metrics(self) -> Answer:
        """METRICS out of Prometheus."""
        from ..model.config_units import moment
        from ..profiles.secret_references import read_reference
        from ..usage import prometheus

        token = read_reference(self.token, Path.cwd()) if self.token else None
        first, last = map(moment, self.between or LAST_HOUR)
        length = length_of_time(self.every or f"{SAMPLING}s")
        if length is None:
            raise UsageError(f"{self.every} is not the time between samples", hint="For example --every 30s.")
        step = length.total_seconds()
        return prometheus(str(self.url), first, last, step=step, token=token, **self._labels())

    def _labels(self) -> dict[str, Any]:
        """The label that names the broker, and the brokers that its values mean, out of `LABEL` and `VALUE=ID`."""
        named = [text.rpartition("=") for text in self.broker]
        labels = [text for _, sign, text in named if not sign]
        brokers = {value: int(broker) for value, sign, broker in named if sign and value and broker.isdecimal()}
        if len(labels) > 1 or len(labels) + len(brokers) < len(named):
            raise UsageError("--broker is one label, or VALUE=ID", hint="For example --broker kafka-a:9404=3.")
        return {"brokers": brokers, **({"broker": labels[0]} if labels else {})}


def is_url(source: object) -> bool:
    """True of the address of a Prometheus."""
    return isinstance(source, str) and source.startswith(("http://", "https://"))


class _Source(FrameName):
    """Where usage comes from."""

    def given(self, value: object) -> object:
        """The object; a text is an address or a path, and never evaluated."""
        return value if is_url(value) else super().given(value)


def source(command: options.Command) -> options.Command:
    """The options that say where usage comes from; the command gets a `UsageSource` as its `source`."""

    @click.argument("sources", nargs=-1, metavar="[SOURCE]...", type=_Source())
    @click.option(
        "--broker",
        metavar="WHO",
        multiple=True,
        help=r"Whose log it is: an id, or a pattern such as 'broker-(\d+)/'. For a Prometheus: the label that "
        "names the broker, or VALUE=ID of a value without its number.",
    )
    @click.option("--tz", metavar="ZONE", help="The brokers' time zone, such as Europe/Berlin, if times have none.")
    @click.option(
        "--every",
        metavar="LENGTH",
        help=f"The windows of a log (default: {EVERY}); the time between samples of a Prometheus "
        f"({SAMPLING:.0f} seconds).",
    )
    @click.option(
        "--between", nargs=2, metavar="FROM TO", help=f"The range of a Prometheus; default: '{LAST_HOUR[0]}' now."
    )
    @click.option("--token", metavar="REFERENCE", help="A bearer token: env:NAME, file:PATH, keyring:NAME.")
    @options.engine("The engine; default: by the size.")
    @wraps(command)
    def run(session: Session, /, **params: Any) -> Any:
        return command(session, source=options.taken(UsageSource, params), **params)

    return run


_FORMS = {"json", "out", "form"}
"""Options by which an answer is rows alone."""


def _note_unless_shown(session: Session, warnings: Iterable[str]) -> None:
    """Tell what stands below a table, where the answer is rows alone."""
    if _FORMS & {*click.get_current_context().meta}:
        session.warn(*warnings)


@click.command(cls=Verb)
@options.reading
@source
@click.option(
    "--utilisation", is_flag=True, help="Compare with the current cluster's limits, a row for each broker and bucket."
)
@click.option("--clients", is_flag=True, help="Only the clients, PAIRS, for resolve --pairs.")
@options.assume_default
def usage(session: Session, source: UsageSource, utilisation: bool, clients: bool, assume_default: bool) -> Any:
    """Show the usage of each client on each broker, by window.

    The answer is a USAGE frame.

    \b
    {here} logs/kafka-request.log* --broker 1 --tz UTC
    {here} logs --broker 'broker-(\\d+)/' --tz UTC --every '1 minute' --out usage.parquet
    {here} http://prometheus:9090 --between '2h ago' now --utilisation
    """
    from ..frames.lazy_answer import answered
    from ..frames.spark import is_spark
    from ..usage import known_clients

    options.refuse_together({"--utilisation": utilisation, "--clients": clients})
    source.check()
    used = source.read(session)
    with where_spark_is(is_spark(used)):
        if utilisation:
            return session.cluster.quotas.utilisation(used, assume_default=assume_default, engine=source.engine)
        return answered(known_clients(used) if clients else used, {})


observing = click.option(
    "--for", "seconds", default="20s", show_default=True, type=Length(), metavar="TIME",
    help="Without a SOURCE: observe for this long.",
)  # fmt: skip
"""The time that is observed where no usage is given."""


def _observed(session: Session, seconds: float) -> ObservationAnswer:
    """An observation of the brokers whose requests can be read from here."""
    return session.cluster.observe(seconds, to_read=True, progress=session.progress)


@click.command(cls=Verb)
@options.reading
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
@observing
@options.assume_default
def near(
    session: Session, source: UsageSource, keys: tuple[str, ...], percent: float, history: str | None, seconds: float,
    assume_default: bool,
) -> Any:  # fmt: skip
    """List clients near or over a limit, or throttled.

    The limits are those that the current cluster has now. The worst is listed first. Without a SOURCE a local Kafka is
    observed.

    \b
    {here} --for 20s
    {here} logs/kafka-request.log* --broker 1 --tz UTC
    {here} usage.parquet --percent 60
    """
    from ..frames.spark import is_spark

    more: dict[str, Any] = {"percent": percent, "keys": options.keys_of(keys), "assume_default": assume_default}
    if not source.sources:
        answer = session.cluster.quotas.near(_observed(session, seconds).requests(), **more)
        _note_unless_shown(session, answer.warnings)
        return answer
    source.check()
    used = source.read(session)
    with where_spark_is(is_spark(used)):
        answer = session.cluster.quotas.near(used, history=history_at(history), engine=source.engine, **more)
        _note_unless_shown(session, answer.warnings)
        return answer


@click.command(cls=Verb)
@options.reading
@source
@options.keys(completions.quota_keys)
@click.option("--most", type=int, default=10, show_default=True, help="The number of clients of each key.")
@observing
def top(session: Session, source: UsageSource, keys: tuple[str, ...], most: int, seconds: float) -> Any:
    """List the clients that use most of each key.

    The usage is that of a log, metrics or a USAGE frame, or of right now, by observing. Observing reads the brokers'
    request logs, so it works only with brokers that `local` started: others do not reveal where their log is.

    \b
    {here} --for 20s
    {here} logs/kafka-request.log* --broker 1 --tz UTC --most 3
    """
    from ..frames.spark import is_spark
    from ..usage import top as top_of

    more: dict[str, Any] = {"keys": options.keys_of(keys), "most": most}
    if not source.sources:
        answer = _observed(session, seconds).top(**more)
        _note_unless_shown(session, answer.warnings)
        return answer
    source.check()
    used = source.read(session)
    with where_spark_is(is_spark(used)):
        return top_of(used, **more)
