"""Kafka's jars: those of a version that we know, or of an installed Kafka."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from kadmin_nb.errors import NotFound, Unsupported
from kadmin_nb.jars import Progress, Release

BINDINGS = {
    "4.3.1": ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
    "4.2.0": ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.3"),
    "4.1.1": ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3"),
    "4.0.1": ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3"),
    "3.9.2": ("org.slf4j", "slf4j-reload4j", "1.7.36"),
}
"""The module that writes each version's log to a file: Kafka's distribution adds it, its published modules do not."""

VERSIONS = tuple(BINDINGS)
DEFAULT_VERSION = VERSIONS[0]


@dataclass(frozen=True, slots=True)
class Distribution:
    """The jars of one Kafka version, in class path order."""

    version: str
    jars: tuple[Path, ...]

    @property
    def classpath(self) -> str:
        return os.pathsep.join(map(str, self.jars))

    @property
    def logs_with_log4j2(self) -> bool:
        """Kafka 4 logs with log4j2, Kafka 3 with reload4j, each with its own configuration file."""
        return any(jar.name.startswith("log4j-core-") for jar in self.jars)


def find_jars(version: str | None = None, *, progress: Progress | None = None) -> Distribution:
    """The jars of a Kafka version (default: 4.3.1), downloaded if the cache does not have them.

    With `$KADMIN_KAFKA_HOME` set, the `libs` of that installed distribution, unchecked. Jars in the cache
    are checked every time (0.1 s). Two processes may call this at once; the second waits for the first.

    Raises
    ------
    Unsupported
        A version without committed sums, another version than the one in `$KADMIN_KAFKA_HOME`, or no pyspark.
    NotFound
        The download failed; the message has Ivy's last lines.
    Invalid
        A jar's sum is wrong: the message names it, and nothing of the download is kept.
    """
    if home := os.environ.get("KADMIN_KAFKA_HOME"):
        return _installed(Path(home), version)
    version = version or DEFAULT_VERSION
    return Distribution(version, _release(version).jars(progress))


def _installed(home: Path, version: str | None) -> Distribution:
    jars = tuple(sorted((home / "libs").glob("*.jar")))
    installed_version = next(
        (m[1] for jar in jars if (m := re.fullmatch(r"kafka-clients-(\d[^-]*)\.jar", jar.name))), None
    )
    if installed_version is None:
        raise NotFound(f"KADMIN_KAFKA_HOME={home} has no libs/kafka-clients-*.jar",
                       hint="name the folder of an unpacked Kafka, or unset it")  # fmt: skip
    if version not in (None, installed_version):
        raise Unsupported(f"KADMIN_KAFKA_HOME={home} is Kafka {installed_version}, asked for {version}",
                          hint="unset KADMIN_KAFKA_HOME, or do not name a version")  # fmt: skip
    return Distribution(installed_version, jars)


def _release(version: str) -> Release:
    """Kafka's modules of a version that we know."""
    if version not in VERSIONS:
        raise Unsupported(f"no committed sums for Kafka {version}; there are {', '.join(VERSIONS)}",
                          hint="KADMIN_KAFKA_HOME runs any installed Kafka")  # fmt: skip
    modules = (("org.apache.kafka", "kafka_2.13", version), BINDINGS[version])
    return Release("Kafka", version, modules, "45 MB", instead="KADMIN_KAFKA_HOME uses an installed Kafka; ")
