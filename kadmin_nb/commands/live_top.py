"""`top`: a full screen of who uses what, looked at again and again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from ..errors import Unsupported, UsageError
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
        from ..usage import top

        cluster = self.session.cluster
        if self.source.sources:
            self.used = recent(self.source.read(self.session).answer().to_arrow())
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
