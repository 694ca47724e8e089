"""What never ends, swells or is nested without end, in place of every file that we read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import kadmin_nb as kn
from kadmin_nb import state
from kadmin_nb.frames import frame_files as frames
from kadmin_nb.plans.journal import read_records
from kadmin_nb.policy import rules_of
from kadmin_nb.profiles import targets
from kadmin_nb.runbooks import catalogue


def profiles(place: Path) -> object:
    os.environ["KADMIN_CONFIG"] = str(place)
    return targets.load_profiles()


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a plan": ("p.json", kn.Plan.load),
    "lines": ("changes.txt", lambda place: said("plan", "-f", str(place), "--cluster", "localhost:1")),
    "a declared file, YAML": ("c.yaml", state.load),
    "a declared file, JSON": ("c.json", state.load),
    "profiles": ("kadmin-nb.toml", profiles),
    "a policy": ("policies.py", rules_of),
    "a properties file": ("c.properties", lambda place: kn.connect(str(place))),
    "pairs, Parquet": ("pairs.parquet", frames.read_table),
    "pairs, CSV": ("pairs.csv", frames.read_table),
    "a notebook": ("n.ipynb", catalogue.Runbook.read),
    "a journal": ("j.jsonl", read_records),
    "a PEM file": ("ca.pem", lambda place: kn.connect("localhost:1", properties=trusting(place))),
    "a secret": ("secret", lambda place: kn.connect("localhost:1", properties=signing_in(place))),
}


def said(*words: str) -> object:
    """What the terminal raises."""
    from kadmin_nb.commands import run
    from kadmin_nb.commands.session import Session

    return run(list(words), Session())


def trusting(place: Path) -> dict[str, str]:
    return {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": str(place)}


def signing_in(place: Path) -> dict[str, str]:
    return {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": f"file:{place}"}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KADMIN_CONFIG", os.devnull)


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_without_end(name, tmp_path):
    """`plan show pipe` waited for ever."""
    file, read = READERS[name]
    os.mkfifo(tmp_path / file)
    with pytest.raises(kn.UsageError, match="is not a file"):
        read(tmp_path / file)


@pytest.mark.parametrize("name", READERS)
def test_a_device_without_end(name, tmp_path):
    """`plan show /dev/zero` took 22 GB."""
    file, read = READERS[name]
    (tmp_path / file).symlink_to("/dev/zero")
    with pytest.raises(kn.UsageError, match="is not a file, so it cannot be "):
        read(tmp_path / file)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_file_without_end(name, tmp_path):
    """A dump of a disk, named by a slip, filled the memory."""
    file, read = READERS[name]
    with (tmp_path / file).open("wb") as content:
        content.truncate(1 << 40)  # a hole
    with pytest.raises(kn.UsageError, match=r"is larger than [\d,]+ bytes, so it cannot be "):
        read(tmp_path / file)


DEEP: dict[str, str] = {
    "a plan": "[" * 200_000,
    "a declared file, YAML": "[" * 200_000,
    "a declared file, JSON": '{"a":' * 200_000,
    "profiles": "a = " + "[" * 200_000,
    "a policy": "a = " + "[" * 200_000,
    "a notebook": '{"cells":' + "[" * 200_000,
}


@pytest.mark.parametrize("name", DEEP)
def test_brackets_without_end(name, tmp_path):
    """200,000 brackets were a stack of 3,000 lines."""
    file, read = READERS[name]
    (tmp_path / file).write_text(DEEP[name])
    with pytest.raises(kn.KadminError):
        read(tmp_path / file)


@pytest.mark.parametrize(
    ("name", "text"), [("profiles", "a = "), ("a policy", "a = "), ("a plan", ""), ("a notebook", '{"cells": ')]
)
def test_digits_without_end(name, text, tmp_path):
    """An integer of 6,000 digits was a stack of twenty lines."""
    file, read = READERS[name]
    (tmp_path / file).write_text(text + "9" * 6_000)
    with pytest.raises(kn.KadminError) as raised:
        read(tmp_path / file)
    assert len(str(raised.value)) < 500


def test_a_parameters_cell_without_end(tmp_path):
    for cell in ("x: int = " + "-" * 100_000 + "1", "x: int = " + "9" * 6_000):
        document = {"cells": [{"cell_type": "code", "source": [cell], "metadata": {"tags": ["parameters"]}}]}
        (tmp_path / "n.ipynb").write_text(json.dumps(document))
        with pytest.raises(kn.Invalid, match="is not Python"):
            catalogue.Runbook.read(tmp_path / "n.ipynb")


def test_a_few_bytes_that_stand_for_a_billion(tmp_path, monkeypatch):
    """A Parquet file of 10 kB was a table of 80 GB."""
    monkeypatch.setattr(frames, "MOST_CELLS", 999)
    parquet.write_table(pa.table({"user": pa.nulls(500), "client_id": pa.nulls(500)}), tmp_path / "pairs.parquet")
    with pytest.raises(kn.Invalid, match="it has 1,000 values, more than 999"):
        frames.read_table(tmp_path / "pairs.parquet")


@pytest.mark.slow
def test_a_value_without_end_is_not_repeated(tmp_path):
    """10,000 digits as a value were repeated whole in the error."""
    value = f"-{'1' * 10_000}"
    with pytest.raises(kn.Invalid, match=r"cannot be -1{99}… \(10,00\d characters\)") as raised:
        said("quota", "set", f"producer_byte_rate={value}", "user=alice", "--cluster", "localhost:1")
    assert len(str(raised.value)) < 1_000
