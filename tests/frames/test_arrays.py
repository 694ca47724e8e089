"""Arrays that are made without pandas are those that pyarrow makes."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone
from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kadmin_nb.frames import arrays, schemas

_MOMENTS = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]))
_WORDS = st.text(st.characters(codec="utf-8"), max_size=5)
_LEAVES = {
    pa.string(): _WORDS,
    pa.dictionary(pa.int32(), pa.string()): _WORDS,
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False) | st.integers(-(2**53), 2**53),
    pa.bool_(): st.booleans(),
    schemas.MOMENT: _MOMENTS,
}


def values_of(kind: pa.DataType) -> st.SearchStrategy:
    if pa.types.is_list(kind):
        return st.lists(values_of(kind.value_type), max_size=3)
    if pa.types.is_struct(kind):
        return st.fixed_dictionaries({part.name: values_of(part.type) for part in kind})
    return _LEAVES[kind]


KINDS = {*_LEAVES} | {field.type for frame in schemas.FRAMES.values() for field in frame.fields.values()}


@pytest.mark.parametrize("kind", sorted(KINDS, key=str), ids=str)
def test_they_are_those_of_pyarrow(kind):
    """A null became an empty text, and the last row of eight a false."""

    @settings(max_examples=40)
    @given(st.lists(st.none() | values_of(kind), max_size=20))
    def agree(values):
        made = arrays.without_pandas(values, kind)
        made.validate(full=True)
        assert made.equals(pa.array(values, kind))

    agree()


@pytest.mark.parametrize(
    ("values", "kind"),
    [([1.5], pa.int32()), ([2**31], pa.int32()), (["1"], pa.float64()), ([1], pa.string()), ([1], schemas.MOMENT)],
    ids=str,
)
def test_a_value_of_another_type_is_refused(values, kind):
    """1.5 had become 1."""
    with pytest.raises((TypeError, OverflowError, AttributeError)):
        arrays.without_pandas(values, kind)


def test_a_long_array_is_made_by_pyarrow(monkeypatch):
    """A million names took three times as long."""
    monkeypatch.setattr(arrays, "sys", SimpleNamespace(modules={}))
    monkeypatch.setattr(arrays, "without_pandas", None)
    assert arrays.array_of(["a"] * arrays.MANY, pa.string()).equals(pa.array(["a"] * arrays.MANY))
