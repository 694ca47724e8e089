"""Files that we read: within bounds of bytes and time."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from pathlib import Path
from typing import BinaryIO

import pytest

import kadmin_nb as kn
from kadmin_nb import files


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(files, "PATIENCE", 0.3)
    return tmp_path / "pipe"


def plan_file(place: Path) -> bytes:
    return files.read(place, "a plan file", 100, pipe=True)


def filled(pipe: Path, content: bytes) -> threading.Thread:
    """A writer that opens the pipe, writes and goes."""
    writer = threading.Thread(target=lambda: pipe.write_bytes(content))
    writer.start()
    return writer


def test_a_file_of_a_size_that_fits(tmp_path):
    (tmp_path / "p").write_bytes(b"x" * 100)
    assert plan_file(tmp_path / "p") == b"x" * 100
    (tmp_path / "p").write_bytes(b"x" * 101)
    with pytest.raises(kn.UsageError, match="p is larger than 100 bytes, so it cannot be a plan file"):
        plan_file(tmp_path / "p")


def test_a_pipe_that_is_closed(pipe, monkeypatch):
    """`kadmin-nb plan -f <(…)` is how one gives the lines of another command."""
    monkeypatch.setattr(files, "PATIENCE", 60.0)
    for content in (b"", b"x" * 100):
        writer = filled(pipe, content)
        assert plan_file(pipe) == content
        writer.join()


def test_a_pipe_that_nobody_closes(pipe):
    """`plan show pipe` waited for ever."""
    began = time.monotonic()
    with pytest.raises(kn.errors.TimedOut, match=r"pipe did not end within 0\.3 s"):
        plan_file(pipe)
    writer = os.open(pipe, os.O_RDWR)
    os.write(writer, b"the beginning")
    with pytest.raises(kn.errors.TimedOut, match="did not end within"):
        plan_file(pipe)
    os.close(writer)
    assert time.monotonic() - began < 20


def test_a_pipe_in_a_folder_is_given_up_soon(pipe, monkeypatch):
    """`plan show pipe` took a minute to say that nobody writes; the pipe of a command keeps the minute."""
    monkeypatch.setattr(files, "PATIENCE", 60.0)
    assert files.PATIENCE_WITH_A_NAME == 10.0
    monkeypatch.setattr(files, "PATIENCE_WITH_A_NAME", 0.2)
    with pytest.raises(kn.errors.TimedOut, match=r"within 0\.2 s"):
        plan_file(pipe)
    ours, theirs = os.pipe()
    writer = threading.Timer(0.6, lambda: (os.write(theirs, b"late"), os.close(theirs)))
    writer.start()
    assert plan_file(Path(f"/dev/fd/{ours}")) == b"late"
    os.close(ours)


def test_a_pipe_where_a_file_is_read_twice(pipe):
    with pytest.raises(kn.UsageError, match="pipe is not a file, so it cannot be a policy"):
        files.read(pipe, "a policy", 100)


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/urandom", "/", "."])
def test_what_never_ends_is_refused(name):
    """`plan show /dev/zero` took 22 GB."""
    with pytest.raises(kn.UsageError, match="is not a file, so it cannot be a plan file"):
        plan_file(Path(name))


def test_nothing_at_all():
    assert plan_file(Path(os.devnull)) == b""


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(kn.NotFound, match="gone, a plan file, does not exist"):
        plan_file(tmp_path / "gone")
    with pytest.raises(kn.NotFound, match=r"^no such policy$"):
        files.read(tmp_path / "gone", "a policy", 100, missing="no such policy")
    with pytest.raises(kn.UsageError, match="cannot be read: not a path"):
        plan_file(tmp_path / "a\0b")


def of_a_pipe(content: bytes) -> BinaryIO:
    reader, writer = os.pipe()
    os.write(writer, content)
    os.close(writer)
    return os.fdopen(reader, "rb")


@pytest.mark.parametrize("source", [of_a_pipe, io.BytesIO], ids=["a pipe", "a text in its place"])
def test_standard_input(source, monkeypatch):
    """`yes | kadmin-nb plan -f -` took all memory."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(source(b"x" * 100)))
    assert files.read_stdin("lines", 100) == "x" * 100
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(source(b"x" * 101)))
    with pytest.raises(kn.UsageError, match="standard input is larger than 100 bytes"):
        files.read_stdin("lines", 100)


def test_standard_input_that_nobody_closes(pipe, monkeypatch):
    """A job without input waited until somebody ended it."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(os.fdopen(os.open(pipe, os.O_RDWR), "rb")))
    with pytest.raises(kn.errors.TimedOut, match="standard input did not end within"):
        files.read_stdin("lines", 100)
