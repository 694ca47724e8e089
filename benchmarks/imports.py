"""What `import kadmin_nb` and `%load_ext kadmin_nb` cost beside `import pyarrow`, each in fresh processes."""

from __future__ import annotations

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
    return [
        row("import kadmin_nb / import pyarrow", min(ours), min(pyarrow), ratio(ours, pyarrow), 0.5),
        row("%load_ext kadmin_nb / import pyarrow", min(extension), min(pyarrow), ratio(extension, pyarrow), 1.0),
    ]


def _seconds(program: str) -> float:
    return float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
