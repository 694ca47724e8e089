"""The JSON Schema of declarative files, for editors and checks elsewhere."""

from __future__ import annotations

from importlib.resources import files


def schema() -> str:
    """The JSON Schema (draft 2020-12) of what `load` reads, as text."""
    return files(__package__).joinpath("schema.json").read_text(encoding="utf-8")
