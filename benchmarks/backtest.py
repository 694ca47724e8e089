"""`kn.usage.backtest`'s replay of a million buckets above their limits, and of one bucket with most rows of a fleet.

Both are measured in CPU seconds of this process, beside a bound in seconds.
"""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

from benchmarks.timing import Row, row
from kadmin_nb.model.quota_keys import USER_CLIENT_KEYS
from kadmin_nb.resolution import demand

AT_MOST = 20.0
"""CPU seconds."""
SECOND, NOW = 1_000_000, 1_780_000_000_000_000
WINDOWS = 5
"""Windows of a second that a bucket has, of a minute."""


def run(full: bool = False) -> list[Row]:
    """The figures of a million buckets and of 5 million rows, or of a tenth of these, with a tenth of the bound."""
    scale = 1 if full else 10
    buckets, rows = 10**6 // scale, 5 * 10**6 // scale
    works = {
        f"replay of {buckets:,} buckets above their limits": of_many(buckets),
        f"replay of {rows:,} rows, 80 % of them of one bucket": of_one(rows),
    }
    return [_figure(name, usage, AT_MOST / scale) for name, usage in works.items()]


def _figure(name: str, usage: pa.Table, most: float) -> Row:
    begin = time.process_time()
    demand.judged(usage, [*demand.BUCKET], USER_CLIENT_KEYS[-1])
    spent = time.process_time() - begin
    return row(name, spent, most, spent / most, 1.0, "CPU seconds, beside the bound")


def of_many(buckets: int) -> pa.Table:
    """Each bucket is one client's, which wants three times its limit in a few seconds of a minute."""
    chance = np.random.default_rng(1)
    bucket = np.repeat(np.arange(buckets), WINDOWS)
    second = np.tile(np.arange(WINDOWS), buckets) + np.repeat(chance.integers(0, 50, buckets), WINDOWS)
    return _demand(bucket, bucket, second, chance.exponential(300, len(bucket)))


def of_one(rows: int) -> pa.Table:
    """Of an hour, second by second; the hot bucket has a thousand clients."""
    chance = np.random.default_rng(2)
    bucket = np.where(np.arange(rows) % 5 > 0, 0, chance.integers(1, 1000, rows))
    client = np.arange(rows) // 3600
    return _demand(bucket, client, np.arange(rows) % 3600, chance.exponential(30, rows))


def _demand(bucket: object, client: object, second: np.ndarray, value: object) -> pa.Table:
    same = {"broker": 1, "key": USER_CLIENT_KEYS[0], "bucket_client_id": "", "level": "USER", "limit": 100.0}
    columns = {name: pa.repeat(word, len(second)) for name, word in same.items()}
    user = pa.array(bucket).cast(pa.string())
    columns |= {"bucket_user": user, "user": user, "client_id": pa.array(client).cast(pa.string())}
    begin = NOW + second * SECOND
    return pa.table({**columns, "start": begin, "end": begin + SECOND, "value": value})


if __name__ == "__main__":
    for line in run(full=True):
        print("{ok!s:5} {ratio:7} (at most {bound}) {figure}: {ours} to {reference}; {note}".format(**line))
