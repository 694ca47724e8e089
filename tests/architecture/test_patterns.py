"""Regular expressions mean the same on every Python that we support."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator

import pytest

from tests.architecture.sources import SOURCES, place_of

MODULES = [
    place_of(source).removesuffix(".py").removeprefix("magics/").replace("/", ".")
    for source in SOURCES
    if "re.compile(" in source.read_text()
]


@pytest.mark.parametrize("module", MODULES)
def test_no_pattern_is_possessive_or_atomic(module: str) -> None:
    """On Debian 12, whose Python is 3.11.2, `user=o'brien` was two words: what failed in the middle was kept."""
    values = vars(importlib.import_module(module)).values()
    patterns = (value for value in values if isinstance(value, re.Pattern) and isinstance(value.pattern, str))
    assert [one.pattern for one in patterns if {"POSSESSIVE_REPEAT", "ATOMIC_GROUP"} & {*_operations(one)}] == []


def _operations(pattern: re.Pattern[str]) -> Iterator[str]:
    parsed = re._parser.parse(pattern.pattern, pattern.flags)  # type: ignore[attr-defined]
    yield from re.findall(r"\b(?:POSSESSIVE_REPEAT|ATOMIC_GROUP)\b", repr(parsed))


def test_they_are_found() -> None:
    """The test passed, because it looked for nothing."""
    assert {*_operations(re.compile("a*+(?>b)"))} == {"POSSESSIVE_REPEAT", "ATOMIC_GROUP"}
    assert len(MODULES) > 20
