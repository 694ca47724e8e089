"""What a worker holds while it works through a large partition: tens of thousands of rows at a time, never all."""

from __future__ import annotations

import subprocess
import sys

import pytest

AT_MOST = 500e6
"""Bytes beyond what the libraries take; docs/usage.md says so."""

WORKER = r"""
import re, sys
import numpy as np
import pyarrow as pa
from kadmin_nb.fleets import workers
from kadmin_nb.frames import schemas
from kadmin_nb.resolution import demand
from kadmin_nb.usage import bucket_figures

BUCKETS, WINDOWS, BATCH, SECOND, NOW = 200_000, 10, 10_000, 1_000_000, 1_780_000_000_000_000

def peak():  # not ru_maxrss, which a child inherits from its parent
    return int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1]) * 1024

def batches(of_batch):
    for first in range(0, BUCKETS * WINDOWS, BATCH):
        row = np.arange(first, first + BATCH)
        yield of_batch(row // WINDOWS, NOW + row % WINDOWS * SECOND)

def backtested(bucket, start):
    name = pa.array(bucket).cast(pa.string())
    same = {"broker": 1, "key": "producer_byte_rate", "bucket_client_id": "", "level": "USER", "limit": 100.0}
    columns = {word: pa.repeat(value, BATCH) for word, value in same.items()}
    columns |= {"bucket_user": name, "user": name, "client_id": columns["bucket_client_id"]}
    columns |= {"start": start, "end": start + SECOND, "value": np.full(BATCH, 300.0), workers.GROUP: bucket}
    return pa.RecordBatch.from_pydict(columns)

def utilised(bucket, start):
    name = pa.array(bucket).cast(pa.string())
    same = {"broker": 1, "measured": False, "key": "producer_byte_rate", "bucket_client_id": "", "level": "USER"}
    same |= {"limit": 100.0, "used": 300.0, "unknown": False, "throttle_ms": 0.0, "windows": 10, "brokers": 1}
    same |= {"length": 1_000_000}
    columns = {word: pa.repeat(value, BATCH) for word, value in same.items()}
    columns |= {"bucket_user": name, "user": pa.nulls(BATCH, pa.string()), "client_id": pa.nulls(BATCH, pa.string())}
    columns["start"], columns["end"] = (
        pa.array(time).cast(pa.timestamp("us", "UTC")) for time in (start, start + SECOND)
    )
    return pa.RecordBatch.from_pydict({**columns, workers.GROUP: pa.array(bucket)})

JOBS = {
    "backtest": (backtested, demand.judged, ([*demand.BUCKET], "controller_mutation_rate")),
    "utilisation": (utilised, bucket_figures.bucket_figures, (["broker", "measured"],)),
}
of_batch, kernel, arguments = JOBS[sys.argv[1]]
first = next(batches(of_batch))
job = (kernel, arguments, kernel(pa.Table.from_batches([first]).drop_columns([workers.GROUP]), *arguments).schema, True)
before = peak()
print(sum(batch.num_rows for batch in workers._part_by_part(job, batches(of_batch))), peak() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("job", ["backtest", pytest.param("utilisation", marks=pytest.mark.long)])
def test_two_million_rows_pass_through_a_worker_in_parts(job: str) -> None:
    """The executor was killed for its memory: a partition was held whole before the first bucket was replayed."""
    words = [sys.executable, "-c", WORKER, job]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    buckets, memory = map(int, done.stdout.split())
    assert buckets == 200_000
    assert memory < AT_MOST
