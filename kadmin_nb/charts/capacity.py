"""Charts of what limits promise: beside what brokers can do, and beside what a client reaches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..frames import schemas
from ..frames.meanings import client, limit, used
from ..frames.relational import checked, in_arrow
from ..frames.schemas import NOW, STATED
from ..model.figures import share
from .labels import Unit, distinct, key_order, part_of, short, unit_of, unit_up_to, verb_of

MOST_KEYS, MOST_BROKERS, MOST_CASES = 6, 30, 30
"""Panels, bars of each, and bars of what a client reaches, that a chart has at most."""

_COLUMNS = ("broker", "key", "case", "promised", "capacity", "source", "oversubscription")
_WITHIN, _BEYOND, _UNKNOWN = "promised by limits", "promised beyond the capacity", "promised; capacity not known"
Row = dict[str, Any]


def capacity(frame: Any) -> Any:
    """What the limits add up to on each broker, beside what it can do: a panel for each key.

    Parameters
    ----------
    frame
        CAPACITY, as `quotas.capacity` gives it: Arrow, pandas, Spark or an answer.

    Returns
    -------
    altair.VConcatChart
        The 30 fullest brokers of each key, a bar for each case; a mark at each bar is the broker's capacity.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing.
    Unsupported
        Altair is not installed.

    Examples
    --------
    >>> kn.charts.capacity(cluster.quotas.capacity(clients, stated="capacity.toml"))  # doctest: +SKIP
    """
    from .drawing import empty, panels, room_of, titled

    rows = in_arrow(checked(frame, schemas.CAPACITY.schema, _COLUMNS, "the rows of capacity"), 100_000).to_pylist()
    if not rows:
        return empty("No broker, and no capacity")
    by_key: dict[str, list[Row]] = {}
    for row in rows:
        by_key.setdefault(row["key"], []).append(row)
    shown = {key: _fullest(by_key[key]) for key in sorted(by_key, key=key_order)[:MOST_KEYS]}
    labels = {key: _labels(some) for key, some in shown.items()}
    every = [label for some in labels.values() for label in some]
    charts = (_of_key(key, some, labels[key], every) for key, some in shown.items())
    fullest = max(rows, key=_fullness)
    drawn, rest = panels(charts, room_of(every) + 15), part_of(len(every), sum(map(len, by_key.values())), "fullest")
    if not _fullness(fullest):
        return titled(drawn, "It is not known what brokers can do", rest)
    most = "what broker {} can do" if fullest["source"] == STATED else "the most that was seen on broker {}"
    title = f"Limits promise {share(_fullness(fullest))} of {most.format(fullest['broker'])}"
    remarks = [_where(fullest), "upright line: the capacity, stated or seen", rest]
    return titled(drawn, title, "; ".join(filter(None, remarks)))


def _fullness(row: Row) -> float:
    return row["oversubscription"] or 0.0


def _fullest(rows: list[Row]) -> list[Row]:
    """The fullest brokers, in their order."""
    chosen = sorted(rows, key=lambda row: (-_fullness(row), row["broker"], row["case"]))[:MOST_BROKERS]
    return sorted(chosen, key=lambda row: (row["broker"], row["case"] != NOW, row["case"]))


def _labels(rows: list[Row]) -> list[str]:
    cases = {row["case"] for row in rows}
    return distinct([short(f"broker {row['broker']}" + (f" {row['case']}" if len(cases) > 1 else "")) for row in rows])


def _where(row: Row) -> str:
    return " ".join([short(row["key"]), *([] if row["case"] == NOW else [short(row["case"])])])


def _of_key(key: str, rows: list[Row], labels: list[str], every: list[str]) -> Any:
    from .drawing import BLUE, GREY, VERMILLION, alt, bars, ours

    unit = unit_up_to(unit_of(key), max(max(row["promised"], row["capacity"] or 0.0) for row in rows))
    parts = [part for row, label in zip(rows, labels, strict=True) for part in _promised(row, label, unit)]
    able = [{"name": label, "at": unit.of(row["capacity"])} for row, label in zip(rows, labels, strict=True)]
    marks = [mark for mark in able if mark["at"] is not None]
    colours = {_WITHIN: BLUE, _BEYOND: VERMILLION, _UNKNOWN: GREY}
    tooltip = {"name": "broker", "part": "part", "text": "promised"}
    title = f"{short(key)}, {unit.name}"
    return ours(alt.layer(*bars(parts, colours, title, tooltip, marks=marks, texts=every)))


def _promised(row: Row, label: str, unit: Unit) -> Iterator[Row]:
    """The part of a bar that the broker can do, and the part beyond it."""
    key, promised, able = row["key"], row["promised"], row["capacity"]
    of_capacity = "" if able is None else f" of {used(key, able)}{'' if row['source'] == STATED else ' seen'}"
    within = promised if able is None else min(promised, able)
    start = {"name": label, "text": f"{used(key, promised)}{of_capacity}"}
    yield {**start, "part": _UNKNOWN if able is None else _WITHIN, "from": 0, "to": unit.of(within)}
    if within < promised:
        yield {"name": label, "text": "", "part": _BEYOND, "from": unit.of(within), "to": unit.of(promised)}


_COLUMNS_OF_REACH = ("user", "client_id", "key", "case", "value", "on_paper", "total", "busiest")
_BUSIEST, _OTHERS, _ON_PAPER = "reached on the busiest broker", "on the others", "on paper only"


def reach(frame: Any) -> Any:
    """What a client gets from all brokers together, of what its limits say on paper; now, and in each what-if.

    Parameters
    ----------
    frame
        REACH, as `quotas.reach` gives it: Arrow, pandas, Spark or an answer; of several clients put together, too.

    Returns
    -------
    altair.LayerChart
        A bar a limit and case, as long as the limit on all brokers: the part on the busiest broker, which is the first
        at the limit, on the others, and what is not reached. Of more than 30, those with the smallest part.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing.
    Unsupported
        Altair is not installed.

    Examples
    --------
    >>> kn.charts.reach(cluster.quotas.reach("alice", "app", topics=["orders"]))  # doctest: +SKIP
    """
    from .drawing import BLUE, GREY, SKY, bars, empty, filling, titled

    found = checked(frame, schemas.REACH.schema, _COLUMNS_OF_REACH, "the rows of reach")
    rows = in_arrow(found, 100_000).to_pylist()
    if not rows:
        return empty("No limit of bytes: brokers give what they can")
    least = sorted(range(len(rows)), key=lambda number: (_part(rows[number]), number))[:MOST_CASES]
    shown = [rows[number] for number in sorted(least)]
    unit = unit_up_to(unit_of(rows[0]["key"]), max(row["on_paper"] for row in shown))
    parts = [part for row, label in zip(shown, _cases(shown), strict=True) for part in _reached(row, label, unit)]
    colours = {_BUSIEST: BLUE, _OTHERS: SKY, _ON_PAPER: GREY}
    tooltip = {"name": "limit", "part": "part", "text": "reached"}
    drawn = filling(*bars(parts, colours, f"limit on all brokers, {unit.name}", tooltip))
    return titled(drawn, _reach_finding(rows), part_of(len(shown), len(rows), "smallest parts"))


def _part(row: Row) -> float:
    """The part of a limit on paper that is reached."""
    return float((row["total"] or 0.0) / row["on_paper"]) if row["on_paper"] else 1.0


def _reach_finding(rows: list[Row]) -> str:
    """The limit of which the smallest part is reached, as it is now."""
    row = min((row for row in rows if row["case"] == NOW), key=_part, default=rows[0])
    case = "" if row["case"] == NOW else f" {short(row['case'])}"
    text = f"{_got(row)} of {limit(row['key'], row['on_paper'])} on paper"
    return f"{short(client(row['user'], row['client_id']))} can {verb_of(row['key'])} {text}{case}"


def _got(row: Row) -> str:
    return used(row["key"], row["total"]) if row["total"] else "nothing"


def _cases(rows: list[Row]) -> list[str]:
    """The key and case of each row, and the client where there are several."""
    names = [short(client(row["user"], row["client_id"])) for row in rows]
    whose = [f"{name} " if len({*names}) > 1 else "" for name in names]
    return distinct([short(f"{who}{verb_of(row['key'])}, {row['case']}") for who, row in zip(whose, rows, strict=True)])


def _reached(row: Row, label: str, unit: Unit) -> Iterator[Row]:
    """The parts of a bar: a limit is reached on the busiest broker first."""
    total = row["total"] or 0.0
    ends = {_BUSIEST: min(row["value"], total), _OTHERS: total, _ON_PAPER: max(row["on_paper"], total)}
    text, start = f"{_got(row)} of {limit(row['key'], row['on_paper'])}", 0.0
    for part, end in ends.items():
        if end > start or part == _ON_PAPER:
            yield {"name": label, "part": part, "from": unit.of(start), "to": unit.of(end), "text": text}
            start, text = end, ""
