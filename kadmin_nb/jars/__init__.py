"""Jars of a release: downloaded once from a Maven repository, checked against committed SHA-256 sums.

Kafka's are those of a version that we know, or of an installed Kafka.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .. import files
from ..errors import Invalid, NotFound, Unsupported
from ..paths import cache_dir

Progress = Callable[[str], None]

CENTRAL = "https://repo1.maven.org/maven2"
"""Where Kafka's and Delta's projects publish their jars."""

SILENCE_SECONDS = 60
"""A download is given up when nothing comes for so long."""

LARGEST_JAR = 1 << 27


@dataclass(frozen=True, slots=True)
class Release:
    """The jars of a release, which are those with committed sums. `instead` is what somebody does who cannot download
    it."""

    product: str
    version: str
    size: str
    instead: str = ""

    def __str__(self) -> str:
        return f"{self.product} {self.version}"

    def jars(self, progress: Progress | None = None) -> tuple[Path, ...]:
        """The jars in class path order, downloaded if the cache does not have them, and checked every time.

        Two processes may call this at once; the second waits for the first.

        Raises
        ------
        NotFound
            The download failed.
        Invalid
            A jar's sum is wrong: the message names it, and nothing of the download is kept.
        """
        sums = _committed_sums(self)
        folder = cache_dir() / self.product.lower() / self.version
        if not folder.is_dir():
            _download(self, sums, folder, progress or (lambda text: None))
        _check(self, folder, sums, hint=f"Remove {folder}: it is then downloaded again.")
        return tuple(sorted(folder / Path(place).name for place in sums))


VERSIONS = ("4.4.0", "4.3.1", "4.2.0", "4.1.1", "4.0.1", "3.9.2")
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
    """The jars of a Kafka version (default: 4.4.0), downloaded if the cache does not have them.

    With `$KADMIN_KAFKA_HOME` set, the `libs` of that installed distribution, unchecked. Jars in the cache
    are checked every time (0.1 s). Two processes may call this at once; the second waits for the first.

    Raises
    ------
    Unsupported
        A version without committed sums, or another version than the one in `$KADMIN_KAFKA_HOME`.
    NotFound
        The download failed.
    Invalid
        A jar's sum is wrong: the message names it, and nothing of the download is kept.
    """
    if home := os.environ.get("KADMIN_KAFKA_HOME"):
        return _installed(Path(home), version)
    version = version or DEFAULT_VERSION
    if version not in VERSIONS:
        raise Unsupported(f"no committed sums for Kafka {version}; there are {', '.join(VERSIONS)}",
                          hint="KADMIN_KAFKA_HOME runs any installed Kafka")  # fmt: skip
    release = Release("Kafka", version, "45 MB", instead="KADMIN_KAFKA_HOME uses an installed Kafka; ")
    return Distribution(version, release.jars(progress))


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


def _committed_sums(release: Release) -> dict[str, str]:
    """The place of each jar in a Maven repository, to its SHA-256."""
    file = Path(__file__).with_name("sums") / f"{release.product.lower()}-{release.version}.txt"
    return {place: digest for digest, place in (line.split() for line in file.read_text().splitlines())}


def _check(release: Release, folder: Path, sums: Mapping[str, str], *, hint: str) -> None:
    """Each jar is there, with its sum; the first that differs is named."""
    for place, committed in sums.items():
        jar = folder / Path(place).name
        digest = hashlib.sha256(jar.read_bytes()).hexdigest() if jar.exists() else "none: it is missing"
        if digest != committed:
            problem = f"{jar.name} in {folder} has SHA-256 {digest}, committed is {committed}; nothing is used"
            raise Invalid(f"{release.product}'s jar {problem}", hint=hint)


def _download(release: Release, sums: Mapping[str, str], folder: Path, progress: Progress) -> None:
    """Download beside the wanted folder, check, and move it there in one step."""
    files.make_folder(folder.parent)
    with files.locking(folder.parent / f".{release.version}.lock", seconds=-1):
        if folder.is_dir():
            return
        half = Path(tempfile.mkdtemp(dir=folder.parent))
        try:
            _retrieve(release, sums, half, progress)
            _check(release, half, sums, hint="Try again. If it stays like this, it is not what was published.")
            half.chmod(0o755)
            half.rename(folder)
        finally:
            shutil.rmtree(half, ignore_errors=True)


def _retrieve(release: Release, places: Mapping[str, str], into: Path, progress: Progress) -> None:
    from http.client import HTTPException
    from urllib.request import urlopen  # with it comes what a start without a download need not wait for

    repository = os.environ.get("KADMIN_MAVEN_REPOSITORY", CENTRAL).rstrip("/")

    def fetch(place: str) -> None:
        with urlopen(f"{repository}/{place}", timeout=SILENCE_SECONDS) as answer:
            files.write(into / Path(place).name, answer.read(LARGEST_JAR))

    progress(f"downloading {release}: {len(places)} jars, about {release.size}")
    with ThreadPoolExecutor(4) as pool:
        try:
            for number, _ in enumerate(pool.map(fetch, places), 1):
                if number % 10 == 0 or number == len(places):
                    progress(f"downloading {release.product}: {number} of {len(places)} jars")
        except (OSError, ValueError, HTTPException) as error:
            pool.shutdown(cancel_futures=True)
            hint = f"{release.instead}KADMIN_MAVEN_REPOSITORY names a Maven repository of your own"
            raise NotFound(f"downloading {release} from {repository} failed: {error}", hint=hint) from None
