"""Lines that a container runtime has cut, and whose parts follow each other in its file.

containerd and CRI-O write `TIME stdout P …` for a part and `TIME stdout F …` for the last one; Docker's json-file ends
only the last part with a line break; Fluent Bit and fluentd keep the letter in a field.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .log_files import LONGEST_LINE

_CRI_PART = r"^\S+ (?:stdout|stderr) P[: ]"
_TAGS = ("_p", "logtag")
_TAGGED = r'"(?:_p|logtag)"\s*:\s*"'
_DOCKER = r'^\{\s*"log"\s*:\s*"'
_DOCKER_WHOLE = r'\\n"\s*,\s*"stream"\s*:'
"""The end of a line that is not cut, as Docker writes it."""
_EDGE = 256
"""Bytes at the beginning and the end of an object that are searched, as the line between them is long."""

_CRI = re.compile(rb"(\S+ (stdout|stderr) )([PF])((?::\S*)? )", re.S)
_REQUEST = re.compile(rb'Completed request:\{\\*"')
_TEXTS = ("log", "message", "MESSAGE")


def is_part(lines: pa.Array) -> pa.Array:
    """Is it a part of a line, and not the last?"""
    head, tail = _edges(lines)
    is_docker = pc.and_not(pc.match_substring_regex(head, _DOCKER), _has_tag(head, tail))
    is_cut = pc.and_not(is_docker, pc.match_substring_regex(tail, _DOCKER_WHOLE))
    return pc.or_(pc.or_(pc.match_substring_regex(lines, _CRI_PART), _has_tag(head, tail, "P")), is_cut)


def _edges(lines: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Their beginnings and ends."""
    text = lines.cast(pa.binary())
    return pc.binary_slice(text, 0, _EDGE), pc.binary_slice(text, -_EDGE)


def _has_tag(head: pa.Array, tail: pa.Array, tag: str = "") -> pa.Array:
    """Has the object a field with this letter?"""
    either = pc.or_(pc.match_substring_regex(head, _TAGGED + tag), pc.match_substring_regex(tail, _TAGGED + tag))
    return pc.and_(pc.starts_with(head, "{"), either)


@dataclass
class CutLines:
    """Joins the parts of lines, which may lie in several batches; what has no end comes out as it was, by `rest`."""

    _open: dict[tuple[str, bytes], _Cut] = field(default_factory=dict)
    _ending: set[str] = field(default_factory=set)
    """The files of Docker's in which a line break ends a line; other collectors leave it out of all lines."""

    def joined(self, paths: pa.Array, lines: pa.Array) -> tuple[pa.Array, pa.Array]:
        """The lines of these files, whose parts stand where the last of them did."""
        if not self._has_parts(paths, lines) and not self._open:
            return paths, lines
        whole = [one for pair in zip(paths.to_pylist(), _bytes(lines), strict=True) for one in self._whole(*pair)]
        return _columns(whole)

    def rest(self) -> tuple[pa.Array, pa.Array]:
        """The parts whose last one never came."""
        held = [(path, line) for (path, _), cut in self._open.items() for line in cut.lines]
        self._open.clear()
        return _columns(held)

    def _has_parts(self, paths: pa.Array, lines: pa.Array) -> bool:
        if pc.any(pc.match_substring_regex(lines, _CRI_PART)).as_py():
            return True
        is_object = pc.starts_with(lines, "{")
        if not pc.any(is_object).as_py():
            return False
        head, tail = _edges(lines.filter(is_object))
        is_docker = pc.match_substring_regex(head, _DOCKER)
        has_end = pc.match_substring_regex(tail.filter(is_docker), _DOCKER_WHOLE)
        files = paths.filter(is_object).filter(is_docker)
        self._ending.update(files.filter(has_end).unique().to_pylist())
        untold = set(files.filter(pc.invert(has_end)).unique().to_pylist())
        return bool(untold & self._ending or pc.any(_has_tag(head, tail, "P")).as_py())

    def _whole(self, path: str, line: bytes) -> list[tuple[str, bytes]]:
        """The lines that this one ends; none if it is a part."""
        piece = _piece_of(line, path in self._ending)
        if piece is None:
            return [(path, line)]
        cut = self._open.pop((path, piece.stream), None)
        ended: list[bytes] = []
        if cut is not None and (_REQUEST.search(line) or cut.size > LONGEST_LINE):
            ended, cut = cut.lines, None
        if cut is None and piece.is_last:
            return [(path, one) for one in [*ended, line]]
        cut = _Cut(piece, [], 0) if cut is None else cut
        cut.add(line, piece)
        if not piece.is_last:
            self._open[path, piece.stream] = cut
            return [(path, one) for one in ended]
        return [(path, cut.whole())]


@dataclass(frozen=True)
class _Piece:
    """A line of a container's file: what it holds of Kafka's line, and all else."""

    stream: bytes
    text: bytes
    is_last: bool
    around: tuple[bytes, bytes] | dict[str, Any]

    def holding(self, text: bytes) -> bytes:
        """The line that would hold this text whole."""
        if isinstance(self.around, tuple):
            return b"F".join(self.around) + text
        name = _text_name(self.around)
        tags = {tag: "F" for tag in _TAGS if tag in self.around}
        return json.dumps({**self.around, **tags, name: text.decode(errors="replace")}).encode()


@dataclass
class _Cut:
    """The parts of a line so far."""

    first: _Piece
    lines: list[bytes]
    size: int
    texts: list[bytes] = field(default_factory=list)

    def add(self, line: bytes, piece: _Piece) -> None:
        self.lines.append(line)
        self.texts.append(piece.text)
        self.size += len(line)

    def whole(self) -> bytes:
        """The line, as the runtime would have written it in one."""
        return self.first.holding(b"".join(self.texts))


def _piece_of(line: bytes, has_ends: bool) -> _Piece | None:
    """What a line of a container's file holds; None for others. `has_ends`: a line break ends whole lines there."""
    if found := _CRI.match(line):
        return _Piece(found[2], line[found.end() :], found[3] == b"F", (found[1], found[4]))
    try:
        document = json.loads(line) if line.lstrip().startswith(b"{") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not (name := _text_name(document)):
        return None
    tag = next((document[tag] for tag in _TAGS if tag in document), None)
    is_last = not has_ends or document[name].endswith("\n") if tag is None else tag != "P"
    return _Piece(str(document.get("stream")).encode(), document[name].encode(errors="replace"), is_last, document)


def _text_name(document: dict[str, Any]) -> str | None:
    return next((name for name in _TEXTS if isinstance(document.get(name), str)), None)


def _bytes(lines: pa.Array) -> list[bytes]:
    return [line or b"" for line in lines.cast(pa.binary()).to_pylist()]


def _columns(rows: list[tuple[str, bytes]]) -> tuple[pa.Array, pa.Array]:
    return pa.array([path for path, _ in rows], pa.string()), pa.array([line for _, line in rows], pa.binary())
