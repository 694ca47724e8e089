"""`kadmin-nb quota usage` of 10 MB of request log in a fresh process, without Spark.

Beside it stands DuckDB's SQL over the same lines, in a fresh process too, as in `benchmarks.requests`. The log and its
windows are those of that bench.
"""

from __future__ import annotations

import gzip
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.requests import write
from benchmarks.timing import Row, interleaved, ratio, row

SIZE = 10**7
SECONDS, BY_SQL = 2.0, 2.8
"""Seconds of process time that ours may take, and times DuckDB's."""
ROUNDS = 3


def run(full: bool = False) -> list[Row]:
    """The figures, of plain files and of gzip; `full` takes more rounds."""
    rounds = 2 * ROUNDS if full else ROUNDS
    with tempfile.TemporaryDirectory(prefix="kadmin-nb-bench-") as folder:
        size = write(Path(folder), SIZE)
        plain = _figures(folder, f"usage of {size / 1e6:.0f} MB of request log", rounds)
        for place in Path(folder).glob("broker-*/*"):
            place.with_name(place.name + ".gz").write_bytes(gzip.compress(place.read_bytes()))
            place.unlink()
        return [*plain, *_figures(folder, f"usage of {size / 1e6:.0f} MB of request log in gzip", rounds)]


def _figures(folder: str, of: str, rounds: int) -> list[Row]:
    works = [_Fresh(_OURS.format(folder=folder)), _Fresh(_SQL.format(folder=folder))]
    ours, sql = interleaved(works, rounds)
    cpu, figure = min(works[0].seconds), f"{of} without Spark, a fresh process"
    seconds = f"{figure}, its CPU seconds / {SECONDS:g}"
    return [
        row(seconds, cpu, SECONDS, cpu / SECONDS, 1.0, "its own time, not the clock's"),
        row(
            f"{figure} / DuckDB's SQL", min(ours), min(sql), ratio(ours, sql), BY_SQL, "dedupe and quarantine included"
        ),
    ]


_OURS = (
    "from kadmin_nb.commands import terminal; raise SystemExit(terminal.run_line(['quota', 'usage', {folder!r},"
    " '--broker', r'/broker-(\\d+)/', '--tz', 'UTC', '--out', {folder!r} + '/_usage.parquet']))"
)
_SQL = (
    "from benchmarks.requests import by_sql; from pyarrow import parquet;"
    " parquet.write_table(by_sql({folder!r}), {folder!r} + '/_sql.parquet')"
)


class _Fresh:
    """A program in a process of its own; `seconds` are those that its runs took of the processors."""

    def __init__(self, program: str) -> None:
        self._program = program
        self.seconds: list[float] = []

    def __call__(self) -> None:
        before = _of_children()
        subprocess.run([sys.executable, "-c", self._program], check=True, capture_output=True)
        self.seconds.append(_of_children() - before)


def _of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
