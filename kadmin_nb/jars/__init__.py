"""Jars of a release: retrieved once with the Ivy inside pyspark, checked against committed SHA-256 sums."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .. import files
from ..errors import Invalid, NotFound, Unsupported
from ..java import find_java
from ..paths import cache_dir

Progress = Callable[[str], None]

LONGEST_DOWNLOAD = 1800
"""Seconds after which Ivy is given up, which has no time limit of its own."""


@dataclass(frozen=True, slots=True)
class Release:
    """The jars of a release: those with committed sums."""

    product: str
    version: str
    size: str

    def __str__(self) -> str:
        return f"{self.product} {self.version}"

    def jars(self, progress: Progress | None = None) -> tuple[Path, ...]:
        """The jars in class path order, downloaded if the cache does not have them, and checked every time.

        Two processes may call this at once; the second waits for the first.

        Raises
        ------
        Unsupported
            No pyspark.
        NotFound
            The download failed; the message has Ivy's last lines.
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


def find_jars(version: str | None = None, *, progress: Progress | None = None) -> Distribution:
    """The jars of a Kafka version (default: 4.4.0), downloaded if the cache does not have them.

    They are checked every time (0.1 s). Two processes may call this at once; the second waits for the first.

    Raises
    ------
    Unsupported
        A version without committed sums, or no pyspark.
    NotFound
        The download failed; the message has Ivy's last lines.
    Invalid
        A jar's sum is wrong: the message names it, and nothing of the download is kept.
    """
    version = version or DEFAULT_VERSION
    if version not in VERSIONS:
        raise Unsupported(f"no committed sums for Kafka {version}; there are {', '.join(VERSIONS)}")
    return Distribution(version, Release("Kafka", version, "45 MB").jars(progress))


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


def _retrieve(release: Release, places: Iterable[str], into: Path, progress: Progress) -> None:
    """Run Ivy with its own cache and user folder, so that nobody's `~/.ivy2` is read or written."""
    settings = os.environ.get("KADMIN_IVY_SETTINGS")
    with tempfile.TemporaryDirectory() as work:
        wanted = Path(work) / "ivy.xml"
        files.write(wanted, _ivy_xml(release, places))
        command = [
            str(find_java().command), f"-Divy.default.ivy.user.dir={work}", "-jar", str(_ivy_jar()),
            *(["-settings", settings] if settings else []),
            "-ivy", str(wanted), "-confs", "default", "-cache", f"{work}/cache",
            # relative, as brackets in a path would be part of the pattern
            "-retrieve", "[artifact]-[revision].[ext]",
        ]  # fmt: skip
        progress(f"downloading {release}, about {release.size}")
        try:
            done = subprocess.run(command, cwd=into, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace",
                                  timeout=LONGEST_DOWNLOAD)  # fmt: skip
        except subprocess.TimeoutExpired:
            raise NotFound(f"downloading {release} did not end within {LONGEST_DOWNLOAD} s") from None
    if done.returncode or not any(into.glob("*.jar")):
        telling = re.findall(r".*(?:WARN|ERROR|FAILED|UNRESOLVED|xception).*", done.stdout)[-4:]
        output = " | ".join(map(str.strip, telling)) or f"Ivy ended with {done.returncode}"
        hint = "KADMIN_IVY_SETTINGS names an Ivy settings file with your own repository"
        raise NotFound(f"downloading {release} failed: {output}", hint=hint)


def _ivy_xml(release: Release, places: Iterable[str]) -> str:
    """The jars at these places, and nothing that they depend on."""
    parts = (place.rsplit("/", 3)[:3] for place in places)
    lines = [
        f'<dependency org="{group.replace("/", ".")}" name="{name}" rev="{version}" conf="default" transitive="false"/>'
        for group, name, version in parts
    ]
    info = f'<info organisation="kadmin-nb" module="{release.product.lower()}"/>'
    return "\n".join(['<ivy-module version="2.0">', info, "<dependencies>", *lines, "</dependencies></ivy-module>"])


def _ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")
    jars = sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar")) if spec and spec.origin else []
    if not jars:
        raise Unsupported("a download of jars needs the Ivy inside pyspark, and pyspark is not installed",
                          hint="pip install 'kadmin_nb[local]'")  # fmt: skip
    return jars[-1]
