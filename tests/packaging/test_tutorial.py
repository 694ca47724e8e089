"""The tutorial, typed from its first line to its last, by somebody who has installed the wheel and nothing else."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from tests.packaging.test_wheel import installed, wheel  # noqa: F401  # fixtures

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXIT = re.compile(r"^exit (\d+)$", re.MULTILINE)

pytestmark = [pytest.mark.broker, pytest.mark.slow]


def _typed() -> Iterator[tuple[str, int]]:
    """The lines of the page in their order, each with the exit code that it says."""
    for block in BLOCK.findall(PAGE.read_text()):
        if block.startswith("%"):
            yield block, 0
            continue
        parts = re.split(r"^(?:\$ )?(?=kadmin-nb )", block, flags=re.MULTILINE)
        for part in parts[1:]:
            line, _, said = part.partition("\n")
            yield line, int(found[1]) if (found := EXIT.search(said)) else 0


@pytest.fixture
def desk(installed: Path, tmp_path: Path) -> Iterator[dict[str, str]]:  # noqa: F811
    """The environment of somebody who never used it; the Kafka that the page starts ends with the test."""
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "KADMIN"))
    }
    env |= {
        "PATH": f"{installed}{os.pathsep}{env['PATH']}",
        "HOME": str(tmp_path),
        "KADMIN_STATE": str(tmp_path / "state"),
        "KADMIN_CONFIG": os.devnull,
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "JUPYTER_DATA_DIR": str(tmp_path / "jupyter"),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),  # Kafka's jars
    }
    yield env
    subprocess.run(["kadmin-nb", "local", "stop"], env=env, cwd=tmp_path, capture_output=True, timeout=120)


def _run(words: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, env=env, cwd=env["HOME"], capture_output=True, text=True, timeout=300)


def _in_a_notebook(cell: str, env: dict[str, str]) -> str:
    """What the lines of a notebook show, each in a cell of its own; the run fails where one does."""
    place = Path(env["HOME"]) / "tutorial.ipynb"
    lines = [*cell.splitlines(), "import kadmin_nb", "print(kadmin_nb.__file__)"]
    cells = [nbformat.v4.new_code_cell(line) for line in lines]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), place)
    words = ["python", "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", str(place)]
    done = _run(words, env)
    assert done.returncode == 0, done.stderr[-3000:]
    return place.read_text()


@pytest.mark.long
def test_the_tutorial_goes_to_its_end(installed: Path, desk: dict[str, str]) -> None:  # noqa: F811
    """The third line of the tutorial failed, as it had only ever been typed in the checkout."""
    said = ""
    lines = list(_typed())
    assert [line for line, _ in lines][:2] == ["kadmin-nb local start", "kadmin-nb local seed"]
    for line, code in lines:
        if line.startswith("%"):
            shown = _in_a_notebook(line, desk)
            assert "user=team-orders client-id=<default>" in shown
            assert str(installed.parent) in shown  # the kernel is that of the wheel
            continue
        done = _run(shlex.split(line), desk)
        assert done.returncode == code, f"{line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        said += done.stdout
    assert said.count("verified on 1 broker") == 2  # applied, and rolled back
    assert "team-orders" not in _run(["kadmin-nb", "quota", "describe"], desk).stdout  # it is put away
