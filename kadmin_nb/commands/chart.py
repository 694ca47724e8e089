"""`quota chart NAME`: one question as a picture, by the same functions as `kn.charts`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from ..frames.blocks import NOTEBOOK, Page
from ..frames.display import Display
from . import options
from .click_glue import FRAME, Verb
from .session import PlanOptions, Session, frame_in_arrow, read_frame, usage_frame

if TYPE_CHECKING:
    from ..frames.blocks import Block

ENDINGS = (".svg", ".png", ".html", ".json")
"""The files that a chart can be written to."""

NAMES = ("effective", "hierarchy", "history", "plan", "usage")


class ChartAnswer(Display):
    """A chart as the value of a command: in a notebook's cell it is the chart, in a terminal its finding."""

    def __init__(self, chart: Any, place: str | None) -> None:
        self.chart, self.place = chart, place

    def _title(self) -> str:
        from ..charts.showing import headline

        return headline(self.chart)

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        yield f"written to {self.place}" if self.place else "--out chart.svg writes it; also .png, .html, .json"

    def _in_cell(self) -> Any:
        return self.chart


NEEDED = {
    "effective": ("--pairs", "--pairs NAME, a frame with user and client_id, or --usage NAME."),
    "history": ("--of", "--of WHERE, a history; or --frame NAME, its changes."),
    "usage": ("--usage", "--usage NAME, a USAGE frame: a variable, or a file."),
}
"""The option by which each of these charts gets its frame, where `--frame` names none."""


def _rows(session: Session, name: str, usage: Any, pairs: Any, of: str | None) -> Any:
    """The frame that the chart of that name shows, out of the cluster, a plan or a history."""
    if name == "hierarchy":
        return session.cluster.quotas.describe()
    if name == "plan":
        from ..plans.journal.store import plan_named

        return session.plan(PlanOptions()) if of is None else plan_named(of)
    clients = usage if pairs is None else pairs
    if {"usage": usage, "history": of, "effective": clients}[name] is None:
        option, hint = NEEDED[name]
        raise UsageError(f"{option} is required", hint=hint)
    if name == "effective":
        return session.cluster.quotas.resolve(pairs=frame_in_arrow(session, clients))
    if name == "usage":
        return usage_frame(session, usage)
    from ..state import open_history

    return open_history(str(of)).changes((None, None))


def _limits(session: Session, of: str | None) -> Any:
    """The limits as they were in a history, or else as they are now."""
    from ..state import open_history

    return session.cluster.quotas.describe() if of is None else open_history(of)


@click.command(cls=Verb)
@options.connecting
@click.argument("name", metavar="NAME", type=click.Choice(NAMES))
@click.option("--usage", metavar="NAME", type=FRAME, help="A USAGE frame: a variable, or a Parquet or CSV file.")
@click.option(
    "--pairs", metavar="NAME", type=FRAME, help="A frame with user and client_id: a variable, or a Parquet or CSV file."
)
@click.option("--of", metavar="WHAT", help="A plan (file or id), or the place of a history; of usage, its limits.")
@click.option(
    "--frame", metavar="NAME", type=FRAME, help="The chart's frame itself: a variable, or a Parquet or CSV file."
)
@click.option("--out", "place", metavar="FILE", help=f"Write it to FILE: {', '.join(ENDINGS)}.")
@click.option(
    "--width",
    type=click.IntRange(200, 4000),
    metavar="PIXELS",
    help="The width in pixels, without names; default: 620.",
)
def chart(
    session: Session,
    name: str,
    usage: Any,
    pairs: Any,
    frame: Any,
    of: str | None,
    place: str | None,
    width: int | None,
) -> ChartAnswer:
    """Draw one of five charts.

    They are hierarchy, effective, plan, usage (of USAGE or BACKTEST) and history.

    \b
    {here} hierarchy --out quotas.svg
    {here} effective --pairs clients.parquet
    {here} usage --usage used.parquet
    {here} usage --usage used.parquet --of lake/kafka
    {here} plan --of p.json
    {here} history --of lake/kafka
    {here} usage --frame backtest.parquet
    """
    from .. import charts
    from ..charts import showing

    if place is not None and not place.endswith(ENDINGS):
        raise UsageError(f"--out {place} does not end in {', '.join(ENDINGS)}")
    rows = _rows(session, name, usage, pairs, of) if frame is None else read_frame(session, frame)
    limits = [_limits(session, of)] if name == "usage" and (frame is None or of is not None) else []
    drawn = getattr(charts, name)(rows, *limits)
    if width is not None:
        drawn = drawn.properties(width=width)
    if place is not None:
        showing.write(drawn, Path(place))
    return ChartAnswer(drawn, place)
