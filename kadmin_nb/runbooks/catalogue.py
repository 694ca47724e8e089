"""The runbooks that there are, and what each says of itself."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import documents, files, paths
from ..errors import Invalid, NotFound, UsageError, printable, printable_lines
from ..hints import did_you_mean
from .binder import Parameter, parameters

if TYPE_CHECKING:
    from ..frames.answer import Answer


_LARGEST = 1 << 28


@dataclass(frozen=True)
class Runbook:
    """A runbook. `description` is the first paragraph below its heading."""

    name: str
    path: Path
    title: str
    description: str
    parameters: tuple[Parameter, ...]

    @classmethod
    def read(cls, path: Path) -> Runbook:
        """The runbook in this file.

        Raises
        ------
        Invalid
            It is not a notebook, or has no cell tagged `parameters`.
        UsageError
            Its parameters cell declares something that cannot be a parameter.
        """
        cells = _cells(path)
        prose = next((cell["source"] for cell in cells if cell.get("cell_type") == "markdown"), "")
        blocks = [" ".join(block.split()) for block in prose.split("\n\n") if block.strip()]
        title = blocks.pop(0).lstrip("# ") if blocks and blocks[0].startswith("#") else ""
        tagged = (cell["source"] for cell in cells if "parameters" in cell.get("metadata", {}).get("tags", []))
        if (declaring := next(tagged, None)) is None:
            hint = "Its first code cell declares them and has that tag."
            raise Invalid(f"{path} has no cell tagged parameters", hint=hint)
        try:
            return cls(path.stem, path, title or path.stem, "".join(blocks[:1]), tuple(parameters(declaring)))
        except SyntaxError as exc:
            raise Invalid(f"the parameters cell of {path} is not Python: {exc.msg}") from None


def find(name_or_path: str | Path) -> Runbook:
    """A runbook by its name, or by the path of its notebook.

    Raises
    ------
    NotFound
        There is none; the hint has the nearest name.
    """
    path, shipped = Path(name_or_path), _shipped()
    if path.is_file():
        return Runbook.read(path)
    if str(name_or_path) in shipped:
        return Runbook.read(shipped[str(name_or_path)])
    raise NotFound(
        f"no such runbook: {name_or_path}, and no such file",
        hint=did_you_mean(path.stem, shipped, f"There are {', '.join(shipped) or 'none'}."),
    )


def runbooks() -> list[Runbook]:
    """Those that come with kadmin_nb, by name."""
    return [Runbook.read(path) for path in _shipped().values()]


def listed() -> Answer:
    """The runbooks that come with kadmin_nb: `name`, `description`."""
    from ..frames import schemas
    from ..frames.answer import Answer

    return Answer(schemas.table(schemas.RUNBOOKS, [{"name": r.name, "description": r.description} for r in runbooks()]))


def show(name_or_path: str | Path) -> str:
    """The description of a runbook, and each parameter with its help, as text that is safe for a terminal."""
    runbook = find(name_or_path)
    width = max((len(str(p)) for p in runbook.parameters), default=0)
    lines = (f"  {p!s:<{width}}  {p.help}".rstrip() for p in runbook.parameters)
    text = "\n".join([f"{runbook.name}: {runbook.title}", "", runbook.description, "", *lines])
    return printable_lines(text.expandtabs())


def _shipped() -> dict[str, Path]:
    folder = next((folder for folder in paths.RUNBOOKS if folder.is_dir()), None)
    return {path.stem: path for path in sorted(folder.glob("*.ipynb"))} if folder else {}


def _cells(path: Path) -> list[dict[str, Any]]:
    text = files.read_text(path, "a notebook", _LARGEST)
    try:
        cells = documents.from_json(text)["cells"]
        return [{**cell, "source": "".join(cell["source"])} for cell in cells]
    except (ValueError, KeyError, TypeError):
        raise Invalid(f"{path} is not a notebook") from None


SKELETON = Path(__file__).with_name("skeleton.ipynb")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def new(name: str, folder: str | os.PathLike[str] | None = None) -> Path:
    """Write a working runbook to start from: tagged parameters, preflight, plan, gate and record.

    Parameters
    ----------
    name
        Letters, digits, `_` and `-`; the file is `NAME.ipynb`.
    folder
        The folder; default: the working folder.

    Raises
    ------
    UsageError
        An invalid name; the file exists, or a runbook that comes with kadmin_nb has this name.
    NotFound, Invalid
        It cannot be written there.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(printable(f"{name} is not a runbook name"), hint="Letters, digits, _ and -: restart_weekly.")
    if name in _shipped():
        raise UsageError(f"{name} comes with kadmin_nb already", hint=f"runbook list {name} shows its parameters.")
    place = Path(folder or Path.cwd()) / f"{name}.ipynb"
    if os.path.lexists(place):
        raise UsageError(f"{place} is there already", hint="It was left as it is. Choose another name.")
    files.write(place, SKELETON.read_text(encoding="utf-8").replace("NAME", name))
    return place
