"""The storage of a journal's lines: one file that grows, or a folder of small files on a Databricks volume.

A volume takes a whole new file and refuses to append to one. A line is kept with its line end; the last one lacks it
when its writer died.

A lock keeps other processes out. Where there are no locks, a process removes only what it made, and writes only while
the lines are those that it has read and written itself.
"""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

from ... import files, paths
from ...errors import Locked, PlanRefused

END = "\n"
TORN_END = "#\n"
"""The end of a torn line, when the next one is written: no whole line ends so."""

FOLDER = ".d"
"""The suffix of a folder of records, after the name of the file that it replaces."""

MAX_JOURNAL_BYTES = 1 << 30
"""Bytes of a journal that are read; 100,000 changes have some 40 MB."""


def opened(place: Path) -> AppendedFile | FolderOfRecords:
    """The lines at `place`, to be written by this process alone.

    Raises
    ------
    Locked, PlanRefused
        Another process has them open; nothing can be written there (`JOURNAL`).
    """
    try:
        files.make_folders(place.parent, mode=0o700)
        in_folder = folder_of(place).is_dir() or (place.is_relative_to(paths.VOLUMES) and not place.exists())
        return FolderOfRecords(place) if in_folder else AppendedFile(place)
    except OSError as exc:
        has_records = os.path.isdir(folder_of(place)) or (os.path.isfile(place) and os.path.getsize(place) > 0)
        raise unwritable(place, exc, is_begun=has_records) from None


def unwritable(place: Path, exc: OSError, *, is_begun: bool) -> PlanRefused:
    """The error of a journal that takes no record; one that was begun is carried on only in its folder."""
    elsewhere = "KADMIN_STATE names another folder."
    here = "Free space there, or allow us to write, and try again: the plan was started with this journal."
    return PlanRefused(
        f"the journal {place} cannot be written: {exc.strerror}",
        code="JOURNAL",
        hint=f"Nothing was sent. {here if is_begun else elsewhere}",
    )


def stored_at(place: Path) -> list[str] | None:
    """The lines at `place`, read only; None without a journal.

    Raises
    ------
    UsageError
        They cannot be read.
    """
    if folder_of(place).is_dir():
        return _of_folder(folder_of(place))
    return _of_file(place) if os.path.lexists(place) else None


def folder_of(place: Path) -> Path:
    """The folder that replaces the file `place` where nothing can be appended."""
    return place.with_name(place.name + FOLDER)


class AppendedFile:
    """One file; every line is appended and synced. `is_locked` is False without locks, so that others can open it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._file, self._is_made, self.is_locked = _opened(place)
        try:
            self._size = os.fstat(self._file).st_size
            files.sync_folder(place.parent)
        except BaseException:  # Ctrl-C too: a file left open keeps this process from the plan
            os.close(self._file)
            raise

    def texts(self) -> list[str]:
        """The lines, with their ends."""
        return _of_file(self.place)

    def append(self, text: str, *, after_torn: bool = False) -> None:
        """Add a line, with the missing end of the line before; it is on the disk when this returns.

        Raises
        ------
        OSError, Locked
            It cannot be written; another process, which no lock keeps out, has written.
        """
        self._refuse_others()
        size = os.fstat(self._file).st_size
        lacks_end = size > 0 and os.pread(self._file, 1, size - 1) != END.encode()
        end = (TORN_END if after_torn else END) if lacks_end else ""
        self._size += _write(self._file, f"{end}{text}{END}")
        self._refuse_others()

    def _refuse_others(self) -> None:
        """Refuse to go on where no lock keeps others out, and the file was removed, cut or written to."""
        is_whole = _is_at(self.place, self._file) and os.fstat(self._file).st_size == self._size
        if not self.is_locked and not is_whole:
            raise _in_use(f"has written to {self.place}, or removed it")

    def close(self) -> None:
        """A file in which nothing was written is taken away again, unless it may be another's."""
        with contextlib.suppress(OSError):  # all that counts was synced
            try:
                is_ours = (self._is_made or self.is_locked) and _is_at(self.place, self._file)
                if is_ours and not os.fstat(self._file).st_size:
                    self.place.unlink(missing_ok=True)
            finally:
                os.close(self._file)


class FolderOfRecords:
    """A folder with one numbered file per line; its methods are as in `AppendedFile`."""

    def __init__(self, place: Path) -> None:
        self.place = folder_of(place)
        self.place.mkdir(mode=0o700, exist_ok=True)
        self._lock = os.open(self.place / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self.is_locked = _lock(self._lock, place)
            self._count = len(_files(self.place))
        except BaseException:
            os.close(self._lock)
            raise

    def texts(self) -> list[str]:
        return _of_folder(self.place)

    def append(self, text: str, *, after_torn: bool = False) -> None:
        self._count += 1
        try:
            file = os.open(self.place / f"{self._count:06}.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise _in_use(f"has written to {self.place}") from None
        try:
            _write(file, text + END)
        finally:
            os.close(file)

    def close(self) -> None:
        os.close(self._lock)


def _of_file(place: Path) -> list[str]:
    content = files.read(place, "a journal", MAX_JOURNAL_BYTES)
    return [_text(line) for line in io.BytesIO(files.without_mark(content))]


def _of_folder(folder: Path) -> list[str]:
    contents = (files.read(file, "a record of a journal", MAX_JOURNAL_BYTES) for file in _files(folder))
    return [_text(files.without_mark(content)) for content in contents]


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9]*.json"))


def _write(file: int, text: str) -> int:
    """Write all of it, to the disk; the number of bytes."""
    raw = memoryview(text.encode("utf-8", "surrogateescape"))
    size = len(raw)
    while raw:
        raw = raw[os.write(file, raw) :]
    os.fsync(file)
    return size


def _opened(place: Path) -> tuple[int, bool, bool]:
    """The file at `place`: its handle, True if it was made here, True if it is locked.

    One that its last writer took away meanwhile is opened anew.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    while True:
        try:
            file, is_made = os.open(place, flags | os.O_EXCL, 0o600), True
        except FileExistsError:
            file, is_made = os.open(place, flags, 0o600), False
        try:
            is_locked = _lock(file, place)
            if _is_at(place, file):
                return file, is_made, is_locked
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _is_at(place: Path, file: int) -> bool:
    try:
        return os.path.samestat(os.stat(place), os.fstat(file))
    except FileNotFoundError:
        return False


def _lock(file: int, place: Path) -> bool:
    """Keep other writers out for as long as the file is open; False without locks."""
    is_locked = files.lock_open_file(file)
    if is_locked is False:
        raise _in_use(f"has {place} open")
    return is_locked is True


def _in_use(how: str) -> Locked:
    return Locked(
        f"another process is applying this plan: it {how}",
        code="IN_USE",
        hint="Nothing was sent. Wait for it, or end it.",
    )
