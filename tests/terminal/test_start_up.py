"""A single question from a shell: most of its time is what it loads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from kadmin_nb.local import LocalKafka

HEAVY = ("pandas", "pyspark", "altair", "ipywidgets", "IPython", "confluent_kafka", "tornado", "asyncio", "tenacity",
         "http.client")  # fmt: skip
DESCRIBE = f"""
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
    done = subprocess.run([sys.executable, "-c", DESCRIBE, *words], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "loaded:\n")
