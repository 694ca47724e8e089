"""A row of every frame, full and empty, shows itself as text and as HTML."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from kadmin_nb.frames import schemas
from kadmin_nb.frames.answer import Answer
from kadmin_nb.frames.pages import WHOLE

FRAMES = {name: frame.schema for name, frame in schemas.FRAMES.items()}
VALUES: Mapping[Any, Any] = {pa.string(): "3", pa.float64(): 1.5, pa.bool_(): True, pa.float32(): 1.5}


def value_of(kind: pa.DataType) -> Any:
    """A value of this Arrow type."""
    if pa.types.is_dictionary(kind):
        return value_of(kind.value_type)
    if pa.types.is_list(kind):
        return [value_of(kind.value_type)]
    if pa.types.is_struct(kind):
        return {field.name: value_of(field.type) for field in kind}
    if pa.types.is_timestamp(kind):
        return datetime(2026, 11, 22, 12, tzinfo=UTC)
    return VALUES.get(kind, 1)


def row_of(schema: pa.Schema, *, is_full: bool) -> dict[str, Any]:
    return {field.name: value_of(field.type) if is_full or not field.nullable else None for field in schema}


@pytest.mark.parametrize("is_full", [True, False], ids=["full", "nulls"])
@pytest.mark.parametrize("name", FRAMES)
def test_a_row_is_text_and_html(name: str, is_full: bool) -> None:
    """`client-configs status` ended in a TypeError: a column of times had the name of a column of texts."""
    schema = FRAMES[name]
    answer = Answer(pa.Table.from_pylist([row_of(schema, is_full=is_full)] * 2, schema))
    assert answer.as_text(WHOLE)
    assert "<table" in answer._repr_html_()
