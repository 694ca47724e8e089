"""Files: written whole or not at all, and read within bounds; one reader of text."""

from __future__ import annotations

import codecs
import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .errors import Invalid, KadminError, NotFound, UsageError

_AS_BYTES: int = getattr(os, "O_BINARY", 0)
_WITHOUT_WAITING: int = _AS_BYTES | getattr(os, "O_NONBLOCK", 0)
"""How files are opened: Windows would translate line ends, and knows nothing of not waiting."""


def write(place: Path, content: str | bytes, *, mode: int = 0o666) -> None:
    """Make `content`, text as UTF-8, the content of the file `place`, as `writing` does."""
    with writing(place, mode=mode) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def writing(place: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file to write to; when the block ends well, all of it is at `place` and on the disk.

    When the block raises, the disk is full, or the process is killed, `place` is as it was before; where the disk fails
    as the folder is synced, the new file is there, and may be gone after a crash. A file that was
    there keeps its mode, and a symbolic link stays a link.

    Parameters
    ----------
    mode
        The permissions of a new file, within the umask.

    Raises
    ------
    NotFound
        The folder does not exist.
    Invalid
        The file cannot be written, in the system's words; `code` is its name of the error, such as `ENOSPC`.
    """
    if os.path.abspath(place).startswith(("/proc/", "/dev/fd/", "/dev/std")):
        raise Invalid(f"{place} cannot be written: it is an open file")  # behind it may be one that is appended to
    try:
        with _replacement(Path(os.path.realpath(place)), mode) as file:
            yield file
    except OSError as error:
        raise not_written(place, error) from None


def not_written(place: Path, error: OSError) -> KadminError:
    """The error of a file that cannot be written."""
    kind = NotFound if error.errno in (errno.ENOENT, errno.ENOTDIR) else Invalid
    reason = error.strerror or str(error)
    return kind(f"{place} cannot be written: {reason}", code=errno.errorcode.get(error.errno or 0))


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk, where the file system knows how and we may open the folder.

    Raises
    ------
    OSError
        The disk failed, so the names may be gone after a crash.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


_NO_FOLDER_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF, errno.EACCES, errno.EPERM}
"""The system's words for a place where folders are not synced, as a mounted object store, or not by us."""


def is_of_others(status: os.stat_result) -> bool:
    """True if a file belongs to another user, who is not root; False on Windows, which has no numbers of users."""
    return hasattr(os, "geteuid") and status.st_uid not in (os.geteuid(), 0)


def make_folder(place: Path, *, mode: int = 0o777) -> Path:
    """The folder `place`, made as `make_folders` does.

    Raises
    ------
    NotFound, Invalid
        It cannot be made; as of `writing`.
    """
    try:
        make_folders(place, mode=mode)
    except OSError as error:
        raise not_written(place, error) from None
    return place


def make_folders(place: Path, *, mode: int) -> None:
    """Make the folder `place` and missing ones above it, all with this mode: `Path.mkdir` gives it to one.

    Raises
    ------
    OSError
        One cannot be made.
    """
    for folder in [one for one in (*reversed(place.parents), place) if not one.exists()]:
        folder.mkdir(mode=mode, exist_ok=True)
    place.mkdir(exist_ok=True)


@contextmanager
def locking(place: Path, *, seconds: float = 0) -> Iterator[bool]:
    """True if this process has the lock file `place` until the block ends; False if another has it.

    The file is made where it is not there, and stays; what stands in it is nobody's but the caller's.

    Parameters
    ----------
    seconds
        How long to wait while another process has it; -1 is for ever.

    Raises
    ------
    NotFound, Invalid
        It cannot be made; as of `writing`.
    """
    from filelock import FileLock  # loaded where a lock is taken

    lock = FileLock(place, timeout=seconds)
    try:
        lock.acquire()
    except TimeoutError:
        pass
    except OSError as error:
        raise not_written(place, error) from None
    try:
        yield lock.is_locked
    finally:
        lock.release()


def lock_open_file(file: int) -> bool | None:
    """Lock an open file until it is closed: True then, False while another process has it, None where no locks are.

    Raises
    ------
    OSError
        The system cannot lock it, and the place knows locks.
    """
    from filelock import lock_descriptor  # loaded where a lock is taken

    try:
        return lock_descriptor(file, blocking=False)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return None


_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}
"""The system's words for a place that knows no locks: a mounted object store, NFS without a daemon for them."""


