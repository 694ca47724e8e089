"""`python databricks/generate.py`: the dashboard's file and the alerts, made out of the queries in sql/.

A dashboard takes names of tables without their schema, which `dataset_schema` of resources/dashboard.yml has; an alert
needs them in full.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
SQL = HERE / "sql"
DASHBOARD, ALERTS = HERE / "kadmin_nb.lvdash.json", HERE / "resources/alerts.yml"

TABLES = (
    *("quotas_history", "configs_history", "client_configs_history", "credentials_history"),
    *("snapshots", "planned_changes", "utilisation_daily"),
)
SCHEMA = "${var.catalog}.${resources.schemas.kafka.name}"
WIDTH, HEIGHT = 6, 7


class Part(NamedTuple):
    """A table of the dashboard: its query and title, and its columns with what they are called."""

    query: str
    title: str
    columns: dict[str, str]


WHO = {"cluster_id": "cluster", "key": "key", "user": "user", "client_id": "client-id", "limit": "limit"}
PAGES: dict[str, tuple[Part, ...]] = {
    "Limits": (
        Part("near", "Near or over a limit in the last seven days", WHO | {"level": "set by", "peak": "peak"} | {
            "peak_percent": "peak, % of the limit",
            "percent_of_time_above_80": "% of time above 80 %",
            "last_day": "last on",
        }),
        Part("throttled", "Throttled in the last thirty days", WHO | {
            "throttled_s": "seconds throttled",
            "longest_throttle_ms": "longest throttle, ms",
            "longest_above_limit_s": "longest above the limit, s",
            "since": "since",
            "last_day": "last on",
        }),
    ),
    "Changes": (
        Part("changes", "Changed in the last thirty days", {
            "at": "recorded at", "cluster_id": "cluster", "resource": "of", "key": "key", "change": "change",
            "before": "before", "after": "after", "author": "author", "plan_id": "plan", "frame": "kind",
        }),
        Part("since", "Current limits, and since when", {
            "cluster_id": "cluster", "entity": "of", "key": "key", "value": "limit", "since": "since",
            "author": "author", "plan_id": "plan",
        }),
        Part("drift", "Differences between clusters", {
            "frame": "kind", "resource": "of", "key": "key", "difference": "difference", "values": "values",
        }),
        Part("recorded", "Recorded snapshots", {
            "cluster_id": "cluster", "kind": "kind", "snapshots": "snapshots", "since": "since",
            "last_taken_at": "last", "rows_now": "rows now",
        }),
    ),
}  # fmt: skip
LINES = Part(
    "days", "Buckets above 80 % of their limit, day by day", {"day": "day", "near": "buckets", "cluster_id": ""}
)


class Alert(NamedTuple):
    """An alert: its name, and the value above which it is triggered."""

    name: str
    above: float


ALERT_OF = {
    "alert_near": Alert("Kafka: clients near their limit", 0),
    "alert_throttled": Alert("Kafka: clients are throttled", 0),
    "alert_changed": Alert("Kafka: limits changed without a plan", 0),
    "alert_not_recorded": Alert("Kafka: hours since the last snapshot", 26),
}


def query(name: str) -> str:
    """The query of this name, without what ends a statement."""
    return (SQL / f"{name}.sql").read_text().rstrip().removesuffix(";")


def dashboard() -> str:
    """The file of the dashboard."""
    parts = [LINES, *(part for page in PAGES.values() for part in page)]
    datasets = [
        {"name": part.query, "displayName": part.title, "queryLines": query(part.query).splitlines(keepends=True)}
        for part in parts
    ]
    pages = [
        {"name": name.lower(), "displayName": name, "pageType": "PAGE_TYPE_CANVAS", "layout": [*_layout(name)]}
        for name in PAGES
    ]
    return json.dumps({"datasets": datasets, "pages": pages}, indent=2) + "\n"


def _layout(page: str) -> Iterator[dict[str, Any]]:
    widgets = [_table(part) for part in PAGES[page]]
    if page == "Limits":
        widgets.insert(0, _lines(LINES))
    for number, widget in enumerate(widgets):
        yield {"widget": widget, "position": {"x": 0, "y": number * HEIGHT, "width": WIDTH, "height": HEIGHT}}


def _table(part: Part) -> dict[str, Any]:
    columns = [{"fieldName": name, "displayName": title} for name, title in part.columns.items()]
    return _widget(part, 2, "table", {"columns": columns})


def _lines(part: Part) -> dict[str, Any]:
    encodings = {
        "x": {"fieldName": "day", "scale": {"type": "temporal"}, "displayName": "day"},
        "y": {"fieldName": "near", "scale": {"type": "quantitative"}, "displayName": "buckets"},
        "color": {"fieldName": "cluster_id", "scale": {"type": "categorical"}, "displayName": "cluster"},
    }
    return _widget(part, 3, "line", encodings)


def _widget(part: Part, version: int, kind: str, encodings: dict[str, Any]) -> dict[str, Any]:
    fields = [{"name": name, "expression": f"`{name}`"} for name in part.columns]
    main = {"name": "main_query", "query": {"datasetName": part.query, "fields": fields, "disaggregated": True}}
    frame = {"title": part.title, "showTitle": True}
    return {
        "name": part.query,
        "queries": [main],
        "spec": {"version": version, "widgetType": kind, "encodings": encodings, "frame": frame},
    }


def alerts() -> str:
    """The alerts as resources of the bundle."""
    texts = {key: _indented(in_full(query(key))) for key in ALERT_OF}
    each = (_ALERT.format(key=key, name=of.name, above=of.above, text=texts[key]) for key, of in ALERT_OF.items())
    return _ALERTS + "".join(each)


def in_full(text: str) -> str:
    """A query whose tables have their catalog and schema."""
    return re.sub(rf"\b(FROM|JOIN) ({'|'.join(TABLES)})\b", rf"\1 {SCHEMA}.\2", text)


def _indented(text: str) -> str:
    return "\n".join(f"        {line}".rstrip() for line in text.splitlines())


_ALERTS = """\
# Made by generate.py out of sql/. Do not edit.
resources:
  alerts:
"""
_ALERT = """\
    kadmin_nb_{key}:
      display_name: "{name}"
      warehouse_id: ${{var.warehouse_id}}
      query_text: |
{text}
      schedule:
        quartz_cron_schedule: 0 0 7 * * ?
        timezone_id: UTC
      evaluation:
        source:
          name: value
        comparison_operator: GREATER_THAN
        threshold:
          value:
            double_value: {above}
        empty_result_state: OK
        notification:
          notify_on_ok: true
          subscriptions:
            - user_email: ${{var.notify}}
"""


if __name__ == "__main__":
    DASHBOARD.write_text(dashboard())
    ALERTS.write_text(alerts())
