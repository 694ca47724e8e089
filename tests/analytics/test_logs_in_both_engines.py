"""The same logs on Spark and in this process: the same requests, counts and USAGE, whatever is wrong with the lines."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

import kadmin_nb as kn
from tests.analytics.test_log_lines import LINES, PLACES

RECORDED = Path(__file__).parent / "recorded"
SHARED_TOO = [*LINES, *Path(__file__).with_name("share_fetches.log").read_text().splitlines()]


def damaged_line(chance: random.Random) -> str:
    """A recorded line, at another second; every fifth is cut short, or has a piece put in or taken out."""
    line = chance.choice(SHARED_TOO).replace("[2026-11-21 11:59:5", f"[2026-11-21 11:{chance.randrange(10, 60)}:5", 1)
    if chance.random() < 0.8:
        return line
    at, piece = chance.randrange(len(line)), chance.choice(PLACES)
    return chance.choice([line[:at], line[:at] + piece + line[at:], line.replace(piece, "", 1), "", "\tat java.lang"])


def write_logs(folder: Path, seed: int) -> None:
    """Two brokers' logs, rolled and compressed, with lines that are there twice, within a file and across files."""
    chance = random.Random(seed)
    lines = [damaged_line(chance) for _ in range(400)]
    for broker in (1, 2):
        place = folder / f"broker-{broker}" / "a b=c"
        place.mkdir(parents=True)
        rolled, packed = (chance.choices(lines, k=300) for _ in range(2))
        (place / "request.log").write_text("\n".join(lines) + "\r\n" * broker)
        (place / "request.log.1").write_text("".join(f"{line}\n" for line in rolled))
        (place / "request.log.2.gz").write_bytes(gzip.compress("".join(f"{line}\n" for line in packed).encode()))
        (place / "_hidden").write_text("not read\n")


def rows(table) -> list[str]:
    """The rows, without the order; Spark writes a file's path as an address."""
    return sorted(unquote(str(row)).replace("file:/", "/") for row in table.to_pylist())


FURTHER = [pytest.param(seed, dedupe, marks=pytest.mark.long) for seed in range(2, 5) for dedupe in (True, False)]


@pytest.mark.spark
@pytest.mark.parametrize(("seed", "dedupe"), [(0, True), (1, False), *FURTHER])
def test_any_log_is_read_the_same_way(spark, tmp_path, seed, dedupe):
    """On my laptop 3 requests more were counted than on the cluster. The daily run has one log of each way."""
    write_logs(tmp_path, seed)
    how = {"broker": r"/broker-(\d+)/", "tz": "Europe/Berlin", "dedupe": dedupe, "cluster_id": "c" if seed else None}
    there, here = kn.usage.requests(str(tmp_path), spark=spark, **how), kn.usage.requests(tmp_path, **how)
    assert here.counts == there.counts
    for name in ("frame", "quarantine"):
        ours = getattr(here, name)
        assert rows(ours) == rows(getattr(there, name).toArrow().cast(ours.schema)), name
    ours = kn.usage.usage(here, "5 seconds")
    theirs = kn.usage.usage(there, "5 seconds").toArrow()
    assert rounded(ours) == rounded(theirs.cast(ours.schema))


def rounded(usage) -> list[tuple[object, ...]]:
    """Sums of the same numbers in another order differ in their last digit."""
    return sorted(
        (tuple(f"{value:.9g}" if isinstance(value, float) else value for value in row.values()))
        for row in usage.to_pylist()
    )


@pytest.mark.slow
def test_this_process_needs_no_spark():
    """A log of 2 MB waited twenty seconds for Java."""
    program = (
        "import sys, kadmin_nb as kn;"
        f"read = kn.usage.requests({str(RECORDED)!r}, broker=r'broker-(\\d+)/', tz='UTC');"
        "usage = kn.usage.usage(read); kn.usage.known_clients(usage);"
        "kn.usage.utilisation(usage, kn.Answer(__import__('pyarrow').table("
        "{'level': ['USER'], 'user': ['alice'], 'client_id': [None], 'key': ['producer_byte_rate'], 'value': [1.0]})));"
        "print(len(usage), [name for name in sys.modules if name.split('.')[0] in ('pyspark', 'py4j')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["20", "[]"]
