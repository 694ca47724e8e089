"""`quota usage`, `near` and `top`: what clients used, who is near a limit, and who uses most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from . import completions, options, spark_inputs
from .click_glue import Verb
from .lengths import Length
from .numbers import Finite
from .session import Session
from .usage_source import UsageSource, bind_source, note, source

if TYPE_CHECKING:
    from ..frames.answer import Answer
    from ..usage.engines import Usage
    from ..usage.request_log import Counts


_FORMS = {"json", "out", "form"}
"""Options by which an answer is rows alone: what stands below a table that is shown is noted then."""


def _reading(command: Any) -> Any:
    return options.reading(command, bind_source)


@click.command(cls=Verb)
@_reading
@source
@click.option("--utilisation", is_flag=True, help="Beside the current cluster's limits, a row a broker and bucket.")
@click.option("--clients", is_flag=True, help="Only who they are: PAIRS, for resolve --pairs.")
@click.option("--lines", is_flag=True, help="What became of the log's lines: how many are left out, and why.")
@click.option("--quarantine", is_flag=True, help="The log's lines that are not requests.")
@options.assume_default
def usage(
    session: Session, source: UsageSource, utilisation: bool, clients: bool, lines: bool, quarantine: bool,
    assume_default: bool,
) -> Any:  # fmt: skip
    """The usage of each client on each broker, window by window: USAGE.

    \b
    {here} logs/kafka-request.log* --broker 1 --tz UTC
    {here} logs --broker 'broker-(\\d+)/' --tz UTC --every '1 minute' --out usage.parquet
    {here} --prometheus http://prometheus:9090 --since '2h ago' --utilisation
    """
    if utilisation + clients + lines + quarantine > 1:
        raise UsageError("--utilisation, --clients, --lines and --quarantine are four answers", hint="One at a time.")
    source.check(lines or quarantine)
    if lines or quarantine:
        return _of_lines(session, source, quarantine)
    used = source.read(session)
    with spark_inputs.where_spark_is(session, used.is_on_spark):
        return spark_inputs.with_progress(_answer(session, used, utilisation, clients, assume_default), session)


@click.command(cls=Verb)
@_reading
@source
@options.keys(completions.quota_keys)
@click.option(
    "--percent",
    type=Finite(min=0, max=10**6),
    default=80.0,
    show_default=True,
    help="Near is so much of a limit, or more.",
)
@options.assume_default
def near(session: Session, source: UsageSource, keys: tuple[str, ...], percent: float, assume_default: bool) -> Any:
    """Clients near a limit of the current cluster, over it, or throttled: the worst first.

    \b
    {here} logs/kafka-request.log* --broker 1 --tz UTC
    {here} --usage usage.parquet --percent 60
    """
    source.check()
    used = source.read(session)
    with spark_inputs.where_spark_is(session, used.is_on_spark):
        return session.cluster.quotas.near(
            used, percent=percent, keys=options.keys_of(keys), assume_default=assume_default
        )


@click.command(cls=Verb)
@_reading
@source
@options.keys(completions.quota_keys)
@click.option("--most", type=int, default=10, show_default=True, help="Clients of each key.")
@click.option(
    "--for", "seconds", default="10s", show_default=True, type=Length(), metavar="TIME", help="Observe so long."
)
@options.from_context(is_shown=lambda ctx: not _FORMS & {*ctx.meta})
def top(session: Session, source: UsageSource, keys: tuple[str, ...], most: int, seconds: float, is_shown: bool) -> Any:
    """The clients that use most of each key: in a log, metrics or a USAGE frame, or right now, by observing.

    Observing reads the brokers' request logs, which is possible where `local` started them: others do not tell where
    their log is.

    \b
    {here} --for 20s
    {here} logs/kafka-request.log* --broker 1 --tz UTC --most 3
    """
    more: dict[str, Any] = {"keys": options.keys_of(keys), "most": most}
    if not source.is_named:
        answer = session.cluster.top(seconds=seconds, progress=session.progress, **more)
        note(session, () if is_shown else answer.warnings)
        return answer
    source.check()
    used = source.read(session)
    with spark_inputs.where_spark_is(session, used.is_on_spark):
        from ..usage import top as top_of

        return top_of(used.answer(), **more)


def _of_lines(session: Session, source: UsageSource, quarantine: bool) -> Answer:
    """The lines of a request log, counted, or those in quarantine."""
    from ..frames.answer import Answer

    log = source.log()
    with spark_inputs.where_spark_is(session, log.is_spark):
        requests = source.requests(session, log)
        if not quarantine:
            return _counted(requests.counts, session)
        return spark_inputs.lazy(requests.quarantine, session) if log.is_spark else Answer(requests.quarantine)


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
