"""Frames that a parameter names: a file, or a table of Spark's."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from ..errors import NotFound
from ..files import expanded
from ..frames import files, schemas
from ..frames import spark as sparks
from ..frames.given_frames import refuse_other_than_text, table_of

_TABLE = re.compile(r"\w+(\.\w+){1,2}")
_CLIENT = ["user", "client_id"]
_CLIENTS = "the clients"
_SCHEMA = pa.schema([(name, pa.string()) for name in _CLIENT])


def frame(where: str) -> Any:
    """The Arrow table in a .parquet or .csv file, or, where a session is active, Spark's table of that name.

    Raises
    ------
    NotFound, UsageError, Invalid
        No such file, and no session that may know a table; another kind of file; not what its name says.
    """
    place = expanded(where)
    if place.is_file():
        return files.typed(files.read_table(place), schemas.USAGE.schema)
    session = sparks.active_session()
    if session is None or not _TABLE.fullmatch(where) or place.suffix in files.FILES:
        raise NotFound(f"no such file: {where}", hint="A .parquet or .csv file; with a Spark session also a table.")
    with sparks.at_work(f"Spark reads the table {where}"):
        table = session.table(where)
        table.schema  # noqa: B018  # over Connect a table that is not there is found out here
    return table


def clients(given: Any) -> pa.Table:
    """PAIRS, each client once, of a frame that has more of them: PAIRS, USAGE, in Spark or not. None has nobody.

    Raises
    ------
    UsageError
        It has no such columns.
    """
    if given is None:
        given = schemas.table(schemas.PAIRS, ())
    if sparks.is_spark(given):
        schemas.require_columns(_CLIENTS, _CLIENT, given.columns)
        with sparks.at_work("Spark reads the clients"):
            given = given.select(*_CLIENT).distinct().toArrow()
    table = table_of(given, _CLIENTS)
    schemas.require_columns(_CLIENTS, _CLIENT, table.column_names)
    refuse_other_than_text(table, _CLIENT, _CLIENTS)
    names = table.select(_CLIENT).cast(_SCHEMA)
    return names.group_by(_CLIENT, use_threads=False).aggregate([]).sort_by([(name, "ascending") for name in _CLIENT])
