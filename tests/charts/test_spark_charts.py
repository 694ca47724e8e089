"""Charts of frames in Spark: added up there, and the same as those of the same rows here."""

from __future__ import annotations

from typing import Any

import pytest

import kadmin_nb as kn
from tests.charts.charted_frames import CHARTS

pytestmark = pytest.mark.spark


EVERY_DAY = "usage"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == EVERY_DAY else pytest.mark.long) for name in CHARTS]
)
def test_spark_gives_the_same_chart(name: str) -> None:
    """The chart of the fleet's table was another than the chart of the same rows in pandas."""
    draw, frame = CHARTS[name]
    table = frame(100)
    in_spark = kn.Answer(table).to_spark(kn.spark_session())
    assert draw(in_spark).to_dict() == draw(table).to_dict()


def test_few_rows_leave_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chart of a fleet brought ten million rows into the notebook."""
    draw, frame = CHARTS["effective"]
    in_spark = kn.Answer(frame(20_000)).to_spark(kn.spark_session())
    kind, collected = type(in_spark), []
    to_arrow = kind.toArrow

    def counting(spark_frame: Any) -> Any:
        table = to_arrow(spark_frame)
        collected.append(len(table))
        return table

    monkeypatch.setattr(kind, "toArrow", counting)
    draw(in_spark)
    assert collected
    assert max(collected) <= 2000  # 500 clients, four keys each
