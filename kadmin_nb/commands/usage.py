"""`quota usage`: what clients used, from a request log, a Prometheus or a USAGE frame; and beside the limits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from . import options, spark_inputs
from .click_glue import Verb
from .session import Session

if TYPE_CHECKING:
    from ..analytics import Requests
    from ..analytics.request_log import Counts
    from ..frames.answer import Answer

EVERY = "1 second"
_BROKER_HINT = (
    r"--broker 3, --broker 'broker-(\d+)/' on each file's path, or --broker cluster: the current cluster's addresses."
)


@dataclass(frozen=True)
class UsageSource:
    """The source of usage, as the options say it."""

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
    token: str | None = None
    usage: str | None = None
    dedupe: bool = True
    strict: bool = False

    def check(self, of_lines: bool) -> None:
        """Refuse what cannot be meant, before Spark starts."""
        sources = [source for source in (self.paths, self.prometheus, self.usage) if source]
        if len(sources) != 1:
            problem = "a source of usage is required" if not sources else "usage comes from one source"
            raise UsageError(problem, hint="Paths of a request log, --prometheus URL, or --usage NAME, a USAGE frame.")
        if of_lines and not self.paths:
            raise UsageError("only a request log has lines", hint="Give its paths.")
        if self.every and not self.paths:
            raise UsageError("--every is for a request log", hint="Metrics and frames have windows of their own.")
        for path in self.paths:
            _refuse_what_is_no_path(path)
        if self.paths and self.broker is None:
            raise UsageError("--broker is required", hint=_BROKER_HINT)

    def frame(self, session: Session) -> Any:
        """USAGE, in Spark."""
        from .. import analytics

        if self.paths:
            requests = self.requests(session)
            _note(session, requests.warnings)
            return analytics.usage(requests, self.every or EVERY)
        return analytics.usage_from_metrics(self._metrics()) if self.prometheus else self._named(session)

    def requests(self, session: Session) -> Requests:
        """The request log, its first lines looked at."""
        from .. import analytics
        from ..frames.spark import spark_session

        broker: Any = session.cluster.brokers if self.broker == "cluster" else self.broker
        broker = int(broker) if isinstance(broker, str) and broker.isdecimal() else broker
        here = [str(Path(path).absolute()) if Path(path).exists() else path for path in self.paths]
        how: dict[str, Any] = {"names": self.names, "dedupe": self.dedupe, "strict": self.strict}
        return analytics.requests(spark_session(), here, broker=broker, tz=self.tz, **how)

    def _metrics(self) -> Any:
        from .. import analytics
        from ..frames.times import moment
        from ..profiles.secret_references import read_reference

        token = read_reference(self.token, Path.cwd()) if self.token else None
        first, last = moment(self.since), moment(self.until)
        return analytics.prometheus(
            str(self.prometheus), first, last, step=self.step, broker=self.label, token=token
        ).to_spark()

    def _named(self, session: Session) -> Any:
        from ..frames import lazy_answer, spark

        frame = spark_inputs.usage_frame(session, str(self.usage))
        return frame.to_spark() if isinstance(frame, lazy_answer.SparkAnswer) else spark.taken(frame)


def _from(command: Any) -> Any:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.argument("paths", nargs=-1, metavar="[PATH]..."),
    click.option(
        "--broker",
        metavar="WHO",
        help=r"The broker that wrote the log: an id, a pattern such as 'broker-(\d+)/', or cluster.",
    ),
    click.option("--tz", metavar="ZONE", help="The brokers' time zone, such as Europe/Berlin, where times have none."),
    click.option("--names", metavar="PATTERN", help="Only files called so, such as '*request*'."),
    click.option("--dedupe/--no-dedupe", default=True, help="A request whose line is read twice counts once."),
    click.option("--strict", is_flag=True, help="A compressed file that is damaged is an error, not a warning."),
    click.option("--every", metavar="LENGTH", help=f"The windows' length, such as '5 minutes'; {EVERY} unless said."),
    click.option("--prometheus", metavar="URL", help="The quota metrics that a Prometheus has scraped."),
    click.option(
        "--since", default=UsageSource.since, show_default=True, metavar="TIME", help="Of Prometheus, from then"
    ),
    click.option("--until", default=UsageSource.until, show_default=True, metavar="TIME", help="to then"),
    click.option(
        "--step", default=UsageSource.step, show_default=True, metavar="SECONDS", help="from sample to sample."
    ),
    click.option("--label", default=UsageSource.label, show_default=True, help="Its label that tells the broker."),
    click.option("--token", metavar="REFERENCE", help="A bearer token: env:NAME, file:PATH, keyring:NAME."),
    click.option("--usage", metavar="NAME", help="A USAGE frame: a variable, or a Parquet or CSV file."),
)


@click.command(cls=Verb)
@options.reading
@_from
@click.option("--utilisation", is_flag=True, help="Beside the current cluster's limits, a row a broker and bucket.")
@click.option("--clients", is_flag=True, help="Only who they are: PAIRS, for resolve --pairs.")
@click.option("--lines", is_flag=True, help="What became of the log's lines: how many are left out, and why.")
@click.option("--quarantine", is_flag=True, help="The log's lines that are not requests.")
@click.option("--assume-default", is_flag=True, help="Judge by Kafka's rules although a custom callback decides.")
def usage(
    session: Session, utilisation: bool, clients: bool, lines: bool, quarantine: bool, assume_default: bool,
    **source: Any,
) -> Any:  # fmt: skip
    """The usage of each client on each broker, window by window: USAGE, on Spark.

    \b
    {here} logs/kafka-request.log* --broker 1 --tz UTC
    {here} logs --broker 'broker-(\\d+)/' --tz UTC --every '1 minute' --out usage.parquet
    {here} --prometheus http://prometheus:9090 --since '2h ago' --utilisation
    """
    if utilisation + clients + lines + quarantine > 1:
        raise UsageError("--utilisation, --clients, --lines and --quarantine are four answers", hint="One at a time.")
    chosen = UsageSource(**source)
    chosen.check(lines or quarantine)
    with spark_inputs.spark_for(session, "spark"):
        if lines:
            return _counted(chosen.requests(session).counts, session)
        if quarantine:
            return spark_inputs.lazy(chosen.requests(session).quarantine, session)
        return _answer(session, chosen.frame(session), utilisation, clients, assume_default)


def _counted(counts: Counts, session: Session) -> Answer:
    """LOG_LINES; what a reader must know of them is noted."""
    from ..frames.answer import Answer
    from ..frames.schemas import LOG_LINES, table

    _note(session, counts.warnings)
    rows: list[tuple[str, str | None, int]] = [
        ("request", None, counts.requests),
        ("duplicate", None, counts.duplicates),
    ]
    rows += [("left out", reason, lines) for reason, lines in counts.left_out.items()]
    rows += [("quarantined", reason, lines) for reason, lines in counts.quarantined.items()]
    return Answer(table(LOG_LINES, (dict(zip(LOG_LINES.names, row, strict=True)) for row in rows)))


def _note(session: Session, warnings: Iterable[str]) -> None:
    for warning in warnings:
        if session.note is not None:
            session.note(warning)


def _answer(session: Session, used: Any, utilisation: bool, clients: bool, assume_default: bool) -> Any:
    from .. import analytics

    if utilisation:
        return spark_inputs.with_progress(
            session.cluster.quotas.utilisation(used, assume_default=assume_default), session
        )
    return spark_inputs.lazy(analytics.known_clients(used) if clients else used, session)


def _refuse_what_is_no_path(path: str) -> None:
    if path.startswith(("http://", "https://")):
        raise UsageError(f"{path} is not a path", hint="Did you mean --prometheus URL?")
    if path.isidentifier() and not Path(path).exists():
        raise UsageError(f"no such path: {path}", hint=f"Of a frame: --usage {path}.")
