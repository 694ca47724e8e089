"""Columns worked out of a table, row by row, by Arrow's expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from .usage_rules import Aggregate


def projected(table: pa.Table, columns: Mapping[str, pc.Expression]) -> pa.Table:
    """The table of these columns, its rows in the same order."""
    from pyarrow import acero

    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(table))
    project = acero.ProjectNodeOptions(list(columns.values()), list(columns))
    return acero.Declaration("project", project, [source]).to_table(use_threads=False)


def added_up(rows: pa.Table, by: Sequence[str], aggregates: Sequence[Aggregate]) -> pa.Table:
    """A row for each combination of the columns `by`, nulls being the same, with what is added up of its rows."""
    grouped = rows.group_by(list(by), use_threads=False)
    totals = grouped.aggregate([(column, function) for function, column, _ in aggregates])
    return totals.rename_columns([*by, *(name for *_, name in aggregates)])
