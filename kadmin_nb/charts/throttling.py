"""Heatmap of throttling: how long the brokers held up each client, and when."""

from __future__ import annotations

from typing import Any

from ..frames import schemas
from ..frames.meanings import milliseconds
from ..frames.relational import added_up, checked, in_arrow, largest, members, positive
from .bins import Bins
from .labels import MILLISECONDS, clients, count_of, part_of

MOST_THROTTLED, MOST_PARTS = 15, 48
"""Clients, and parts of the time, that a chart has at most."""


def throttling(usage: Any) -> Any:
    """The longest throttle of each client over time, as the brokers told it.

    Parameters
    ----------
    usage
        USAGE, as Arrow, pandas, Spark or an answer.

    Returns
    -------
    altair.Chart
        The 15 clients that were throttled longest at a time. A null `throttle_ms` is not a throttle of 0: where
        nothing tells, the title says so.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing.
    Unsupported
        Altair is not installed.

    Examples
    --------
    >>> kn.charts.throttling(usage)  # doctest: +SKIP
    """
    from .drawing import empty, titled

    columns = ("user", "client_id", "window_start", "window_end", "throttle_ms")
    rows = checked(usage, schemas.USAGE.schema, columns, "the rows of usage")
    throttled = positive(rows, "throttle_ms")
    chosen, count = largest(throttled, ("user", "client_id"), {"longest": ("max", "throttle_ms")}, MOST_THROTTLED)
    bins = Bins.of(rows, "window_start", "window_end", MOST_PARTS)
    if bins is None or not count:
        return empty(_nothing_throttled(rows))
    groups = added_up(
        bins.added_to(members(throttled, chosen.select(["user", "client_id"])), "window_start"),
        ("user", "client_id", "bin"),
        {"longest": ("max", "throttle_ms")},
    )
    names = dict(zip(_pairs_of(chosen.to_pylist()), clients(*_columns_of(chosen)), strict=True))
    parts = in_arrow(groups, MOST_THROTTLED * (MOST_PARTS + 1)).to_pylist()
    cells = [
        {
            "client": names[pair],
            **bins.times(row["bin"]),
            "longest": row["longest"],
            "text": milliseconds(row["longest"]),
        }
        for pair, row in sorted(zip(_pairs_of(parts), parts, strict=True), key=lambda part: _order(part, [*names]))
    ]
    longest = milliseconds(chosen["longest"][0].as_py())
    title = f"{count_of(count, 'client')} {'was' if count == 1 else 'were'} throttled, for up to {longest} at a time"
    return titled(_strips(cells, bins), title, part_of(len(chosen), count, "longest"))


def _nothing_throttled(rows: Any) -> str:
    """That there was no throttling; or that nothing tells, which is something else."""
    counts, _ = largest(rows, (), {"tells": ("count", "throttle_ms"), "rows": ("count", "window_start")}, 1)
    tells, count = (counts[name][0].as_py() for name in ("tells", "rows")) if len(counts) else (0, 0)
    return "Nobody was throttled" if tells or not count else "This usage does not tell who was throttled"


def _columns_of(groups: Any) -> tuple[list[str], list[str]]:
    return groups["user"].to_pylist(), groups["client_id"].to_pylist()


def _pairs_of(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(row["user"], row["client_id"]) for row in rows]


def _order(part: tuple[tuple[str, str], dict[str, Any]], pairs: list[tuple[str, str]]) -> tuple[int, int]:
    return pairs.index(part[0]), part[1]["bin"]


def _strips(cells: list[dict[str, Any]], bins: Bins) -> Any:
    from .drawing import WIDTH, alt, base, names, over_time

    legend = alt.Legend(title="longest throttle", labelExpr=MILLISECONDS, orient="bottom", gradientLength=220)
    colours = alt.Color("longest:Q", scale=alt.Scale(type="log", scheme="viridis"), legend=legend)
    chart = (
        base(cells)
        .mark_bar(height={"band": 0.8})
        .encode(
            x=over_time("from", bins), x2="to", y=names("client", cells), color=colours, tooltip=["client:N", "text:N"]
        )
    )
    return chart.properties(width=WIDTH)
