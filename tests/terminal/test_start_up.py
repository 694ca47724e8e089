"""A single question from a shell: most of its time is what it loads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kadmin_nb.local import LocalKafka

RECORDED = Path(__file__).parents[1] / "analytics" / "recorded"
BROKER = ("--broker", r"broker-(\d+)/", "--tz", "UTC")

HEAVY = ("pandas", "pyspark", "altair", "ipywidgets", "IPython", "confluent_kafka", "tornado", "asyncio", "tenacity",
         "http.client", "kadmin_nb.client_configs.topic")  # fmt: skip
TERMINAL = f"""
import atexit, sys
sys.argv[0] = "kadmin-nb"
atexit.register(lambda: print("loaded:", *(name for name in {HEAVY} if name in sys.modules), file=sys.stderr))
from kadmin_nb.commands import main
main()
"""


@pytest.mark.broker
def test_a_describe_loads_only_what_it_shows(kafka: LocalKafka, unique: Callable[[str], str]) -> None:
    """`kadmin-nb quota describe user=alice` took longer than kafka-configs.sh: it had loaded pandas, twice over."""
    words = ["quota", "describe", f"user={unique('a-name-like-no-other')}", "--cluster", kafka.bootstrap]
    assert loaded_by(words) == set()


@pytest.mark.broker
def test_many_changes_in_one_call_load_no_pandas(
    kafka: LocalKafka, unique: Callable[[str], str], tmp_path: Path
) -> None:
    """Of the second that 500 changes took, pandas took a third: a sum of rows and an array of names had loaded it."""
    changes = tmp_path / "changes.txt"
    changes.write_text("".join(f"set producer_byte_rate=1048576 user={unique('writer')}\n" for _ in range(20)))
    assert "pandas" not in loaded_by(["plan", "-f", str(changes), "--apply", "--cluster", kafka.bootstrap])


LINES = {
    "a plan shown": "quota set producer_byte_rate=5MB/s user=USER",
    "a change made": "quota set producer_byte_rate=5MB/s user=USER --apply",
    "configs of a broker": "config describe broker=1",
    "all of a user": "config describe user=USER",
    "a config planned": "config set flush.ms=5000 topic=TOPIC",
    "rights": "may-i",
    "plans of the past": "plan log",
}
DAILY = ("a change made", "configs of a broker")


@pytest.mark.broker
@pytest.mark.parametrize(
    "line",
    [pytest.param(line, id=name, marks=() if name in DAILY else pytest.mark.long) for name, line in LINES.items()],
)
def test_a_line_in_a_shell_loads_no_pandas(
    line: str, kafka: LocalKafka, topic: str, unique: Callable[[str], str]
) -> None:
    """A plan of one change took a second, and loading pandas, which showed nothing of it, was more than half of it."""
    words = line.replace("USER", unique("writer")).replace("TOPIC", topic).split()
    cluster = [] if words[0] == "plan" else ["--cluster", kafka.bootstrap]
    assert "pandas" not in loaded_by([*words, *cluster])


OTHERS_PANDAS = {
    "a log added up by Spark": ("quota", "usage", str(RECORDED), *BROKER, "--engine", "spark", "--json"),
    "a log as a spreadsheet's file": ("quota", "usage", str(RECORDED), *BROKER, "--out", "used.csv"),
    "a chart in a file": ("quota", "chart", "hierarchy", "--out", "quotas.svg"),
    "a history as a Delta table": ("history", "record", "lake"),
}


@pytest.mark.broker
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(words, id=name, marks=[pytest.mark.spark, pytest.mark.long] if "spark" in words else ())
        for name, words in OTHERS_PANDAS.items()
    ],
)
def test_who_uses_pandas_has_it(words: Sequence[str], kafka: LocalKafka, in_folder: Path) -> None:
    """pyarrow is told that there is no pandas; Spark, Altair and Delta in the same process had none either."""
    at_cluster = () if "usage" in words else ("--cluster", kafka.bootstrap)
    loaded_by([*words, *at_cluster])


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def loaded_by(words: Sequence[str]) -> set[str]:
    """The heavy modules that a successful command loads."""
    done = subprocess.run([sys.executable, "-c", TERMINAL, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {*done.stderr.splitlines()[-1].split()[1:]}
