"""What a build, a release and the checks install: each package has a hash, each action of a workflow a commit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.browser import presence
from tests.packaging import release

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")


def locked(text: str) -> dict[str, int]:
    """The packages of a lock, and how many hashes each has."""
    blocks = [block for block in re.split(r"\n(?=\S)", text) if not block.startswith("#")]
    return {canonicalize_name(re.split(r"[=\s]", block)[0]): len(HASH.findall(block)) for block in blocks}


def unhashed(text: str) -> list[str]:
    """The packages of a lock that pip would take from whoever serves them."""
    return [name for name, hashes in locked(text).items() if not hashes]


def unpinned(workflow: str) -> list[str]:
    """The actions of a workflow that are not named by a commit with the release beside it."""
    uses = re.findall(r"^.*\buses: *(.*?) *$", workflow, re.MULTILINE)
    return [use for use in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)]


def names_of(*requirements: str) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in requirements}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_each_package_of_a_lock_has_a_hash(lock: Path) -> None:
    """An index that somebody broke into served another package under the same version, and it was installed."""
    assert unhashed(lock.read_text()) == []


def test_a_hash_that_goes_is_missed() -> None:
    """The hashes of a package were lost when a lock was edited by hand, and nothing noticed."""
    lock = (ROOT / "requirements" / "tools.txt").read_text()
    without = re.sub(r"(?<=\nuv==)(\S+) (\\\n +--hash=\S+ ?)+", r"\1", lock)
    assert (unhashed(lock), unhashed(without)) == ([], ["uv"])


@pytest.mark.parametrize("target", ["install", "lock", "sbom", "release"])
def test_whatever_make_installs_is_checked_against_a_lock(target: str) -> None:
    """`make lock` ran whatever uv the index had that day, with the right to write our locks."""
    command = ["make", "--dry-run", "--always-make", target]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.replace("\\\n", " ")
    installs = [line for line in lines.splitlines() if re.search(r"\bpip\b.* install\b", line)]
    others = [line for line in installs if not line.endswith("--no-deps --no-build-isolation --editable .")]
    assert others
    assert [line for line in others if "--require-hashes" not in line] == []


def test_whatever_a_release_is_tried_with_is_checked_against_a_lock() -> None:
    """`make release` ran the newest of a hundred packages, beside the wheel that it was about to publish."""
    installs = [step for _, _, lock, _, _ in installations() for step in release.installing("kadmin_nb", lock)]
    installs = [step for step in installs if step[0] == "install"]
    assert [step for step in installs if not {"--require-hashes", "--no-build-isolation"} <= {*step}] == []
    assert {Path(word) for step in installs for word in step if word.endswith(".txt")} == {*LOCKS}


def installations() -> list[tuple[str, str, str, str, str]]:
    return [("extra", "kadmin_nb", release.LOCK, "3.11", ""), ("lowest", "kadmin_nb", release.LOWEST, "3.11", "")]


@pytest.mark.parametrize("lock", [release.LOCK, release.LOWEST])
def test_a_lock_has_what_the_project_needs(lock: str) -> None:
    """A new dependency had no hash until the next `make lock`, and no release could be tried."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {
        name: needed for name, needed in project["optional-dependencies"].items() if name not in ("all", "kerberos")
    }
    needed = names_of(*project["dependencies"], *(line for lines in extras.values() for line in lines))
    assert needed - locked((ROOT / "requirements" / lock).read_text()).keys() == set()
    kerberos = locked((ROOT / "requirements" / "kerberos.txt").read_text())
    assert names_of(*project["optional-dependencies"]["kerberos"]) <= kerberos.keys()


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_names_its_actions_by_commit(workflow: Path) -> None:
    """A tag of an action was moved to code that read the tokens of whoever used it."""
    text = workflow.read_text()
    assert "uses: " in text
    assert unpinned(text) == []


def test_a_commit_that_goes_is_missed() -> None:
    """Somebody put a tag back."""
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    moved = re.sub(r"@[0-9a-f]{40} # v[\d.]+$", "@release/v1", text, count=1, flags=re.MULTILINE)
    assert unpinned(moved) == ["actions/checkout@release/v1"]


def test_an_action_has_one_commit_everywhere() -> None:
    """One job was renewed, and the others ran the old one."""
    uses = {use for workflow in WORKFLOWS for use in re.findall(r"uses: *(\S+)", workflow.read_text())}
    assert len(uses) == len({use.partition("@")[0] for use in uses})


@pytest.mark.parametrize(("user", "ways"), [(0, ["apt-get update", "apt-get install"]), (1000, [])])
def test_a_browser_comes_from_the_systems_packages(monkeypatch: pytest.MonkeyPatch, user: int, ways: list[str]) -> None:
    """The tests ran a browser that nobody had a sum of."""
    ran: list[list[str]] = []

    def run(words: list[str], **options: Any) -> None:
        ran.append(words)

    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name == "apt-get" else None)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(presence, "_of_playwright", lambda: None)
    monkeypatch.setattr(subprocess, "run", run)
    presence.chromium.cache_clear()
    try:
        presence.fetch()
    finally:
        presence.chromium.cache_clear()
    assert [" ".join(words[:2]) for words in ran] == ways
