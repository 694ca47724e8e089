"""The class-data archive that halves the start of a JVM, made once for a Java and the jars that it runs.

A JVM that is started for this writes it when it ends politely: with `-XX:ArchiveClassesAtExit` on Java 17 to 24 (47 MB
for a node of Kafka), with `-XX:AOTCacheOutput` on Java 25 (63 MB). Nothing depends on it: where making it fails,
JVMs start without.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from kadmin_nb import files
from kadmin_nb.errors import KadminError
from kadmin_nb.java import Java
from kadmin_nb.local.jars import Progress
from kadmin_nb.paths import cache_dir

__all__ = ["Train", "archive_flags", "ready_flags"]

Train = Callable[[Sequence[str]], None]
"""Starts a JVM with these flags, waits until it has done what it is for, and ends it politely."""


def archive_flags(name: str, classpath: str, java: Java, train: Train, progress: Progress) -> tuple[str, ...]:
    """The JVM flags that use the archive, which is made first where there is none; empty where none can be made.

    `name` is what the JVM runs, with its version, as `kafka-4.3.1`.
    """
    file = _file(name, classpath, java)
    if not file.exists() and not _failed(file).exists():
        _make(file, java, train, progress)
    return ready_flags(name, classpath, java)


def ready_flags(name: str, classpath: str, java: Java) -> tuple[str, ...]:
    """The JVM flags that use the archive, empty where there is none."""
    file = _file(name, classpath, java)
    return _use(file, java) if file.exists() else ()


def _file(name: str, classpath: str, java: Java) -> Path:
    """An archive is good for exactly this Java and these jars at these paths."""
    identity = "\n".join([str(java.command), java.version, classpath])
    key = hashlib.sha256(identity.encode()).hexdigest()[:12]
    return cache_dir() / "archives" / f"{name}-java-{java.version}-{key}"


def _failed(file: Path) -> Path:
    return file.with_name(f"{file.name}.failed")


def _make(file: Path, java: Java, train: Train, progress: Progress) -> None:
    """One process makes it, others that start meanwhile go without. A failure is noted, not tried again."""
    half = file.with_name(f"{file.name}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with files.locking(file.with_name(f".{file.name}.lock")) as is_ours:
            if not is_ours:
                return
            progress("first start with this Java: making the class archive that halves later starts")
            train([f"-XX:{'AOTCacheOutput' if java.major >= 25 else 'ArchiveClassesAtExit'}={half}"])
            half.rename(file)
    except (KadminError, OSError) as error:
        half.unlink(missing_ok=True)
        _record_failure(_failed(file), error)


def _record_failure(file: Path, error: Exception) -> None:
    with suppress(KadminError):
        files.write(file, f"{error}\n")


def _use(file: Path, java: Java) -> tuple[str, ...]:
    """Quietly: an archive that does not fit is passed over, with a warning nobody needs."""
    if java.major >= 25:
        return (f"-XX:AOTCache={file}", "-Xlog:aot*=off", "-Xlog:cds*=off")
    return (f"-XX:SharedArchiveFile={file}", "-Xlog:cds*=off")
