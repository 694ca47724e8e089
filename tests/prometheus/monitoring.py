"""The files of docs/monitoring, and the queries in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[2] / "docs" / "monitoring"
BOARD, ALERTS, ALERT_TESTS = FOLDER / "board.json", FOLDER / "alerts.yml", FOLDER / "alerts_test.yml"
METRIC = re.compile(r"\bkadmin_nb_\w+")


def board() -> dict[str, Any]:
    return dict(json.loads(BOARD.read_text()))


def board_queries() -> dict[str, str]:
    """The queries of the board by panel, for all endpoints."""
    queries = ((panel["title"], target) for panel in board()["panels"] for target in panel["targets"])
    return {f"{title} {target['refId']}": target["expr"].replace("$instance", ".*") for title, target in queries}


def alert_queries() -> dict[str, str]:
    """The expression of each alert."""
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    return {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}


def metrics_named() -> Iterator[str]:
    """Every metric of ours that the board or an alert names."""
    for query in (*board_queries().values(), *alert_queries().values()):
        yield from METRIC.findall(query)
