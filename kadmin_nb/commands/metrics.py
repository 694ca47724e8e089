"""`metrics`: an endpoint for Prometheus, or a file for node_exporter's textfile collector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from ipaddress import ip_address
from threading import Event
from typing import Any

import click

from ..errors import UsageError
from . import options
from .click_glue import Text, Verb
from .session import Session
from .usage import UsageSource, source

LISTEN, MOST = "127.0.0.1:9649", 50
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

    Resolved limits, findings and plans; with usage also how much of each limit is used and throttled.
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
    here = replace(source, engine="arrow")
    return here.metrics if here.url else lambda: here.read(session)


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
