"""Loading the extension."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("kafka", "confluent_kafka", "pyarrow", "pandas", "pyspark", "altair", "papermill", "click", "numpy")
LOADS = f"""
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before = set(sys.modules)
shell.run_line_magic("load_ext", "kadmin_nb")
print(*(name for name in {HEAVY!r} if name in set(sys.modules) - before))
print(*(name for name in set(sys.modules) - before if name.startswith("kadmin_nb.c")))
shell.run_cell("%kquota describe --key")
shell.Completer.complete("%kquota set pro")
print(*(name for name in {HEAVY!r} if name in set(sys.modules) - before and name != "click"))
"""


def test_loading_completing_and_wrong_words_load_nothing_heavy():
    """%load_ext took two seconds."""
    done = subprocess.run([sys.executable, "-c", LOADS], capture_output=True, text=True, check=True)
    first, second, *_, last = done.stdout.split("\n")[:-1]
    assert (first, second, last) == ("", "", "")


NAMES = {"kquota", "kconfig", "kplan", "kadmin"}


def magics(notebook):
    manager = notebook.shell.magics_manager
    return {name for kind in ("line", "cell") for name in manager.magics[kind] if name in NAMES}


def counts(notebook):
    shell = notebook.shell
    printers = [
        len(one.type_printers) + len(one.deferred_printers) for one in shell.display_formatter.formatters.values()
    ]
    ours = [one for one in shell.configurables if type(one).__name__ == "KAdmin"]
    return len(ours), len(shell.Completer.custom_matchers), sum(printers)


def test_reload_doubles_nothing(notebook):
    """Every %reload_ext doubled the completions."""
    assert magics(notebook) == NAMES
    before = counts(notebook)
    notebook("%reload_ext kadmin_nb")
    notebook("%load_ext kadmin_nb")
    assert counts(notebook) == before
    assert before[:2] == (1, 1)


@pytest.mark.broker
def test_reload_keeps_what_is_staged(live):
    """%reload_ext dropped the cluster and twenty staged changes without a word."""
    live("%kquota set producer_byte_rate=1MB/s user=alice --reason soon")
    live("%reload_ext kadmin_nb")
    assert len(live.shell.magics_manager.registry["KAdmin"].session.connected.stage) == 1
