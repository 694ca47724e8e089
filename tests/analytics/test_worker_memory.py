"""What a worker holds while it works through a large partition: tens of thousands of rows at a time, never all."""

from __future__ import annotations

import subprocess
import sys

import pytest

AT_MOST = 500e6
"""Bytes beyond what the libraries take; docs/usage.md says so."""

WORKER = r"""
import re, sys
from functools import partial
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
    same |= {"limit": 100.0, "value": 300.0, "unknown": False, "throttle_ms": 0.0, "windows": 10, "brokers": 1}
    same |= {"length": 1_000_000, "its_client_id": "app"}
    columns = {word: pa.repeat(value, BATCH) for word, value in same.items()}
    columns |= {"bucket_user": name, "user": pa.nulls(BATCH, pa.string()), "client_id": pa.nulls(BATCH, pa.string())}
    columns["its_user"] = name
    columns["start"], columns["end"] = (
        pa.array(time).cast(pa.timestamp("us", "UTC")) for time in (start, start + SECOND)
    )
    return pa.RecordBatch.from_pydict({**columns, workers.GROUP: pa.array(bucket)})

def shared(bucket, start):
    batch = utilised(bucket, start)  # all clients are of one bucket
    for name, value in (("bucket_user", ""), (workers.GROUP, 1)):
        batch = batch.set_column(batch.schema.get_field_index(name), name, pa.repeat(value, BATCH))
    return batch

BY, TOGETHER = (["broker", "measured"],), bucket_figures.windows_together
JOBS = {
    "backtest": (backtested, demand.judged, ([*demand.BUCKET], "controller_mutation_rate"), None),
    "utilisation": (utilised, bucket_figures.bucket_figures, BY, TOGETHER),
    "shared": (shared, bucket_figures.bucket_figures, BY, TOGETHER),
}
of_batch, kernel, arguments, together = JOBS[sys.argv[1]]
first = pa.Table.from_batches([next(batches(of_batch))]).drop_columns([workers.GROUP])
job = (kernel, arguments, kernel(first, *arguments).schema, partial(workers._whole_groups, together, arguments))
before = peak()
found = pa.Table.from_batches(workers._part_by_part(job, batches(of_batch)))
print(len(found), sum(found["clients"].to_pylist()) if together else 0, peak() - before)
"""


LONG = pytest.mark.long
JOBS = [
    ("backtest", 200_000, 0),
    pytest.param("utilisation", 200_000, 200_000, marks=LONG),
    pytest.param("shared", 1, 200_000, marks=LONG),
]


@pytest.mark.slow
@pytest.mark.parametrize(("job", "buckets", "clients"), JOBS)
def test_two_million_rows_pass_through_a_worker_in_parts(job: str, buckets: int, clients: int) -> None:
    """The executor was killed for its memory: a partition was held whole before the first bucket was replayed, and then
    all that the clients of a default limit had used."""
    words = [sys.executable, "-c", WORKER, job]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    *found, memory = map(int, done.stdout.split())
    assert found == [buckets, clients]
    assert memory < AT_MOST
