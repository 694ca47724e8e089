"""The chart of costs: a bar a team, over all months or days of the frame."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

from ..frames import schemas
from ..frames.relational import added_up, checked, in_arrow
from ..frames.schemas import NO_OWNER
from ..model.figures import price, share, size
from .labels import distinct, part_of, short, unit_up_to

MOST_TEAMS = 40
"""Bars that the chart has at most."""

_COLUMNS = ("day", "every", "team", "bytes_in", "bytes_out", "cost", "currency")
_OWNED = ("a team's", "without an owner")


def cost(frame: Any) -> Any:
    """The cost of each team: a bar a team, of all months or days together; without rates the bytes in and out.

    Parameters
    ----------
    frame
        COST, as Arrow, pandas, Spark or an answer.

    Returns
    -------
    altair.LayerChart
        The 40 teams with the most, the most first; what has no owner is in another colour.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing.
    Unsupported
        Altair is not installed.

    Examples
    --------
    >>> kn.charts.cost(kn.usage.showback(usage, "owners.toml", "rates.toml"))  # doctest: +SKIP
    """
    from .drawing import empty, titled

    costs = checked(frame, schemas.COST.schema, _COLUMNS, "the rows of costs")
    sums = {name: ("sum", name) for name in ("bytes_in", "bytes_out", "cost")}
    ends = {"first": ("min", "day"), "last": ("max", "day"), "currency": ("max", "currency"), "every": ("min", "every")}
    teams = in_arrow(added_up(costs, ["team"], {**sums, **ends}))
    amount = pc.coalesce(teams["cost"], pc.add(teams["bytes_in"], teams["bytes_out"]).cast("double"))
    teams = teams.append_column("amount", amount).sort_by([("amount", "descending"), ("team", "ascending")])
    total = pc.sum(teams["amount"]).as_py()
    if not total:
        return empty("No client used anything")
    rows = _bars(teams.slice(0, MOST_TEAMS).to_pylist(), total)
    form = "%Y-%m-%d" if pc.min(teams["every"]).as_py() == "day" else "%Y-%m"
    first, last = pc.min(teams["first"]).as_py().strftime(form), pc.max(teams["last"]).as_py().strftime(form)
    when = first if first == last else f"{first} to {last}"
    finding = f"{rows[0]['name']} used most: {rows[0]['text']}"
    return titled(_chart(rows), finding, "; ".join(filter(None, [when, part_of(len(rows), len(teams), "most")])))


def _bars(teams: list[dict[str, Any]], total: float) -> list[dict[str, Any]]:
    names = distinct([short(team["team"]) for team in teams])
    return [
        {
            "name": name,
            "part": _OWNED[team["team"] == NO_OWNER],
            "from": 0,
            "to": team["amount"],
            "currency": short(team["currency"] or ""),
            "text": f"{_amount(team)}, {share(team['amount'] / total)}",
        }
        for name, team in zip(names, teams, strict=True)
    ]


def _amount(team: dict[str, Any]) -> str:
    return size(team["amount"]) if team["cost"] is None else price(team["cost"], short(team["currency"]))


def _chart(rows: list[dict[str, Any]]) -> Any:
    from .drawing import BLUE, ORANGE, bars, filling

    currency = rows[0]["currency"]
    unit = unit_up_to("" if currency else "bytes", rows[0]["to"])
    title = f"cost, {currency}" if currency else f"bytes in and out, {unit.name}"
    rows = [{**row, "to": unit.of(row["to"])} for row in rows]
    colours = dict(zip(_OWNED, (BLUE, ORANGE), strict=True))
    return filling(*bars(rows, colours, title, {"name": "team", "text": "used"}))
