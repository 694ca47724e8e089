"""The look-ups travel to a machine that has no kadmin_nb."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

from kadmin_nb.resolution import lookup
from kadmin_nb.resolution.kernel import Index
from tests.resolution.hierarchies import KEY, pairs_of, quotas_of, subset

ELSEWHERE = """
import pickle, sys
sys.modules["kadmin_nb"] = None
import pyarrow as pa
resolve, tables = pickle.load(sys.stdin.buffer)
names = [pa.chunked_array([pa.array(column)]) for column in (["alice", "bob"], ["app", ""])]
print([array.to_pylist() for array in resolve(tables, *names)[0]])
"""


@pytest.mark.slow
def test_look_ups_are_shipped_by_value() -> None:
    """Spark's workers failed on `import kadmin_nb`."""
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    cloudpickle.register_pickle_by_value(lookup)
    try:
        shipped = cloudpickle.dumps((lookup.resolve, Index.of(quotas_of(subset(0b10100000)), KEY).tables))
    finally:
        cloudpickle.unregister_pickle_by_value(lookup)
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], input=shipped, capture_output=True, check=True)
    assert done.stdout.decode().strip() == str(
        [[6.0, 6.0], ["DEFAULT_USER", "DEFAULT_USER"], ["alice", "bob"], ["", ""]]
    )


def test_an_index_knows_all_it_needs() -> None:
    tables = Index.of(quotas_of(subset(255)), KEY).tables
    pairs = pairs_of([("alice", "app")])
    (found,) = lookup.resolve(tables, pairs["user"], pairs["client_id"])
    assert [array.to_pylist() for array in found] == [[1.0], ["CLIENT_OF_USER"], ["alice"], ["app"]]
    assert isinstance(found[1].type, pa.DictionaryType)
