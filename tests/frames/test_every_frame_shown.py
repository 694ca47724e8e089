"""Rows of every frame, whatever is in them, show themselves as text, as HTML and as JSON."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from kadmin_nb.commands.answer_formats import as_json
from kadmin_nb.frames import schemas
from kadmin_nb.frames.answer import Answer
from kadmin_nb.frames.blocks import WHOLE
from tests.architecture.test_reference import PAGES
from tests.frames.declared_rows import rows

SCHEMA = json.loads(next(text for path, text in PAGES.items() if path.name == "frames.json"))


@pytest.mark.parametrize("name", schemas.FRAMES)
def test_rows_are_text_html_and_json(name: str) -> None:
    """`client-configs status` ended in a TypeError: a column of times had the name of a column of texts."""
    frame, written = schemas.FRAMES[name], jsonschema.Draft202012Validator(SCHEMA["$defs"][name])

    @settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow], phases=[Phase.generate])
    @given(rows(frame))
    def shown(some: list[dict[str, Any]]) -> None:
        answer = Answer(schemas.table(frame, some))
        assert bool(answer.as_text(WHOLE))
        assert ("<table" in answer._repr_html_()) is bool(some)
        assert all(written.is_valid(row) for row in json.loads(as_json(answer)))

    shown()
