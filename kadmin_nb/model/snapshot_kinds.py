"""Entities and resources, as snapshots show them: read back from the kind and the text of a row."""

from __future__ import annotations

from .configurable import Configurable
from .entity import Entity
from .resources import Resource

_CLASSES: dict[str, type[Configurable]] = {each.kind: each for each in (Entity, Resource)}


def parsed(kind: str, text: str) -> Configurable:
    """The entity or resource that this text names.

    Raises
    ------
    UsageError
        It names none.
    """
    return _CLASSES[kind].parse(text)
