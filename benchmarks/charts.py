"""The first chart of a process, after Altair's import: made of a frame, and its SVG; and one of 100,000 rows."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.timing import Row, row

_PROGRAM = """
import time, altair, pyarrow as pa
import kadmin_nb as kn
from kadmin_nb.charts.showing import bundle
from kadmin_nb.frames import schemas
limit = {{"client_id": "app", "key": "producer_byte_rate", "value": 1e6, "level": "USER"}}
frame = schemas.table(schemas.EFFECTIVE, ({{**limit, "user": f"user-{{n}}"}} for n in range({rows})))
start = time.process_time()
bundle(kn.charts.effective(frame))
print(time.process_time() - start)
"""
SECONDS_OF_A_CHART = 1.0


def run(full: bool = False) -> list[Row]:
    """Both figures, each of a fresh process; processor time, so that a busy machine counts less."""
    few, many = (min(_seconds_of(rows) for _ in range(5 if full else 3)) for rows in (40, 100_000))
    bound = SECONDS_OF_A_CHART
    return [
        row("first chart after Altair's import, CPU / 1 s", few, bound, few / bound, 1.0),
        row("first chart of 100,000 rows, CPU / 1 s", many, bound, many / bound, 1.5),
    ]


def _seconds_of(rows: int) -> float:
    program = [sys.executable, "-c", _PROGRAM.format(rows=rows)]
    return float(subprocess.run(program, capture_output=True, text=True, check=True).stdout)