def home() -> Path | None:
    """Our home folder; None if it is not known, as in a container without $HOME and a name for our number."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def expanded(path: str | os.PathLike[str]) -> Path:
    """The path with the home folder in place of `~`.

    Raises
    ------
    UsageError
        It stands for no folder here.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise UsageError(
            f"{path} begins with a home folder that is not known here", hint="Write the whole path, or set HOME."
        ) from None


@contextmanager
def _replacement(target: Path, mode: int) -> Iterator[BinaryIO]:
    before = _writable_status(target)
    beside = target.with_name(f".{target.name[:50]}.{os.urandom(4).hex()}.tmp")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _AS_BYTES, 0o600 if before else mode)
    try:
        with open(handle, "wb") as file:
            yield file
            file.flush()
            # the owner first: changing it clears bits of the mode; some mounts, and Windows, know neither
            if before and hasattr(os, "fchown"):
                with suppress(OSError):
                    os.fchown(handle, before.st_uid, before.st_gid)
                with suppress(OSError):
                    os.fchmod(handle, stat.S_IMODE(before.st_mode))
            os.fsync(handle)
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    sync_folder(target.parent)


def _writable_status(target: Path) -> os.stat_result | None:
    """The status of a file that is there. Renaming would overwrite one that nobody may write to."""
    try:
        status = target.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is a folder, a pipe or a device")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return status


def read(place: Path, what: str, most: int, *, missing: str | None = None) -> bytes:
    """The content of a regular file.

    Parameters
    ----------
    what
        What the file should be, with its article, for errors: "a plan file".
    most
        Bytes that it may have.
    missing
        The message where there is no such file.

    Raises
    ------
    NotFound
        No such file.
    UsageError
        It is a folder, a pipe or a device, it has more bytes, or it cannot be read.
    """
    check(place, what, most, missing=missing)
    try:
        with open(os.open(place, os.O_RDONLY | _WITHOUT_WAITING), "rb") as file:
            return _within(file.read(most + 1), str(place), what, most)
    except OSError as error:
        raise _not_read(str(place), what, error, missing) from None


def read_text(place: Path, what: str, most: int, *, missing: str | None = None) -> str:
    """The text of a regular file, in UTF-8 with or without a byte order mark; arguments as of `read`.

    Raises
    ------
    NotFound, UsageError
        As of `read`.
    Invalid
        It is not UTF-8.
    """
    return text_of(read(place, what, most, missing=missing), str(place), what)


def text_of(content: bytes, name: str, what: str) -> str:
    """The same of what was read: `name` is the file's, for errors.

    Raises
    ------
    Invalid
        It is not UTF-8.
    """
    try:
        return without_mark(content).decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
    raise Invalid(f"{name}: line {line}: it is not UTF-8, so it cannot be {what}", hint="Save it as UTF-8.")


def without_mark(content: bytes) -> bytes:
    """The bytes without the byte order mark of UTF-8, which some editors write in front."""
    return content.removeprefix(codecs.BOM_UTF8)


def check(place: Path, what: str, most: int, *, missing: str | None = None) -> None:
    """Refuse what `read` refuses, for a library that opens the file itself."""
    try:
        status = place.stat()
    except (OSError, ValueError) as error:
        raise _not_read(str(place), what, error, missing) from None
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{place} is not a file, so it cannot be {what}")
    _within_size(status.st_size, str(place), what, most)


def read_stdin(what: str, most: int) -> str:
    """The text of standard input to its end, as `read_text` reads a file."""
    name = "standard input"
    try:
        content = sys.stdin.buffer.read(most + 1)
    except OSError as error:
        raise _not_read(name, what, error, None) from None
    return text_of(_within(content, name, what, most), name, what)


def _within(content: bytes, name: str, what: str, most: int) -> bytes:
    _within_size(len(content), name, what, most)
    return content


def _within_size(size: int, name: str, what: str, most: int) -> None:
    if size > most:
        raise UsageError(f"{name} is larger than {most:,} bytes, so it cannot be {what}")


def _not_read(name: str, what: str, error: OSError | ValueError, missing: str | None) -> KadminError:
    if isinstance(error, FileNotFoundError):
        return NotFound(missing or f"{name}, {what}, does not exist")
    reason = error.strerror if isinstance(error, OSError) else "not a path"
    return UsageError(f"{name}, {what}, cannot be read: {reason}")
