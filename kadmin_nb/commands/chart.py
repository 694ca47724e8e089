"""`quota chart NAME`: one question as a picture, by the same functions as `kn.charts`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from ..frames.blocks import NOTEBOOK, Page
from ..frames.display import Display
from . import options
from .click_glue import FRAME, Verb
from .session import PlanOptions, Session, frame_in_arrow, frame_or_file, usage_frame

if TYPE_CHECKING:
    from ..frames.blocks import Block

ENDINGS = (".svg", ".png", ".html", ".json")
"""The files that a chart can be written to."""


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


@dataclass(frozen=True)
class ChartSource:
    """The options that say what a chart is of."""

    session: Session
    usage: Any
    pairs: Any
    frame: Any
    of: str | None

    def read_usage(self) -> Any:
        """The USAGE frame of `--usage`."""
        if self.usage is None:
            raise UsageError("--usage is required", hint="--usage NAME, a USAGE frame: a variable, or a file.")
        return usage_frame(self.session, self.usage)

    def read_frame(self) -> Any:
        """The frame of `--frame`; a Spark DataFrame stays in Spark."""
        from ..frames.files import read_table

        frame = frame_or_file(self.session, self.frame)
        return read_table(frame) if isinstance(frame, Path) else frame

    def history(self) -> str:
        """The place of the history that `--of` names."""
        if self.of is None:
            raise UsageError("--of is required", hint="--of WHERE, a history; or --frame NAME, its changes.")
        return self.of

    @property
    def quotas(self) -> Any:
        """The quotas of the current cluster."""
        return self.session.cluster.quotas


def _effective(source: ChartSource) -> Any:
    clients = source.usage if source.pairs is None else source.pairs
    if clients is None:
        raise UsageError("--pairs is required", hint="--pairs NAME, a frame with user and client_id, or --usage NAME.")
    return source.quotas.resolve(pairs=frame_in_arrow(source.session, clients))


def _plan(source: ChartSource) -> Any:
    from ..plans.journal.store import plan_named

    return source.session.plan(PlanOptions()) if source.of is None else plan_named(source.of)


def _history(source: ChartSource) -> Any:
    from ..state import open_history

    return open_history(source.history()).changes((None, None))


READERS: Mapping[str, Callable[[ChartSource], Any]] = {
    "effective": _effective,
    "hierarchy": lambda source: source.quotas.describe(),
    "history": _history,
    "plan": _plan,
    "usage": ChartSource.read_usage,
}
"""The reader of each chart's frame, where `--frame` names none."""


@click.command(cls=Verb)
@options.connecting
@click.argument("name", metavar="NAME", type=click.Choice([*READERS]))
@click.option("--usage", metavar="NAME", type=FRAME, help="A USAGE frame: a variable, or a Parquet or CSV file.")
@click.option(
    "--pairs", metavar="NAME", type=FRAME, help="A frame with user and client_id: a variable, or a Parquet or CSV file."
)
@click.option("--of", metavar="WHAT", help="A plan (file or id), or the place of a history.")
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
    {here} plan --of p.json
    {here} history --of lake/kafka
    {here} usage --frame backtest.parquet
    """
    from .. import charts
    from ..charts import showing

    if place is not None and not place.endswith(ENDINGS):
        raise UsageError(f"--out {place} does not end in {', '.join(ENDINGS)}")
    source = ChartSource(session, usage, pairs, frame, of)
    rows = READERS[name](source) if frame is None else source.read_frame()
    limits = [source.quotas.describe()] if name == "usage" and frame is None else []
    drawn = getattr(charts, name)(rows, *limits)
    if width is not None:
        drawn = drawn.properties(width=width)
    if place is not None:
        showing.write(drawn, Path(place))
    return ChartAnswer(drawn, place)
