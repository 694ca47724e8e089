"""Files that we read: within bounds of bytes."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import BinaryIO

import pytest

import kadmin_nb as kn
from kadmin_nb import files


def plan_file(place: Path) -> bytes:
    return files.read(place, "a plan file", 100)


def test_a_file_of_a_size_that_fits(tmp_path):
    (tmp_path / "p").write_bytes(b"x" * 100)
    assert plan_file(tmp_path / "p") == b"x" * 100
    (tmp_path / "p").write_bytes(b"x" * 101)
    with pytest.raises(kn.UsageError, match="p is larger than 100 bytes, so it cannot be a plan file"):
        plan_file(tmp_path / "p")


def test_a_pipe_is_no_file(tmp_path):
    """`plan show pipe` waited for ever."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(kn.UsageError, match="pipe is not a file, so it cannot be a plan file"):
        plan_file(tmp_path / "pipe")


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/urandom", "/", "."])
def test_what_never_ends_is_refused(name):
    """`plan show /dev/zero` took 22 GB."""
    with pytest.raises(kn.UsageError, match="is not a file, so it cannot be a plan file"):
        plan_file(Path(name))


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
