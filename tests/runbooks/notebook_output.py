"""What an executed notebook shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nbconvert import HTMLExporter


def shown_by(document: Path) -> str:
    """All that its cells printed, showed or raised, as text."""
    cells = json.loads(document.read_text())["cells"]
    shown = [out for cell in cells for out in cell.get("outputs", [])]
    plain = [out.get("text") or out.get("data", {}).get("text/plain") or out.get("evalue", "") for out in shown]
    return "\n".join("".join(text) for text in plain)


def page_of(document: Path) -> str:
    """What `jupyter nbconvert --to html --no-input` makes of it."""
    exporter: Any = HTMLExporter(exclude_input=True)  # type: ignore[no-untyped-call]
    return str(exporter.from_filename(str(document))[0])
