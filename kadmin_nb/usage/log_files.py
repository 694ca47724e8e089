"""The files of a request log in this process, and their lines, a batch at a time."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..errors import Invalid, NotFound, UsageError

LONGEST_LINE = 1 << 26
"""Bytes of a line that is read. A gzip of a megabyte may hold one line of a gigabyte, for which no worker has room."""

PACKED = 10
"""Bytes of a request log in one byte of its gzip, about."""

TORN = "Name the other files to leave it out, or give what can be unpacked: gzip -dc FILE > TEXT."
COMPRESSED = (".gz", ".bz2", ".lz4", ".zst")
"""The ends of names of files that are unpacked."""
_CHUNK = 1 << 23


def local_files(paths: Iterable[str]) -> list[Path]:
    """The files that are meant by these paths and patterns, and those below folders.

    Hidden ones and those whose names begin with `_` are passed over, as Spark does.

    Raises
    ------
    NotFound
        There is no such path, or no file below it.
    UsageError
        One is not a regular file, such as a pipe.
    """
    places = [place for path in dict.fromkeys(paths) for place in _places(path)]
    files = [file for place in places for file in _below(place)]
    if not files:
        raise NotFound(f"no file below {', '.join(paths)}")
    for file in files:
        if not stat.S_ISREG(file.stat().st_mode):
            raise UsageError(f"{file} is not a file", hint="A pipe or a device may never end.")
    return files


def size_of(files: Iterable[Path]) -> int:
    """Bytes of text in these files, about: what a compressed one holds is a guess."""
    return sum(file.stat().st_size * (PACKED if file.suffix in COMPRESSED else 1) for file in files)


def _places(path: str) -> Sequence[Path]:
    if Path(path).exists():
        return [Path(path)]
    places = [Path(place) for place in sorted(glob(path))] if has_magic(path) else []
    if not places:
        raise NotFound(f"no such path: {path}")
    return places


def _below(place: Path) -> list[Path]:
    """The file, or those below the folder."""
    if not place.is_dir():
        return [place]
    below = (file for file in sorted(place.rglob("*")) if not file.is_dir())
    return [file for file in below if not any(part.startswith((".", "_")) for part in file.relative_to(place).parts)]


def line_batches(files: Sequence[Path]) -> Iterator[tuple[pa.Array, pa.Array]]:
    """The path of a file and some of its lines, as bytes."""
    for file in files:
        try:
            with pa.input_stream(str(file)) as stream:  # which unpacks by the name's end
                yield from ((pa.repeat(str(file.absolute()), len(lines)), lines) for lines in _in_lines(stream))
        except (OSError, pa.ArrowInvalid) as error:
            hint = TORN if file.suffix in COMPRESSED else None
            raise Invalid(f"{file} cannot be read to its end: {error}", hint=hint) from None


def _in_lines(stream: Any) -> Iterator[pa.Array]:
    """The lines of a stream. Those that are too long to be Kafka's are passed over."""
    rest = b""
    while chunk := stream.read(_CHUNK):
        text = rest + chunk
        end = text.rfind(b"\n") + 1
        if end:
            yield _short_ones(text[:end])
        rest = text[end : end + LONGEST_LINE + 1]  # of a line that is too long a part that is too long too
    if rest:
        yield _short_ones(rest)


def _short_ones(text: bytes) -> pa.Array:
    return pa.array([line for line in text.splitlines() if len(line) <= LONGEST_LINE], pa.binary())
