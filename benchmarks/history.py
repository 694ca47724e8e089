"""A history of snapshots of 100,000 quotas: what `as_of` reads of it, and what an unchanged snapshot adds."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

import kadmin_nb as kn
from benchmarks.resolve import quotas_of_a_fleet
from benchmarks.timing import Row, row, seconds
from kadmin_nb.frames import schemas
from kadmin_nb.frames.snapshots import Snapshot, snapshot
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.grammar import DEFAULT

ROWS, CHANGED, SEED = 100_000, 100, 7
SNAPSHOTS, AT_FULL_SIZE = 100, 1_000
"""Each differs from the one before. `as_of` may read a fiftieth of them all, so of fewer it may read less."""

START, STEP = datetime(2026, 1, 1, tzinfo=UTC), timedelta(hours=1)
UNCHANGED, LOOKS = 100, 5


def run(full: bool = False) -> list[Row]:
    """The figures, in bytes: what was read is what the process asked the kernel for."""
    with tempfile.TemporaryDirectory(prefix="kadmin-nb-history-") as folder:
        fleet, chance = _fleet(), np.random.default_rng(SEED)
        return [
            _unchanged(Path(folder, "unchanged"), fleet),
            _as_of(Path(folder, "fleet"), fleet, chance, AT_FULL_SIZE if full else SNAPSHOTS),
        ]


def _unchanged(place: Path, fleet: pa.Table) -> Row:
    history, values = kn.open_history(place), fleet["value"].to_numpy().copy()
    history.record(_taken(fleet, values, 0))
    whole = _size(place)
    for number in range(1, UNCHANGED + 1):
        history.record(_taken(fleet, values, number))
    each = (_size(place) - whole) / UNCHANGED
    note = f"bytes, {ROWS:,} rows, mean of {UNCHANGED}, log and checkpoints with it / the first one"
    return row("history: an unchanged snapshot / a full one", each, whole, each / whole, 0.01, note)


def _as_of(place: Path, fleet: pa.Table, chance: np.random.Generator, snapshots: int) -> Row:
    history, values = kn.open_history(place), fleet["value"].to_numpy().copy()
    history.record(_taken(fleet, values, 0))
    whole = _size(place)
    for number in range(1, snapshots):
        values[chance.integers(ROWS, size=CHANGED)] = chance.integers(1, 10**8, size=CHANGED)
        history.record(_taken(fleet, values, number))
    moments = [START + STEP * (chance.random() * snapshots) for _ in range(LOOKS)]
    looks = [_read(lambda at=at: kn.open_history(place).as_of(at)) for at in moments]
    read, spent = map(statistics.median, zip(*looks, strict=True))
    stored, full = _size(place), whole * snapshots
    note = (
        f"bytes; {snapshots:,} snapshots of {ROWS:,} rows, {CHANGED} changed in each; {spent:.2f} s"
        f"; {stored / 1e6:.0f} MB are stored, it reads {read / stored:.1%} of them"
    )
    return row("history: as_of reads / all snapshots whole", read, full, read / full, 0.02, note)


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


def _size(place: Path) -> int:
    return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())


def _read(work: Callable[[], object]) -> tuple[int, float]:
    """The bytes that it reads, and its seconds."""
    before = _asked()
    spent = seconds(work)
    return _asked() - before, spent


def _asked() -> int:
    """Bytes that this process has read so far, from disk or cache."""
    lines = Path("/proc/self/io").read_text().split("\n")
    return int(next(line for line in lines if line.startswith("rchar")).split()[1])
