"""`make release`: the packages, built twice, looked into, and installed in empty environments; all but the upload.

In each environment stands the wheel with one extra, and what that extra is for is done once. Then all extras together
in the lowest versions that pyproject.toml allows, and in those of the lock under each Python that is found. Whatever is
installed has a hash in requirements/, which `make lock` renews.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kadmin_nb.version import VERSION

ROOT = Path(__file__).parents[2]
DIST, REQUIREMENTS = ROOT / "dist", ROOT / "requirements"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LARGEST_WHEEL = 1_300_000
"""Bytes; the aim is a million."""
QUOTAS = """
import kadmin_nb as kn
from kadmin_nb.frames import schemas
quota = {"entity": "user=alice", "level": "USER", "user": "alice", "key": "producer_byte_rate", "value": 1e6}
quotas = schemas.table(schemas.QUOTAS, [quota])
pairs = schemas.table(schemas.PAIRS, [{"user": "alice", "client_id": "app"}])
"""
SMOKE = {
    "": "assert kn.resolve(quotas, pairs)['value'].to_pylist()[0] == 1e6",
    "spark": """
spark = kn.spark_session()
clients = spark.createDataFrame([("alice", "app")], "user string, client_id string")
assert kn.fleets.resolve(quotas, clients, keys="producer_byte_rate").first()["value"] == 1e6""",
    "runbooks": "assert 'quota_audit' in [row['name'] for row in kn.runbooks.list()]",
    "widgets": "import kadmin_nb.widgets.controls; assert kn.widgets.edit_quotas is not None",
    "charts": "assert kn.charts.hierarchy(quotas).to_dict()",
    "local": """
with kn.local.start() as kafka, kafka.connect() as cluster:
    assert len(cluster.brokers) == 1""",
    "delta": """
