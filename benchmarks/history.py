"""A history of snapshots of 10,000 quotas, 100 changed in each: what `as_of` and a record cost, and what is stored."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
from deltalake import WriterProperties, write_deltalake

import kadmin_nb as kn
from benchmarks.resolve import quotas_of_a_fleet
from benchmarks.timing import Row, row
from kadmin_nb.frames import schemas
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.grammar import DEFAULT
from kadmin_nb.state.delta import ROW_GROUP
from kadmin_nb.state.intervals import stored_schema
from kadmin_nb.state.snapshots import Snapshot, snapshot

ROWS, CHANGED, SEED = 10_000, 100, 7
FEW, MANY, RECORDED, LOOKS = 100, 10_000, 100, 11
"""Of the many all but the last hundred are written at once, as a recorder leaves them."""

AS_OF_SECONDS, RECORD_SECONDS, FILES, MB_A_THOUSAND = 0.05, 0.1, 50, 3.0

START, STEP = datetime(2026, 1, 1, tzinfo=UTC), timedelta(hours=1)


def run(full: bool = False) -> list[Row]:
    """The figures: CPU seconds of this process, files and megabytes."""
    fleet, chance = _fleet(), np.random.default_rng(SEED)
    rows: list[Row] = []
    for count in (FEW, MANY):
        with tempfile.TemporaryDirectory(prefix="kadmin-nb-history-") as folder:
            place, values = Path(folder, "history"), fleet["value"].to_numpy().copy()
            if count > RECORDED:
                _write(place, fleet, values, chance, count - RECORDED)
            recorded = [_record(place, fleet, values, chance, number) for number in range(count - RECORDED, count)]
            moments = [START + STEP * (chance.random() * (count - 1)) for _ in range(LOOKS)]
            looks = [_look(place, at) for at in moments]
            rows += _figures(place, count, statistics.mean(recorded[1:]), statistics.median(looks))
    return rows


def _figures(place: Path, count: int, record: float, look: float) -> list[Row]:
    files = [file for file in place.rglob("*") if file.is_file()]
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    a_thousand = megabytes / max(count / 1000, 1)
    after = f"after {count:,} snapshots"
    return [
        _figure(f"history: as_of {after}", look, AS_OF_SECONDS, f"CPU seconds, median of {LOOKS}"),
        _figure(f"history: a record {after}", record, RECORD_SECONDS, f"CPU seconds, mean of {RECORDED - 1}"),
        _figure(f"history: files {after}", len(files), FILES, "logs among them"),
        _figure(f"history: MB a thousand snapshots, {after}", a_thousand, MB_A_THOUSAND, f"{megabytes:.1f} in all"),
    ]


def _figure(figure: str, ours: float, most: float, note: str) -> Row:
    return row(
        figure, ours, most, ours / most, 1.0, f"{note}; {ROWS:,} rows, {CHANGED} changed / the most that it may be"
    )


def _look(place: Path, at: datetime) -> float:
    return _cpu(lambda: kn.open_history(place).as_of(at))


def _record(place: Path, fleet: pa.Table, values: np.ndarray, chance: np.random.Generator, number: int) -> float:
    if number:
        values[chance.integers(ROWS, size=CHANGED)] = chance.integers(1, 10**8, size=CHANGED)
    taken = _taken(fleet, values, number)
    return _cpu(lambda: kn.open_history(place).record(taken))


def _write(place: Path, fleet: pa.Table, values: np.ndarray, chance: np.random.Generator, count: int) -> None:
    """A history of so many snapshots: the ended intervals, the open ones, and the snapshots."""
    kn.open_history(place).record(_taken(fleet, values, 0))
    begun, ended = np.zeros(ROWS, int), []
    for number in range(1, count):
        changed = np.unique(chance.integers(ROWS, size=CHANGED))
        ended.append((changed, begun[changed], np.full(len(changed), number), values[changed]))
        values[changed], begun[changed] = chance.integers(1, 10**8, size=len(changed)), number
    for rows, mode in (
        (_intervals(fleet, np.arange(ROWS), begun, None, values), "overwrite"),
        (_intervals(fleet, *map(np.concatenate, zip(*ended, strict=True))), "append"),
    ):
        properties = WriterProperties(compression="ZSTD", max_row_group_size=ROW_GROUP)
        write_deltalake(place / "quotas_history", rows, mode=mode, writer_properties=properties)
    snapshots = {
        "cluster_id": ["bench"] * (count - 1),
        "kind": ["quotas"] * (count - 1),
        "taken_at": [START + STEP * number for number in range(1, count)],
        "snapshot_id": [chance.bytes(16).hex() for _ in range(1, count)],
        "scopes": ["QUOTAS"] * (count - 1),
        "rows": [ROWS] * (count - 1),
    }
    schema = stored_schema(schemas.SNAPSHOTS).remove_metadata()
    write_deltalake(place / "snapshots", pa.table(snapshots, schema=schema), mode="append")


def _intervals(
    fleet: pa.Table, places: np.ndarray, begun: np.ndarray, ended: np.ndarray | None, values: np.ndarray
) -> pa.Table:
    """Rows of QUOTAS_HISTORY, by places in the fleet and numbers of snapshots."""
    schema = stored_schema(schemas.QUOTAS_HISTORY).remove_metadata()
    rows = fleet.take(pa.array(places))
    times = {"valid_from": _times(begun), "valid_to": pa.nulls(len(rows)) if ended is None else _times(ended)}
    same = {"cluster_id": pa.array(["bench"] * len(rows)), "value": pa.array(values), **times}
    columns = [(same[field.name] if field.name in same else rows[field.name]).cast(field.type) for field in schema]
    return pa.table(columns, schema=schema)


def _times(numbers: np.ndarray) -> pa.Array:
    start = np.datetime64(START.replace(tzinfo=None), "us")
    return pa.array(start + numbers * np.timedelta64(STEP), pa.timestamp("us", "UTC"))


def _fleet() -> pa.Table:
    """QUOTAS: so many rows of the fleet that `resolve` is measured on, all levels among them."""
    fleet = quotas_of_a_fleet()
    fleet = fleet.take(np.random.default_rng(SEED).permutation(len(fleet))[:ROWS])
    parts = [fleet[name].to_pylist() for name in ("user", "client_id")]
    entities = [_entity(level, *names) for level, *names in zip(fleet["level"].to_pylist(), *parts, strict=True)]
    columns = {
        **{name: fleet[name].to_pylist() for name in fleet.column_names},
        "entity": entities,
        "ip": [None] * ROWS,
    }
    return schemas.from_columns(schemas.QUOTAS, columns).sort_by([("entity", "ascending")])


def _entity(level: str, user: str | None, client: str | None) -> str:
    whom = {
        "user": user or ("USER" in level and DEFAULT),
        "client-id": client or ("DEFAULT_CLIENT" in level and DEFAULT),
    }
    return str(Entity.of({kind: name for kind, name in whom.items() if name}))


def _taken(quotas: pa.Table, values: np.ndarray, number: int) -> Snapshot:
    quotas = quotas.set_column(quotas.schema.get_field_index("value"), quotas.schema.field("value"), pa.array(values))
    empty = schemas.table(schemas.CONFIGS, ())
    return snapshot(
        {"quotas": quotas, "configs": empty}, cluster_id="bench", taken_at=START + STEP * number, scopes=["QUOTAS"]
    )


def _cpu(work: Callable[[], object]) -> float:
    """The CPU seconds of this process and its threads that it takes."""
    start = time.process_time()
    work()
    return time.process_time() - start
