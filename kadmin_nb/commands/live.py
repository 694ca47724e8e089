"""`top` and `metrics`: what is looked at again and again, on a full screen and by Prometheus."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from ipaddress import ip_address
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from ..errors import Unsupported, UsageError
from ..frames.blocks import Text
from . import completions, options
from .click_glue import Verb
from .options import Length
from .session import Session
from .usage import UsageSource, source

if TYPE_CHECKING:
    import pyarrow as pa

    from ..frames.answer import Answer


MOST = 50
"""Clients of each key."""

RECENT = 60.0
"""Seconds of a log, or of metrics, that are looked at: the last ones."""


@dataclass
class Looks:
    """What is seen now of who uses what: TOP, the limit of each of its rows, and a client's ladder."""

    session: Session
    source: UsageSource
    keys: Sequence[str] | None
    seconds: float
    used: Any = field(default=None, init=False)

    def again(self) -> tuple[list[dict[str, Any]], str]:
        """The rows of TOP, each with its `limit`, and what was watched. It takes as long as an observation lasts."""
        from ..frames.relational import in_arrow
        from ..usage import top

        cluster = self.session.cluster
        if self.source.sources:
            self.used = recent(in_arrow(self.source.read(self.session)))
            seen = top(self.used, keys=self.keys, most=MOST)
        else:
            observed = cluster.observe(self.seconds, to_read=True)
            self.used = observed.requests()
            seen = observed.top(keys=self.keys, most=MOST)
        rows = seen.to_arrow().to_pylist()
        limits: dict[tuple[str, ...], float | None] = {}
        if pairs := {(row["user"], row["client_id"]) for row in rows}:
            effective = cluster.quotas.resolve(pairs=[*pairs], assume_default=True)
            limits = {(row["user"], row["client_id"], row["key"]): row["value"] for row in effective}
        return [{**row, "limit": limits.get((row["user"], row["client_id"], row["key"]))} for row in rows], seen.watched

    def ladder(self, user: str, client_id: str) -> Answer:
        """The answer of `quota why` for a client, with what was seen of it."""
        return self.session.cluster.quotas.why(user=user, client_id=client_id, usage=self.used)


def recent(usage: pa.Table) -> pa.Table:
    """The windows of USAGE that began in the last minute that it has."""
    import pyarrow.compute as pc

    last = pc.max(usage["window_start"]).as_py()
    return usage if last is None else usage.filter(pc.field("window_start") >= last - timedelta(seconds=RECENT))


@click.command(cls=Verb)
@options.connecting
@source
@options.keys(completions.quota_keys)
@click.option("--refresh", default="5s", show_default=True, type=Length(), metavar="TIME", help="How often to look.")
def top(session: Session, source: UsageSource, keys: tuple[str, ...], refresh: float) -> None:
    """Show live, on the full screen, who uses what of which limit.

    The usage is that of a request log, which is read again, of a Prometheus, or, without a SOURCE, of a local Kafka,
    which is observed. Keys: s sorts, / filters, Enter shows the limits of a client, q ends.

    \\b
    {here}
    {here} logs/kafka-request.log --broker 1 --tz UTC
    {here} http://prometheus:9090 --refresh 15s
    """
    if source.sources:
        source.check()
    if source.url and source.between is None:
        source = replace(source, between=(f"{RECENT:.0f}s ago", "now"))
    if session.variables is not None or not sys.stdout.isatty():
        raise UsageError("top needs a terminal", hint="quota top prints the same once.")
    looks = Looks(session, source, options.keys_of(keys), refresh)
    screen(looks.again, looks.ladder, refresh)


def screen(
    again: Callable[[], tuple[list[dict[str, Any]], str]], ladder: Callable[[str, str], Any], refresh: float
) -> None:
    """Run the full screen until q is typed.

    Raises
    ------
    Unsupported
        textual is not installed.
    """
    try:
        from .live_screen import Top
    except ImportError:
        raise Unsupported("textual is not installed", hint="pip install 'kadmin_nb[top]'") from None
    Top(again, ladder, refresh).run()


LISTEN = "127.0.0.1:9649"
"""As of `cluster.exporter`, which help does not load."""


@click.command(cls=Verb)
@options.connecting
@source
@click.option("--listen", default=LISTEN, show_default=True, metavar="HOST:PORT", help="Where to serve the metrics.")
@click.option("--host", multiple=True, metavar="NAME", help="A name by which it may be asked, beside addresses.")
@click.option("--textfile", metavar="PATH.prom", help="Write the metrics to this file instead, once; - prints them.")
@click.option("--most", type=int, default=MOST, show_default=True, help="The limits of each key with their own series.")
@options.assume_default
def metrics(
    session: Session, source: UsageSource, listen: str, host: tuple[str, ...], textfile: str | None,
    most: int, assume_default: bool,
) -> Any:  # fmt: skip
    """Serve metrics for Prometheus, until Ctrl-C.

    Resolved limits; with usage also how much of each limit is used and throttled.
    Usage is a request log, the brokers' metrics in a Prometheus, or a USAGE file, read again at each scrape.

    \b
    {here} http://prometheus:9090 --between '10min ago' now
    {here} --listen 127.0.0.1:9649
    {here} usage.parquet --textfile kadmin.prom
    """
    read = _usage_of(session, source)
    how: dict[str, Any] = {"most": most, "assume_default": assume_default}
    if textfile:
        is_printed = textfile == "-"
        text = session.cluster.metrics(read, textfile=None if is_printed else textfile, **how)
        return Text(text.rstrip("\n") if is_printed else f"written to {textfile}")
    if session.variables is not None:
        raise UsageError("a notebook serves no metrics", hint="--textfile - shows them; kadmin-nb metrics serves them.")
    return _serve(session, read, (listen, host), how)


def _usage_of(session: Session, source: UsageSource) -> Callable[[], object] | None:
    """What reads the usage, in this process; None where no source is named."""
    if not source.sources:
        return None
    source.check()
    if source.engine == "spark":
        raise UsageError("metrics read usage in this process", hint="Write USAGE to a file on Spark, and name it.")
    return partial(replace(source, engine="arrow").read, session)


def _serve(session: Session, read: Callable[[], object] | None, where: tuple[str, Any], how: dict[str, Any]) -> None:
    """Serve until somebody ends it; what is read first is there before the first scrape."""
    from ..cluster.exporter import ALONE, BOUND, ClusterCollector, serve

    collector = ClusterCollector(session.cluster, read, say=session.warn, within=ALONE, **how)
    with serve(collector, *where) as endpoint:
        try:
            collector.collect()
            collector.within = BOUND
            host, port, *_ = endpoint.socket.getsockname()
            reach = "" if ip_address(host).is_loopback else ", for all who reach this address"
            url = f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics"
            session.warn(f"metrics of cluster {session.cluster.id} at {url}{reach}; Ctrl-C ends it")
            Event().wait()
        except KeyboardInterrupt:
            endpoint.shutdown()
