"""`kn.history(where)`: a path is a Delta table of its own, a name with dots is a table of Spark's."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from ..errors import UsageError
from .snapshot_history import History

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TABLE = re.compile(r"\w+(\.\w+){1,2}")


def history(where: object, spark: SparkSession | None = None) -> History:
    """The history kept at a path or in a table; nothing is made before something is recorded.

    Parameters
    ----------
    where
        A path (a Delta table, through `deltalake`; object stores by their address, with credentials that are
        configured: no metadata address of a cloud is asked for some), or `schema.table` or
        `catalog.schema.table`, kept through Spark SQL. What could be both is a table: write `./a.b` for a path.
    spark
        The session for a table; the active one, or a local one, unless said.

    Raises
    ------
    UsageError
        Neither.
    Unsupported
        `deltalake`, or pyspark, is not installed.
    """
    if isinstance(where, str) and _TABLE.fullmatch(where):
        from .spark import SparkTable

        return History(SparkTable(where, spark))
    if not isinstance(where, str | os.PathLike) or not os.fspath(where):
        raise UsageError(f"{where!r} is not a place for a history", hint="Give a path, or catalog.schema.table.")
    from .delta import DeltaFolder

    return History(DeltaFolder(os.fspath(where)))
