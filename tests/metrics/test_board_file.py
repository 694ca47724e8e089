"""The board and the alerts name what is exported; Grafana's own types read the board."""

from __future__ import annotations

import json
from itertools import pairwise

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from tests.metrics.full import full_metrics
from tests.prometheus.monitoring import ALERT_TESTS, BOARD, METRIC, alert_queries, board, metrics_named


def exported() -> set[str]:
    return {sample.name for family in full_metrics().collect() for sample in family.samples}


def test_the_board_and_the_alerts_name_what_is_exported():
    """A panel was empty: the metric had another name by then."""
    assert {*metrics_named()} - exported() == set()


def test_the_board_shows_all_that_is_exported():
    """Nobody saw that metric."""
    assert exported() - {*metrics_named()} == set()


def test_the_manual_names_all_that_is_exported():
    """The table of metrics lacked the one that the alert was about."""
    text = (BOARD.parents[1] / "monitoring.md").read_text()
    assert {name for name in exported() if f"`{name}`" not in text} == set()
    assert set(METRIC.findall(text)) - exported() == set()
    assert {name for name in alert_queries() if f"`{name}`" not in text} == set()


def test_grafanas_types_read_the_board_and_write_it_unchanged():
    """Grafana dropped the half of a panel when somebody saved it."""
    register_default_plugins()
    again = json.loads(json.dumps(Dashboard.from_json(board()), cls=JSONEncoder))
    assert again == board()
    assert BOARD.read_text() == json.dumps(board(), indent=1, ensure_ascii=False) + "\n"


def test_panels_do_not_overlap():
    """Two panels lay upon each other."""
    cells = [
        (x, y)
        for panel in board()["panels"]
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert not [one for one, other in pairwise(sorted(cells)) if one == other]
    assert max(x for x, _ in cells) < 24


def test_every_alert_is_tested():
    """An alert was added that never fired."""
    text = ALERT_TESTS.read_text()
    assert [name for name in alert_queries() if text.count(f"alertname: {name}") < 2] == []
