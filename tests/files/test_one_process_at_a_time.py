"""A lock file belongs to one process, and to nobody once that is gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kadmin_nb import files
from kadmin_nb.errors import KadminError

HOLDER = """
import sys
from pathlib import Path
from kadmin_nb import files

with files.locking(Path(sys.argv[1])) as is_ours:
    print(is_ours, flush=True)
    sys.stdin.read()
"""


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    """The first download was killed, and every later one waited for it."""
    place = tmp_path / "one.lock"
    command = [sys.executable, "-c", HOLDER, str(place)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        with files.locking(place) as is_ours:
            assert not is_ours
        holder.kill()
        with files.locking(place, seconds=-1) as is_ours:
            assert is_ours


def test_what_stands_in_a_lock_file_stays(tmp_path: Path) -> None:
    """The lock emptied the file that it was put on."""
    place = tmp_path / "one.lock"
    place.write_text("until noon")
    with files.locking(place) as is_ours:
        assert is_ours
    assert place.read_text() == "until noon"


def test_a_lock_that_cannot_be_made_is_an_error_of_ours(tmp_path: Path) -> None:
    """NotADirectoryError, in twenty lines of a library."""
    (tmp_path / "file").write_text("")
    with pytest.raises(KadminError, match="cannot be written"), files.locking(tmp_path / "file" / "one.lock"):
        pass
