"""Charts of what changed: bars over time, and bars of the keys that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ..frames import schemas
from ..frames.relational import added_up, checked, in_arrow, largest
from .bins import Bins
from .labels import count_of, distinct, is_are, part_of, short

MOST_TIMES = 60
"""Bars that a chart has at most."""

_MOST_GROUPS = 1000
_SIGNS = {"removed": -1, "added": 1, "changed": 1}


def history(frame: Any) -> Any:
    """The changes of a cluster over time: added and changed above the line, removed below it.

    Parameters
    ----------
    frame
        HISTORY_CHANGES, as `kn.open_history(…).changes(…)` gives it: Arrow, pandas, Spark or an answer.

    Returns
    -------
    altair.LayerChart
        At most 60 bars, each of a minute, an hour or a day, depending on the time from the first to the last.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing.
    Unsupported
        Altair is not installed.

    Examples
    --------
    >>> kn.charts.history(kn.open_history("lake/kafka").changes((None, None)))  # doctest: +SKIP
    """
    from .drawing import empty, titled

    rows = checked(frame, schemas.HISTORY_CHANGES.schema, ("taken_at", "state", "resource"), "the changes")
    bins = Bins.of(rows, "taken_at", "taken_at", MOST_TIMES)
    if bins is None:
        return empty("Nothing was changed")
    groups = added_up(bins.added_to(rows, "taken_at"), ("bin", "state"), {"rows": ("count", "resource")})
    counted = in_arrow(groups, _MOST_GROUPS).to_pylist()
    bars = [
        {**bins.times(row["bin"]), "state": row["state"], "rows": row["rows"] * _SIGNS.get(row["state"], 1)}
        for row in sorted(counted, key=lambda row: (row["bin"], row["state"]))
    ]
    return titled(_signed_bars(bars, bins), _busiest(counted, bins))


def _busiest(counted: list[dict[str, Any]], bins: Bins) -> str:
    """The number of changes, and when most of them were."""
    from datetime import UTC, datetime

    sums: dict[int, int] = {}
    for row in counted:
        sums[row["bin"]] = sums.get(row["bin"], 0) + row["rows"]
    most = max(sums, key=lambda number: (sums[number], -number))
    at = datetime.fromtimestamp(bins.times(most)["from"] / 1000, UTC)
    day = f"on {at:%Y-%m-%d}" if bins.is_of_days else f"at {at:%Y-%m-%d %H:%M:%S}"
    total = count_of(sum(sums.values()), "change")
    return total if len(sums) == 1 or sums[most] == 1 else f"{total}, {sums[most]:,} of them {day}"


def _longest(rows: Iterable[dict[str, Any]]) -> int:
    """The length of the longest bar."""
    lengths: Counter[Any] = Counter()
    for row in rows:
        lengths[row["from"]] += abs(row["rows"])
    return max(lengths.values(), default=0)


def _signed_bars(rows: list[dict[str, Any]], bins: Bins) -> Any:
    from .drawing import BLUE, GREEN, INK, VERMILLION, alt, base, count_axis, filling, legend_of, over_time

    above, below = (_longest(row for row in rows if row["rows"] * sign > 0) for sign in (1, -1))

    states = alt.Scale(domain=["added", "changed", "removed"], range=[GREEN, BLUE, VERMILLION])
    bars = base(rows).mark_bar(stroke=None).encode(
        x=over_time("from", bins),
        x2="to",
        y=alt.Y("sum(rows):Q", title="changes: removed below 0", axis=count_axis(above, -below),
                scale=alt.Scale(nice=False)),
        color=alt.Color("state:N", scale=states, legend=legend_of(["added", "changed", "removed"])),
        tooltip=["state:N", "sum(rows):Q"],
    )  # fmt: skip
    line = base([{"zero": 0}]).mark_rule(color=INK, opacity=0.6).encode(y="zero:Q")
    return filling(bars, line, height=260)


MOST_KEYS = 40
"""Bars that a chart has at most."""

DIFFERENCES = ("removed", "changed", "added", "source", "unknown")
"""The states that differ by more than a default, in the order in which a bar has them."""


def drift(frame: Any) -> Any:
    """The keys that differ: a bar for each key, as long as its number of resources, in the colours of the states.

    Parameters
    ----------
    frame
        DRIFT or DIFF, as `kn.diff` and `kn.history.drift` give it: Arrow, pandas, Spark or an answer.

    Returns
    -------
    altair.LayerChart
        The 40 keys that differ most. Rows that differ only by a default are counted below the title.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing.
    Unsupported
        Altair is not installed.

    Examples
    --------
    >>> kn.charts.drift(kn.diff("history:lake/kafka@yesterday", cluster))  # doctest: +SKIP
    """
    from .drawing import empty, titled

    rows = checked(frame, schemas.DRIFT.schema, ("kind", "key", "state", "resource"), "the differences")
    groups, _ = largest(rows, ("kind", "key", "state"), {"rows": ("count", "resource")}, 100_000)
    counted = groups.to_pylist()
    differing = [row for row in counted if row["state"] in DIFFERENCES]
    alike = sum(row["rows"] for row in counted) - sum(row["rows"] for row in differing)
    by_default = f"{alike:,} by a default only" if alike else ""
    if not differing:
        return empty("Nothing differs" + (f", but {by_default}" if alike else ""))
    keys = _most_first(differing)
    remark = part_of(min(MOST_KEYS, len(keys)), len(keys), "keys that differ most")
    bars = _stacks(differing, keys[:MOST_KEYS])
    return titled(_stacked_bars(bars), _drift_finding(differing), "; ".join(filter(None, [remark, by_default])))


def _most_first(groups: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    """The kinds and keys, those with most rows first."""
    sums: dict[tuple[str, str | None], int] = {}
    for row in groups:
        sums[row["kind"], row["key"]] = sums.get((row["kind"], row["key"]), 0) + row["rows"]
    return sorted(sums, key=lambda key: (-sums[key], key[0], key[1] or ""))


def _stacks(groups: list[dict[str, Any]], keys: list[tuple[str, str | None]]) -> list[dict[str, Any]]:
    """A part of a bar a key and state, in the order of the keys."""
    texts = distinct([short(key) if key else f"{kind} that could not be read" for kind, key in keys])
    labels = dict(zip(keys, texts, strict=True))
    parts = [row for row in groups if (row["kind"], row["key"]) in labels]
    order = {key: place for place, key in enumerate(keys)}
    parts.sort(key=lambda row: (order[row["kind"], row["key"]], DIFFERENCES.index(row["state"])))
    ends: Counter[str] = Counter()
    stacks = []
    for row in parts:
        name = labels[row["kind"], row["key"]]
        start, ends[name] = ends[name], ends[name] + row["rows"]
        stacks.append({"name": name, "kind": row["kind"], "part": _MEANINGS[row["state"]], "rows": row["rows"],
                       "from": start, "to": ends[name], "text": ""})  # fmt: skip
    last = {row["name"]: row for row in stacks}
    for name, row in last.items():
        row["text"] = f"{ends[name]:,}"
    return stacks


_MEANINGS = {"removed": "removed: set on the first side only", "changed": "another value",
             "added": "added: set on the second side only", "source": "same value, from another source",
             "unknown": "could not be compared"}  # fmt: skip
"""The states as a legend says them."""


def _drift_finding(groups: list[dict[str, Any]]) -> str:
    """The number of differences, of all and by state."""
    sums = {state: sum(row["rows"] for row in groups if row["state"] == state) for state in DIFFERENCES}
    total = sum(sums.values())
    words = {"source": "from another source", "unknown": "not compared"}
    parts = ", ".join(f"{count:,} {words.get(state, state)}" for state, count in sums.items() if count)
    return f"{count_of(total, 'value')} {'differs' if is_are(total) == 'is' else 'differ'}: {parts}"


def _stacked_bars(rows: list[dict[str, Any]]) -> Any:
    from .drawing import BLUE, GREEN, GREY, PURPLE, VERMILLION, bars, count_axis, filling

    colours = dict(zip(_MEANINGS.values(), (VERMILLION, BLUE, GREEN, PURPLE, GREY), strict=True))
    tooltip = {"name": "key", "kind": "kind", "part": "difference", "rows": "resources"}
    return filling(*bars(rows, colours, "resources", tooltip, axis=count_axis(max(row["to"] for row in rows))))
