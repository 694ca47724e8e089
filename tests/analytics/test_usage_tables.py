"""Tables of USAGE and UTILISATION: their names. What they may hold is tried on Delta, in `tests/databricks`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.model.config_units import length_text
from kadmin_nb.usage.tables import beside
from kadmin_nb.usage.usage_windows import length_of

pytestmark = pytest.mark.spark

LOG = Path(__file__).with_name("recorded") / "broker-1" / "request.log"


@pytest.mark.parametrize("table", ["my-lake.usage", "", "lake.", "a.b.c.d", "lake.usage; DROP TABLE x", "lake.`usage"])
def test_what_is_no_name_of_a_table_is_one_line(spark, table: str) -> None:
    """[INVALID_IDENTIFIER], with the SQL and a line of arrows below it, for a hyphen."""
    log = kn.usage.requests(LOG, spark=spark, broker=1, tz="UTC")
    with pytest.raises(kn.UsageError) as refused:
        kn.usage.store_usage(log, table)
    assert str(refused.value) == f"{table!r} is not the name of a table"
    assert "between backquotes" in str(refused.value.hint)


def test_a_table_beside_another_has_a_name_that_spark_reads() -> None:
    """The suffix came after the closing backquote."""
    assert beside("`my-lake`.`us``age`", "_incoming") == "`my-lake`.`us``age_incoming`"


@pytest.mark.parametrize(
    ("every", "written"),
    [
        ("60 seconds", "1 minute"),
        ("90 seconds", "90 seconds"),
        ("7 days", "1 week"),
        ("1500 milliseconds", "1500 milliseconds"),
        ("1 hour", "1 hour"),
    ],
)
def test_a_length_is_written_as_every_takes_it(every: str, written: str) -> None:
    """The hint said 60000000, which `every` does not take."""
    assert length_text(timedelta(microseconds=length_of(every))) == written
    assert length_of(written) == length_of(every)
