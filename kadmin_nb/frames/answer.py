"""Answer: what every reading verb returns. One Arrow table, three ways out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import KadminError, PartlyFailed, UsageError, kind_of
from ..model import rights
from ..model.resources import Resource
from . import FORMS
from .display import Display
from .pages import NOTEBOOK, Page

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas
    import pyspark.sql

    from .render import Block


class Answer(Display):
    """A frame that came from a cluster: show it, or take it as Arrow, pandas or Spark.

    Rows that failed stay in it with their error: *forbidden* never looks like *empty*.
    """

    is_about_changes = False
    """Whether a row that fails says that a change is not in force, rather than that something could not be read."""

    hint: str | None = None
    """What would work, where something that was named is not there; a door shows it below the answer."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def to_arrow(self) -> pa.Table:
        """The Arrow table; `kadmin.cluster_id` and `kadmin.taken_at` are in its schema metadata."""
        return self._table

    def to_pandas(self) -> pandas.DataFrame:
        """A plain DataFrame with the same columns."""
        from .to_pandas import to_pandas

        return to_pandas(self._table)

    def to_spark(self, spark: pyspark.sql.SparkSession | None = None) -> pyspark.sql.DataFrame:
        """A Spark DataFrame in `spark`, the active session, or a local one.

        Raises
        ------
        Unsupported
            pyspark is not installed.
        """
        from .spark import to_spark

        return to_spark(self._table, spark)

    def as_(self, form: str) -> Any:
        """The frame in the form of that name: pandas, arrow or spark."""
        if form not in FORMS:
            raise UsageError(f"--as {form} is no frame type", hint=f"It is one of {', '.join(FORMS)}.")
        return getattr(self, f"to_{form}")()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @property
    def ok(self) -> bool:
        """Whether no row failed."""
        return not len(self.failed)

    @property
    def failed(self) -> Self:
        """The rows that failed."""
        failing = self._failing()
        return type(self)(self._table.slice(0, 0) if failing is None else self._table.filter(failing))

    def raise_for_errors(self) -> Self:
        """Itself when nothing failed.

        Raises
        ------
        NotAuthorized, NotFound, Invalid
            The one row that failed.
        PartlyFailed
            Several did.
        """
        bad = self.failed._table.to_pylist()
        if len(bad) == 1 and len(self) == 1:
            raise self._error(bad[0])
        if bad:
            first = self._error(bad[0])
            raise PartlyFailed(
                f"{len(bad)} of {len(self)} rows failed; the first: {first}", outcomes=self, hint=first.hint
            )
        return self

    def _failing(self) -> pa.Array | None:
        """Which rows failed; None where none can, as making an array of nothing but False loads pandas."""
        return pc.is_valid(self._table["error"]) if "error" in self._table.column_names else None

    def _error(self, row: dict[str, Any]) -> KadminError:
        code, words = row["error"], row.get("message") or ""
        return kind_of(code)(
            f"{code} for {self._whose(row)}: {words}", code=code, hint=_missing_right(row) or self.hint
        )

    def _whose(self, row: dict[str, Any]) -> str:
        if "resource_type" in row:
            return f"{row['resource_type']} {row['resource_name']}"
        return str(row.get("resource", row.get("plan_id")))

    def blocks(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self._table]


def _missing_right(row: dict[str, Any]) -> str | None:
    """The hint of a config row that may not be read."""
    if "resource_type" not in row:
        return None
    return rights.hint(row["error"], rights.to_describe(Resource(row["resource_type"], row["resource_name"])))
