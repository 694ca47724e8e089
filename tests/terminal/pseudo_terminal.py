"""A command line in a terminal of some columns: a pseudo-terminal, as a person's window is one."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence

STATUS = re.compile(r"\r\x1b\[K([^\r]*(?=\r\x1b\[K))?")
"""What a slow machine shows meanwhile, and its end."""
MONOCHROME = {"NO_COLOR": "1"}
MAIN = "from kadmin_nb.commands import main; main()"


def in_terminal(
    columns: int, words: Sequence[str], pager: str = "cat", colours: Mapping[str, str] = MONOCHROME
) -> tuple[int, list[str]]:
    """The exit code of `kadmin-nb WORDS`, and the lines that it writes, with their colours if `colours` allow some."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    line, env = (
        [sys.executable, "-c", MAIN, *words],
        {**os.environ, "PAGER": pager, "TERM": "xterm", "NO_COLOR": "", **colours},
    )
    with subprocess.Popen(line, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        said = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    return process.returncode, STATUS.sub("", said.decode()).splitlines()


def _read(terminal: int) -> bytes:
    """What the terminal was sent; nothing when its last writer is gone, which Linux calls an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
