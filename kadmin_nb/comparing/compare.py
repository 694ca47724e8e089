"""From two sides to DIFF: drift, with brokers by their role, and what does not matter apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import KadminError
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.snapshots import SCOPES, Snapshot
from ..frames.to_pandas import plain
from ..history import drift
from ..model.config_values import ConfigValue
from ..model.configurable import Configurable
from ..model.resources import Resource, Source
from ..model.rows import Row
from ..model.snapshot_kinds import parsed
from .broker_roles import ANY_BROKER, EACH, by_role, differs_by_nature
from .diff_answer import APART, NATURE, Diff
from .sides import Side

_EACH = Resource("BROKER", EACH)


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
    rows = [row for row in drift(*contents).to_arrow().to_pylist() if not _is_out_of_reach(row, a, b)]
    combined = (_combined_row(row, a, b, others) for row in rows)
    return Diff(
        _numbered(combined), everything, a, b, _passed_over(a, b), len(_secrets(contents[0]) & _secrets(contents[1]))
    )


def _as_sent(content: Any) -> Any:
    """A snapshot with the texts that were sent, as a declarative file has them; Kafka shows others of brokers alone."""
    if not isinstance(content, Snapshot):
        return content
    configs = plain(content.configs.to_arrow())
    is_of_broker = pc.equal(configs["resource_type"], "BROKER").combine_chunks()
    rows = configs.filter(is_of_broker).drop_columns(["documentation"]).to_pylist()
    texts = pa.array([ConfigValue.of(row).sent for row in rows], pa.string())
    values = pc.replace_with_mask(configs["value"].combine_chunks(), is_of_broker, texts)
    return replace(
        content, configs=Answer(configs.set_column(configs.schema.get_field_index("value"), "value", values))
    )


def _is_out_of_reach(row: Row, a: Side, b: Side) -> bool:
    """True if it stands in the brokers' own files, of which a declarative file says nothing."""
    silent, declared_side = ("a", "b") if a.is_declared else ("b", "a")
    one_sided = (a.is_declared or b.is_declared) and row[f"source_{silent}"] is None
    return one_sided and row[f"source_{declared_side}"] == Source.FILE


def _combined_row(row: Row, a: Side, b: Side, others: bool) -> Row:
    """A row with what only the two sides together can say of it."""
    resource = _resource_of(row)
    row = {**row, "resource": ANY_BROKER} if resource == _EACH else row
    if resource is None or row["state"] == "unknown":
        return row
    missing = next((name for name, side in (("a", a), ("b", b)) if side.lacks(resource)), None)
    return {
        **row,
        "state": NATURE if others and differs_by_nature(resource, row["key"]) else row["state"],
        "note": f"{missing} has no such topic" if missing and row["note"] is None else row["note"],
        "missing": missing,
    }


def _resource_of(row: Row) -> Configurable | None:
    """The entity or resource of a row; None of a type that this version does not know."""
    if row["resource"] == str(_EACH):
        return _EACH
    try:
        return parsed(row["kind"], row["resource"])
    except KadminError:
        return None


def _numbered(rows: Iterable[Row]) -> Any:
    ordered = sorted(rows, key=lambda row: (row["state"] in APART, row["kind"], row["resource"], row["key"] or ""))
    return schemas.table(schemas.DIFF, ({**row, "row": number} for number, row in enumerate(ordered, 1)))


def _passed_over(a: Side, b: Side) -> tuple[str, ...]:
    """The scopes that only one of two snapshots has."""
    scopes = [set(side.content.scopes) for side in (a, b) if isinstance(side.content, Snapshot)]
    return tuple(scope for scope in SCOPES if len(scopes) == 2 and scope in scopes[0] ^ scopes[1])


def _secrets(content: Any) -> set[tuple[Any, ...]]:
    """The configs whose values nobody can see."""
    configs = content.configs.to_arrow() if isinstance(content, Snapshot) else content
    if "is_sensitive" not in configs.column_names:
        return set()
    hidden = configs.filter(pc.fill_null(configs["is_sensitive"], False))
    return set(zip(*(hidden[name].to_pylist() for name in ("resource_type", "resource_name", "key")), strict=True))
