"""Disks without room, and processes that are killed while they write."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType


@contextmanager
def no_more_than(size: int) -> Iterator[None]:
    """No file of this process grows beyond `size` bytes: EFBIG, as ENOSPC on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def small_disk(place: Path, kilobytes: int = 64) -> Iterator[bool]:
    """A disk of that size mounted at `place`; False where we have no right to mount one."""
    place.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(place)]
    is_mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(place)], check=True)


def killed_before_call(number: int, write: Callable[[], object], module: str) -> bool:
    """Whether a process that writes was killed right before the call of that number into the system, by `module`."""
    child = os.fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    calls = iter(range(1, number + 1))

    def count(frame: FrameType, event: str, function: object) -> None:
        if event == "c_call" and frame.f_code.co_filename == module and next(calls, number) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        sys.setprofile(count)
        write()
    finally:
        os._exit(0)
