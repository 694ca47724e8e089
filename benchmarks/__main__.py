"""Run the benches, print their figures as one table, and write them as JSON."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path

from tabulate import tabulate

from benchmarks.timing import Row, not_measured

BENCHES = (
    "imports",
    "one_shot",
    "first_rows",
    "wire",
    "configs",
    "plan",
    "client_configs",
    "resolve",
    "history",
    "small_logs",
    "widgets",
    "analytics",
    "backtest",
    "requests",
    "totals",
    "charts",
    "dynamic_clients",
)
"""One module a subject, each with `run(full) -> list[Row]`."""

OUT = Path("out")


def main(words: list[str]) -> int:
    """0 when every bound is kept; what was measured is printed and written in any case, after Ctrl-C too."""
    arguments = _arguments(words)
    rows: list[Row] = []
    try:
        for name in arguments.names or BENCHES:
            rows += _run(name, arguments.full)
    finally:
        _report(rows, arguments.full)
    return 0 if all(row["ok"] for row in rows) else 1


def _report(rows: list[Row], full: bool) -> None:
    print(_table(rows))
    OUT.mkdir(exist_ok=True)
    place = OUT / "bench.json"
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"
    measured = {"at": datetime.now(UTC).isoformat(), "machine": machine, "full": full, "figures": rows}
    place.write_text(json.dumps(measured, indent=1))
    print(f"\nwritten to {place}")


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all, or some of {', '.join(BENCHES)}")
    parser.add_argument("--full", action="store_true", help="at full size, which takes hours")
    arguments = parser.parse_args(words)
    if unknown := [name for name in arguments.names if name not in BENCHES]:
        parser.error(f"unknown bench {unknown[0]}")
    return arguments


def _run(name: str, full: bool) -> list[Row]:
    """The figures of one bench; where it fails, a row that says why, so that the next ones run."""
    started = time.monotonic()
    try:
        rows = importlib.import_module(f"benchmarks.{name}").run(full)
    except Exception as error:
        traceback.print_exc()
        rows = [not_measured(name, f"{type(error).__name__}: {error}")]
    print(f"{name}: {len(rows)} figures in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return list(rows)


def _table(rows: list[Row]) -> str:
    columns = ("figure", "ours", "reference", "ratio", "bound", "ok", "note")
    cells = [[row[column] for column in columns] for row in rows]
    return tabulate(cells, columns, "simple", maxcolwidths=[48, None, None, None, None, None, 60])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