import tempfile
assert kn.open_history(tempfile.mkdtemp()) is not None""",
    "metrics": "import kadmin_nb.cluster.exporter",
    "mcp": "import kadmin_nb.commands.assistant, mcp.server.lowlevel",
    "msk": "import aws_msk_iam_sasl_signer",
    "kerberos": "import gssapi",
}
"""What each extra is for, done once; without one, the base."""


def main() -> int:
    """Build and check; the exit code."""
    problems = [*_built(), *map(_refused, _installations())]
    problems = [problem for problem in problems if problem]
    for problem in problems:
        print(f"FAILED {problem}")
    if not problems:
        print(f"kadmin_nb {VERSION} is in dist/; upload it with: python -m twine upload dist/*")
    return bool(problems)


def _built() -> Iterator[str]:
    """What is wrong with the packages."""
    if f"## [{VERSION}]" not in (ROOT / "CHANGELOG.md").read_text():
        yield f"CHANGELOG.md has no heading for {VERSION}"
    with tempfile.TemporaryDirectory() as folder:
        first, second = (_build(Path(folder) / name) for name in ("first", "second"))
        for name, package in first.items():
            digest = hashlib.sha256(package).hexdigest()
            print(f"{name}: {len(package):,} bytes, sha256 {digest}")
            if second[name] != package:
                yield f"{name} differs from its second build"
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.copytree(Path(folder) / "first" / "dist", DIST)
    yield from unfit(_wheel())
    print_licences(_wheel())


def _build(folder: Path) -> dict[str, bytes]:
    """The packages of what is committed, built in a folder of its own."""
    folder.mkdir()
    archive = folder / "source.zip"
    subprocess.run(["git", "archive", "-o", str(archive), "HEAD"], cwd=ROOT, check=True)
    with zipfile.ZipFile(archive) as source:
        source.extractall(folder / "source")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder / "dist")]
    subprocess.run(build, cwd=folder / "source", check=True, stdout=subprocess.DEVNULL)
    return {place.name: place.read_bytes() for place in sorted((folder / "dist").iterdir())}


def _wheel() -> Path:
    return next(DIST.glob("*.whl"))


def unfit(wheel: Path) -> Iterator[str]:
    """What a wheel has that it should not, or lacks."""
    if wheel.stat().st_size > LARGEST_WHEEL:
        yield f"the wheel has {wheel.stat().st_size:,} bytes, more than {LARGEST_WHEEL:,}"
    names = zipfile.ZipFile(wheel).namelist()
    for name in names:
        if not re.match(r"kadmin_nb/|kadmin_magics/|kadmin_nb-[\d.]+\.dist-info/", name) or "__pycache__" in name:
            yield f"the wheel has {name}"
    info = f"kadmin_nb-{VERSION}.dist-info"
    for name in (
        "kadmin_nb/py.typed",
        "kadmin_nb/runbooks/shipped/quota_audit.ipynb",
        "kadmin_nb/widgets/browser/grid.js",
        f"{info}/licenses/LICENSE",
        f"{info}/sboms/sbom.cdx.json",
    ):
        if name not in names:
            yield f"the wheel lacks {name}"


def print_licences(wheel: Path) -> None:
    """The licences of what an installation with all extras consists of, and how many packages have each."""
    (name,) = (name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("sbom.cdx.json"))
    parts = json.loads(zipfile.ZipFile(wheel).read(name))["components"]
    counted = Counter(" and ".join(sorted(_licences(part))) or "not declared" for part in parts)
    print(f"{len(parts)} packages: " + ", ".join(f"{number} {name}" for name, number in counted.most_common()))


def _licences(part: dict) -> Iterator[str]:
    for given in part.get("licenses", ()):
        licence = given.get("license", {})
        yield given.get("expression") or licence.get("id") or licence.get("name", "").rpartition(" :: ")[2]


LOCK, LOWEST, SDISTS = "dev.txt", "lowest.txt", ("build.txt", "tools.txt")
"""In requirements/: the versions of every day, the lowest ones, and what builds pyspark and gssapi."""


def _installations() -> Iterator[tuple[str, str, str, str, str]]:
    """A name, what is installed, the lock of its versions, the Python, and what is done there."""
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert SMOKE.keys() == {"", *extras} - {"all"}
    for extra, work in SMOKE.items():
        if extra == "kerberos" and shutil.which("krb5-config") is None:
            print("extra kerberos: not tried, gssapi is built here and the headers of Kerberos are missing")
            continue
        yield f"extra {extra or '(none)'}", _named(extra), LOCK, here, work
    everything = "\n".join(SMOKE[extra] for extra in ("", "spark", "runbooks", "widgets", "charts", "delta"))
    yield "lowest versions", _named("all"), LOWEST, here, everything
    for python in PYTHONS:
        yield f"Python {python}", _named("all"), LOCK, python, everything


def _named(extra: str) -> str:
    wheel = _wheel()
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return f"kadmin_nb{f'[{extra}]' * bool(extra)} @ {wheel.as_uri()}#sha256={digest}"


def _refused(installation: tuple[str, str, str, str, str]) -> str | None:
    """What went wrong in an empty environment."""
    name, package, lock, python, work = installation
    with tempfile.TemporaryDirectory() as folder:
        made = _uv(folder, "venv", "--python", python, folder + "/env")
        if made.returncode:
            print(f"{name}: not tried, {_last(made.stderr)}")
            return None
        inside = f"{folder}/env/bin/python"
        for step in installing(package, lock):
            done = _uv(folder, "pip", *step, "--python", inside)
            if done.returncode:
                return f"{name}: {_last(done.stderr)}"
        done = _run(folder, inside, "-c", QUOTAS + work)
        if done.returncode:
            return f"{name}: {_last(done.stderr)}"
    print(f"{name}: installed and tried")
    return None


def installing(package: str, lock: str) -> Iterator[list[str]]:
    """The steps of `uv pip`: everything with its hash.

    uv asks no hashes of what builds an sdist, so that is installed first, and removed before the package gets what it
    needs itself.
    """
    locks = [word for name in (lock, "kerberos.txt") for word in ("--constraint", str(REQUIREMENTS / name))]
    builders = [word for name in SDISTS for word in ("--requirement", str(REQUIREMENTS / name))]
    install = ["install", "--require-hashes", "--no-build-isolation"]
    yield [*install, *builders]
    yield [*install, *locks, package]
    yield ["uninstall", *builders]
    yield [*install, *locks, package]


def _uv(folder: str, *words: str) -> subprocess.CompletedProcess[str]:
    return _run(folder, str(ROOT / ".lock" / "bin" / "uv"), "--system-certs", "--quiet", *words)


def _run(folder: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=1200)


def _last(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it ended without a word")


if __name__ == "__main__":
    sys.exit(main())
