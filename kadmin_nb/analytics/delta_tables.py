"""Delta tables that answers are written into: their names, what they have to be like, and errors of writing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from ..errors import Invalid, Unsupported, UsageError
from ..frames.frame import Frame
from ..frames.spark import errors_in_one_line, new_table
from .spark_errors import in_one_line

_NO_DELTA = "kn.spark_session(delta=True) starts one."
_HALF_MADE = "A run that was killed while it made the table leaves such a folder: remove it, and run again."

_PART = r"(?:\w+|`(?:[^`]|``)+`)"
_PARTS = re.compile(_PART, re.ASCII)
_TABLE = re.compile(rf"{_PART}(?:\.{_PART}){{0,2}}", re.ASCII)


def check_tables(spark: SparkSession, **tables: str) -> None:
    """Refuse tables that cannot all be written, before any work is done; nothing is read or made.

    Parameters
    ----------
    tables
        The name of each, `catalog.schema.table`, by what it is for: `usage="lake.usage"`. A blank one is passed over.

    Raises
    ------
    UsageError
        One is not a name of a table, or two are the same table.
    """
    purposes: dict[tuple[str, ...], str] = {}
    for purpose, table in tables.items():
        if table and (other := purposes.setdefault(_full_name(spark, table), purpose)) != purpose:
            raise UsageError(f"{other} and {purpose} are both {table}", hint="Give each a table of its own.")


def beside(table: str, suffix: str) -> str:
    """The name of the table beside another that is called like it, with a suffix.

    Raises
    ------
    UsageError
        It is not the name of a table.
    """
    *schema, name = _name_parts(table)
    return ".".join(map(_quoted, (*schema, f"{name}{suffix}")))


def suffixes(spark: SparkSession, table: str, pattern: str) -> list[str]:
    """The suffixes of this pattern that tables beside another have, in small letters."""
    *schema, name = _name_parts(table)
    place = f" IN {'.'.join(map(_quoted, schema))}" if schema else ""
    names = [row.tableName.lower() for row in spark.sql(f"SHOW TABLES{place}").collect()]
    found = (re.fullmatch(f"{re.escape(name.lower())}({pattern})", other) for other in names)
    return [match[1] for match in found if match]


@contextmanager
def writing(table: str) -> Iterator[None]:
    """Around what reads files and writes a table: what Spark cannot do is said in one line that names the table.

    Raises
    ------
    Invalid
        Spark cannot write it, or a file ends before its time.
    NotFound
        There is no such path.
    """
    with errors_in_one_line(f"{table} cannot be written"), in_one_line():
        yield


def make(spark: SparkSession, table: str, rows: DataFrame, frame: type[Frame]) -> None:
    """An empty Delta table for these rows of a frame, unless it is there; one that is there is checked.

    Raises
    ------
    Unsupported
        The session has no Delta.
    UsageError
        What is there is not a Delta table, or has other columns.
    Invalid
        Its folder is there, and is not a Delta table.
    """
    _name_parts(table)  # refuses what is not a name
    _create(spark, table, rows, frame)
    _check_columns(table, spark.table(table), rows)
    _check_provider(spark, table)


def _create(spark: SparkSession, table: str, rows: DataFrame, frame: type[Frame]) -> None:
    try:
        spark.sql(new_table(table, rows, frame, "USING delta"))
    except Exception as error:
        if "DATA_SOURCE_NOT_FOUND" in str(error) or "ClassNotFound" in str(error):
            raise Unsupported("this Spark session has no Delta", hint=_NO_DELTA) from None
        if "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION" in str(error):
            raise Invalid(
                f"{table} cannot be made: its folder is there, and is not a Delta table", hint=_HALF_MADE
            ) from None
        raise


def _check_columns(table: str, stored: DataFrame, rows: DataFrame) -> None:
    if stored.columns != rows.columns:
        stored_names, names = ", ".join(stored.columns), ", ".join(rows.columns)
        raise UsageError(f"{table} has the columns {stored_names}", hint=f"Name a table that has {names}.")
    for (name, stored_type), (_, kind) in zip(stored.dtypes, rows.dtypes, strict=True):
        if stored_type != kind:
            raise UsageError(f"{name} of {table} is {stored_type}, not {kind}", hint="Name another table.")


def _check_provider(spark: SparkSession, table: str) -> None:
    described = {row[0]: str(row[1]) for row in spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()}
    if described.get("Provider", "").lower() != "delta":
        raise UsageError(f"{table} is not a Delta table", hint="Name another; it is made where there is none.")


def _quoted(part: str) -> str:
    return "`{}`".format(part.replace("`", "``"))


def _full_name(spark: SparkSession, table: str) -> tuple[str, ...]:
    """Catalog, schema and table, in small letters: Spark takes large ones for the same."""
    parts = _name_parts(table)
    here = (spark.catalog.currentCatalog(), spark.catalog.currentDatabase()) if len(parts) < 3 else ()
    return tuple(part.casefold() for part in (*here[: 3 - len(parts)], *parts))


def _name_parts(table: str) -> list[str]:
    if not _TABLE.fullmatch(table):
        raise UsageError(
            f"{table!r} is not the name of a table",
            hint="Give catalog.schema.table; a part with more than letters, digits and _ goes between backquotes,"
            " as `my-lake`.kafka.usage.",
        )
    return [re.sub("``", "`", part[1:-1]) if part[0] == "`" else part for part in _PARTS.findall(table)]
