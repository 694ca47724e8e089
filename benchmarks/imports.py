"""The cost of `import kadmin_nb` and `%load_ext kadmin_nb` beside `import pyarrow`, each in fresh processes.

Also the processor time of `kadmin-nb --help`, and the size of a long answer in a notebook.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys

from benchmarks.timing import Row, ratio, row

_LOAD_EXT = (
    "from IPython.core.interactiveshell import InteractiveShell as S; shell = S.instance(); import time; "
    "t = time.perf_counter(); shell.run_line_magic('load_ext', 'kadmin_nb'); print(time.perf_counter() - t)"
)
_PYARROW = "import time; t = time.perf_counter(); import pyarrow; print(time.perf_counter() - t)"
_OURS = "import time; t = time.perf_counter(); import kadmin_nb; print(time.perf_counter() - t)"


def run(full: bool = False) -> list[Row]:
    """Both figures; an import is timed inside its process, so that Python's own start does not count."""
    programs, times = (_OURS, _LOAD_EXT, _PYARROW), ([], [], [])
    for program in programs:
        _seconds(program)
    for _ in range(15 if full else 9):
        for program, spent in zip(programs, times, strict=True):
            spent.append(_seconds(program))
    ours, extension, pyarrow = times
    helps, size = [_help_seconds() for _ in range(9)], _html_bytes()
    return [
        row("kadmin-nb --help, CPU / 0.15 s", min(helps), HELP, min(helps) / HELP, 1.0),
        row("HTML of 100,000 rows, MB / 0.2 MB", size / 1e6, 0.2, size / 200_000, 1.0),
        row("import kadmin_nb / import pyarrow", min(ours), min(pyarrow), ratio(ours, pyarrow), 0.5),
        row("%load_ext kadmin_nb / import pyarrow", min(extension), min(pyarrow), ratio(extension, pyarrow), 1.0),
    ]


HELP = 0.15
"""Seconds of processor time that help may take."""


def _help_seconds() -> float:
    """User and system time, so that a busy machine counts less; compiled once, as an installed package is."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", "from kadmin_nb.commands import main; main()", "--help"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _html_bytes() -> int:
    """An answer of as many quotas, as a cell shows it."""
    import pyarrow as pa

    from kadmin_nb.frames import schemas
    from kadmin_nb.frames.answer import Answer

    quota = {"entity": "user=alice", "level": "USER", "user": "alice", "key": "producer_byte_rate", "value": 1e6}
    table = schemas.table(schemas.QUOTAS, [quota] * 1000)
    return len(Answer(pa.concat_tables([table] * 100)).as_html().encode())


def _seconds(program: str) -> float:
    return float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
