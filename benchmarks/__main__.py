"""Run the benches, print their figures as one table, and write them as JSON."""

from __future__ import annotations

import importlib
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tabulate import tabulate

from benchmarks.timing import Row

BENCHES = (
    "imports",
    "one_shot",
    "first_rows",
    "wire",
    "plan",
    "client_configs",
    "resolve",
    "history",
    "small_logs",
    "widgets",
    "analytics",
    "requests",
    "charts",
    "dynamic_clients",
)
"""One module a subject, each with `run(full) -> list[Row]`."""

OUT = Path("out")


def main(words: list[str]) -> int:
    """0 when every bound is kept."""
    full = "--full" in words
    chosen = [word for word in words if not word.startswith("-")] or list(BENCHES)
    rows = [row for name in chosen for row in _run(name, full)]
    print(_table(rows))
    OUT.mkdir(exist_ok=True)
    place = OUT / "bench.json"
    place.write_text(json.dumps({"at": datetime.now(UTC).isoformat(), "full": full, "figures": rows}, indent=1))
    print(f"\nwritten to {place}")
    return 0 if all(row["ok"] for row in rows) else 1


def _run(name: str, full: bool) -> list[Row]:
    started = time.monotonic()
    rows = importlib.import_module(f"benchmarks.{name}").run(full)
    print(f"{name}: {len(rows)} figures in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return list(rows)


def _table(rows: list[Row]) -> str:
    columns = ("figure", "ours", "reference", "ratio", "bound", "ok", "note")
    cells = [[row[column] for column in columns] for row in rows]
    return tabulate(cells, columns, "simple", maxcolwidths=[48, None, None, None, None, None, 60])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
