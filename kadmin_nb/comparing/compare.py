"""From two sides to DIFF: drift, with brokers by their role, and what does not matter apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..frames import schemas
from ..frames.answer import Answer
from ..frames.snapshots import SCOPES, Snapshot
from ..frames.to_pandas import plain
from ..history import drift
from ..model.resources import Resource
from .diffs import APART, NATURE, Diff
from .roles import EACH, by_role, differs_by_nature
from .sides import Side

Row = dict[str, Any]

_EACH = str(Resource("BROKER", EACH))
_BROKERS = {_EACH: f"broker={EACH}", str(Resource("BROKER", "")): str(Resource("BROKER", ""))}


def compare(a: Side, b: Side, *, everything: bool = False) -> Diff:
    """DIFF from `a` to `b`.

    Brokers of two clusters are compared by their role, those of one cluster one by one. A side that says nothing of
    some scope is not compared there.

    Parameters
    ----------
    everything
        Show also what differs only by default or by nature.

    Raises
    ------
    UsageError
        Quotas and configs, which do not compare.
    Invalid
        A row is in one of them twice.
    """
    contents = [_as_sent(side.content) if a.is_declared or b.is_declared else side.content for side in (a, b)]
    if others := None not in (a.cluster_id, b.cluster_id) and a.cluster_id != b.cluster_id:
        contents = [by_role(content) for content in contents]
    rows = [_by_role(row) if others else row for row in drift(*contents).to_arrow().to_pylist()]
    rows = [row for row in rows if not _is_out_of_reach(row, a, b)]
    return Diff(
        _numbered(rows), everything, a, b, _passed_over(a, b), len(_secrets(contents[0]) & _secrets(contents[1]))
    )


def _as_sent(content: Any) -> Any:
    """A snapshot with the texts that were sent, as a declarative file has them."""
    if not isinstance(content, Snapshot):
        return content
    configs = plain(content.configs.to_arrow())
    texts = pa.array([_sent(row) for row in configs.select(_TOLD).to_pylist()], pa.string())
    return replace(content, configs=Answer(configs.set_column(configs.schema.get_field_index("value"), "value", texts)))


_TOLD = ["key", "value", "source", "is_sensitive", "synonyms"]


def _sent(row: Row) -> str | None:
    """A broker's row shows what it made of a text, its synonym the text."""
    own = (s["value"] for s in row["synonyms"] or () if (s["source"], s["key"]) == (row["source"], row["key"]))
    sent: str | None = next((text for text in own if text is not None), row["value"])
    return sent


def _is_out_of_reach(row: Row, a: Side, b: Side) -> bool:
    """Whether it stands in the brokers' own files, of which a declarative file says nothing."""
    silent, told = ("a", "b") if a.is_declared else ("b", "a")
    one_sided = (a.is_declared or b.is_declared) and row[f"source_{silent}"] is None
    return one_sided and row[f"source_{told}"] == "STATIC_BROKER_CONFIG"


def _by_role(row: Row) -> Row:
    if row["kind"] != "config" or row["resource"] not in _BROKERS:
        return row
    apart = row["state"] != "unknown" and differs_by_nature("BROKER", row["key"])
    return {**row, "resource": _BROKERS[row["resource"]], "state": NATURE if apart else row["state"]}


def _numbered(rows: Iterable[Row]) -> Any:
    ordered = sorted(rows, key=lambda row: (row["state"] in APART, row["kind"], row["resource"], row["key"] or ""))
    return schemas.table(schemas.DIFF, ({**row, "row": number} for number, row in enumerate(ordered, 1)))


def _passed_over(a: Side, b: Side) -> tuple[str, ...]:
    """The scopes that only one of two snapshots has."""
    scopes = [set(side.content.scopes) for side in (a, b) if isinstance(side.content, Snapshot)]
    return tuple(one for one in SCOPES if len(scopes) == 2 and one in scopes[0] ^ scopes[1])


def _secrets(content: Any) -> set[tuple[Any, ...]]:
    """The configs whose values nobody can see."""
    configs = content.configs.to_arrow() if isinstance(content, Snapshot) else content
    if "is_sensitive" not in configs.column_names:
        return set()
    hidden = configs.filter(pc.fill_null(configs["is_sensitive"], False))
    return set(zip(*(hidden[name].to_pylist() for name in ("resource_type", "resource_name", "key")), strict=True))
