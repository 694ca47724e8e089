"""`kn.resolve` beside Polars doing three left joins, or one a level, for the same values, without levels and buckets.

Data from a seed: 150,000 entities at all levels (100,000 of them exact pairs), 4 keys each set with
probability 0.6, 100,000 users, 20,000 client-ids, pairs drawn with a Zipf-like skew, names as strings.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from benchmarks.timing import Row, interleaved, ratio, row
from kadmin_nb.model.levels import LEVELS, Level
from kadmin_nb.model.quota_keys import USER_CLIENT_KEYS as KEYS
from kadmin_nb.resolution import lookup
from kadmin_nb.resolution.kernel import Index, resolve

USERS, CLIENTS, DENSITY, SEED = 100_000, 20_000, 0.6, 20260801
COUNTS = {
    "CLIENT_OF_USER": 100_000,
    "DEFAULT_CLIENT_OF_USER": 10_000,
    "USER": 30_000,
    "CLIENT_OF_DEFAULT_USER": 2_500,
    "CLIENT": 7_500,
    "DEFAULT_CLIENT": 1,
}
"""Entities a level. No default user: it would take every client-id quota out of play."""


def run(full: bool = False) -> list[Row]:
    """The figures of `resolve`; `full` takes more rounds."""
    quotas, rounds = quotas_of_a_fleet(), 9 if full else 5
    pairs = pairs_of_a_fleet(10_000_000)
    return [
        *_beside_polars(quotas, pairs, rounds),
        _long_beside_wide(quotas, pairs, rounds),
        _growth(quotas, pairs, rounds),
        _memory(quotas, pairs),
    ]


def quotas_of_a_fleet() -> pa.Table:
    """QUOTAS as far as `resolve` reads them."""
    random, parts = np.random.default_rng(SEED), []
    for level in LEVELS:
        count = COUNTS.get(level.name, 0)
        users, clients = _entities(random, level, count)
        for key in KEYS:
            has = np.flatnonzero(random.random(count) < DENSITY)
            parts.append(
                pa.table(
                    {
                        "level": pa.array([level.name] * len(has), pa.string()),
                        "user": _names("user", users[has] if level.user == "name" else None, len(has)),
                        "client_id": _names("client", clients[has] if level.client_id == "name" else None, len(has)),
                        "key": pa.array([key] * len(has), pa.string()),
                        "value": np.round(random.random(len(has)) * 1e7) + 1,
                    }
                )
            )
    return pa.concat_tables(parts)


def _entities(random: np.random.Generator, level: Level, count: int) -> tuple[Any, Any]:
    """Users and client-ids of a level; exact pairs are among those that make the traffic."""
    if level.name != "CLIENT_OF_USER":
        return random.permutation(USERS)[:count], random.permutation(CLIENTS)[:count]
    traffic = [_skewed(np.random.default_rng(SEED + n), 4 * count, names) for n, names in enumerate((USERS, CLIENTS))]
    both = random.permutation(np.unique(traffic[0] * CLIENTS + traffic[1]))[:count]
    return both // CLIENTS, both % CLIENTS


def _names(kind: str, numbers: Any, count: int) -> pa.Array:
    """`user-000042@example`, `client-app-00042`; nulls where there are no numbers."""
    if numbers is None:
        return pa.nulls(count, pa.string())
    form = "user-{:06d}@example" if kind == "user" else "client-app-{:05d}"
    return pa.array([form.format(n) for n in range(USERS if kind == "user" else CLIENTS)]).take(pa.array(numbers))


def pairs_of_a_fleet(count: int) -> pa.Table:
    """PAIRS: a few users and client-ids make most of the traffic."""
    users, clients = (np.random.default_rng(SEED + n) for n in range(2))
    return pa.table(
        {
            "user": _names("user", _skewed(users, count, USERS), count),
            "client_id": _names("client", _skewed(clients, count, CLIENTS), count),
        }
    )


def _skewed(random: np.random.Generator, count: int, names: int) -> Any:
    share = np.cumsum(1 / np.arange(1, names + 1) ** 1.1)
    return random.permutation(names)[np.searchsorted(share / share[-1], random.random(count)).clip(max=names - 1)]


class Polars:
    """The same values by three left joins, the three small tables made beforehand."""

    def __init__(self, quotas: pa.Table, pairs: pa.Table) -> None:
        wide = pl.DataFrame(quotas).pivot(on="key", index=["level", "user", "client_id"], values="value")
        at = {level.name: wide.filter(level=level.name).drop("level") for level in LEVELS}
        self.wide, self.pairs = wide, pl.DataFrame(pairs)
        self.by_pair = at["CLIENT_OF_USER"]
        self.by_user = _first(at["DEFAULT_CLIENT_OF_USER"], at["USER"], "user")
        self.by_client = _first(at["CLIENT_OF_DEFAULT_USER"], at["CLIENT"], "client_id")
        self.default = at["DEFAULT_CLIENT"].to_dicts()[0]

    def join(self, order: str = "none") -> pl.DataFrame:
        """A column a key; `order="left"` keeps that of the pairs, as `resolve` does."""
        options: dict[str, Any] = {"how": "left", "maintain_order": order}
        joined = (
            self.pairs.lazy()
            .join(self.by_pair.lazy(), on=["user", "client_id"], **options)
            .join(self.by_user.lazy(), on="user", suffix="_user", **options)
            .join(self.by_client.lazy(), on="client_id", suffix="_client", **options)
        )
        first = [pl.coalesce(k, f"{k}_user", f"{k}_client", pl.lit(self.default[k])).alias(k) for k in KEYS]
        return joined.select("user", "client_id", *first).collect()

    def eight_joins(self) -> pl.DataFrame:
        """The same by a left join a level, nothing made beforehand but the pivot: as one would write the rule down."""
        rows = self.pairs.lazy().with_columns(one=1)
        for level in LEVELS:
            names = [name for name in ("user", "client_id") if getattr(level, name) == "name"] or ["one"]
            values = [pl.col(key).alias(f"{key} {level.name}") for key in KEYS]
            quotas = self.wide.lazy().with_columns(one=1).filter(level=level.name).select(*names, *values)
            rows = rows.join(quotas, on=names, how="left", maintain_order="left")
        first = [pl.coalesce(*(f"{key} {level.name}" for level in LEVELS)).alias(key) for key in KEYS]
        return rows.select("user", "client_id", *first).collect()


def _first(one: pl.DataFrame, other: pl.DataFrame, name: str) -> pl.DataFrame:
    both = one.join(other, on=name, how="full", coalesce=True, suffix="_other")
    return both.select(name, *(pl.coalesce(key, f"{key}_other").alias(key) for key in KEYS))


def _beside_polars(quotas: pa.Table, pairs: pa.Table, rounds: int) -> list[Row]:
    polars = Polars(quotas, pairs)
    _same(polars.join("left"), resolve(quotas, pairs, shape="wide"))
    works = [lambda: resolve(quotas, pairs, shape="wide"), polars.join, lambda: polars.join("left")]
    ours, any_order, in_order = interleaved(works, rounds)
    profile = _profile(quotas, pairs)
    figure = "resolve, wide, 10 million pairs, to Polars' three left joins"
    return [
        _timed(f"{figure} in any order", ours, any_order, 1.0, f"aim 0.5; {profile}"),
        _timed(f"{figure} in the pairs' order", ours, in_order, 1.0, "what resolve promises, too"),
        _beside_eight_joins(quotas, pairs.slice(0, FEWER), rounds),
    ]


FEWER = 1_000_000
"""Pairs of the eight joins: of ten million they take minutes."""


def _beside_eight_joins(quotas: pa.Table, pairs: pa.Table, rounds: int) -> Row:
    polars = Polars(quotas, pairs)
    _same(polars.eight_joins(), resolve(quotas, pairs, shape="wide"))
    ours, eight = interleaved([lambda: resolve(quotas, pairs, shape="wide"), polars.eight_joins], rounds)
    figure = f"resolve, wide, {len(pairs):,} pairs, to Polars' eight left joins"
    return _timed(figure, ours, eight, 0.4, "in the pairs' order")


def _timed(figure: str, ours: list[float], reference: list[float], bound: float, note: str) -> Row:
    return row(figure, statistics.median(ours), statistics.median(reference), ratio(ours, reference), bound, note)


def _same(theirs: pl.DataFrame, ours: pa.Table) -> None:
    """Both must have found the same values, or the comparison is worth nothing."""
    for key in KEYS:
        found = pl.Series(ours[key].combine_chunks().field("value"))
        if not theirs[key].equals(found, check_names=False, null_equal=True):
            raise AssertionError(f"Polars and resolve differ in {key}")


def _profile(quotas: pa.Table, pairs: pa.Table) -> str:
    """Where the time goes, step by step."""
    index, columns = Index.of(quotas), [pairs["user"], pairs["client_id"]]
    with ThreadPoolExecutor(2) as pool:
        works = [
            lambda: Index.of(quotas),
            lambda: lookup.encode(pool.map, columns, pa.cpu_count()),
            lambda: index.resolve(pairs, shape="wide"),
        ]
        prepare, encode, both = (statistics.median(times) for times in interleaved(works, 3))
    rest = f"{encode:.2f} s hashing names, {both - encode:.2f} s looking up and writing"
    return f"{prepare:.2f} s reading the quotas, {rest}"


def _long_beside_wide(quotas: pa.Table, pairs: pa.Table, rounds: int) -> Row:
    works = [lambda: resolve(quotas, pairs), lambda: resolve(quotas, pairs, shape="wide")]
    long, wide = interleaved(works, rounds)
    return _timed("resolve, long form to wide, 10 million pairs", long, wide, 2.5, "")


def _growth(quotas: pa.Table, pairs: pa.Table, rounds: int) -> Row:
    """Seconds a million pairs, at 10 million and at 1 million."""
    few = pairs.slice(0, 1_000_000)
    works = [lambda: resolve(quotas, pairs, shape="wide"), lambda: resolve(quotas, few, shape="wide")]
    many, one = interleaved(works, rounds)
    return _timed(
        "resolve, time a pair at 10 million to 1 million",
        [t / 10 for t in many],
        one,
        1.25,
        "s a million pairs",
    )


def _memory(quotas: pa.Table, pairs: pa.Table) -> Row:
    """Bytes a pair beyond input and output, at the peak of a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        for name, table in (("quotas", quotas), ("pairs", pairs)):
            with pa.OSFile(f"{folder}/{name}", "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
                writer.write_table(table, max_chunksize=1 << 20)
        done = subprocess.run([sys.executable, "-c", _IN_A_FRESH_PROCESS, folder], capture_output=True, check=True)
    seen = json.loads(done.stdout)
    beyond = (seen["peak"] - seen["before"] - seen["input"] - seen["output"]) / pairs.num_rows
    note = "bytes a pair: peak {peak:.0f} beyond imports, input {input:.0f}, output {output:.0f}".format(
        **{k: (v - seen["before"] * (k == "peak")) / pairs.num_rows for k, v in seen.items()}
    )
    return row(
        "resolve, wide, peak memory beyond input and output (bytes a pair)",
        beyond,
        32,
        beyond / 32,
        1.0,
        note,
    )


_IN_A_FRESH_PROCESS = """
import json, re, sys
import pyarrow as pa
from kadmin_nb.resolution.kernel import resolve

def peak():  # not ru_maxrss, which a child inherits from its parent
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024

def read(name):
    with pa.OSFile(f"{sys.argv[1]}/{name}") as file:
        return pa.ipc.open_stream(file).read_all()

quotas = read("quotas")
resolve(quotas, pa.table({"user": ["a"], "client_id": ["b"]}), shape="wide")
before = peak() - quotas.get_total_buffer_size()
pairs = read("pairs")
found = resolve(quotas, pairs, shape="wide")
output = found.drop_columns(["user", "client_id"]).get_total_buffer_size()
given = pairs.get_total_buffer_size() + quotas.get_total_buffer_size()
print(json.dumps({"before": before, "peak": peak(), "input": given, "output": output}))
"""


if __name__ == "__main__":
    for line in run("--full" in sys.argv):
        print("{ok!s:5} {ratio:7} (at most {bound}) {figure}: {ours} to {reference}; {note}".format(**line))
