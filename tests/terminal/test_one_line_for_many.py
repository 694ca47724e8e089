"""One line for many, as it is typed: a pattern in a change."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.broker


def test_one_line_is_for_many_topics(live, kafka, make_topic, unique):
    """I had 5,000 topics, and each change named one."""
    stem = unique("many")
    topics = sorted(make_topic(kafka, f"{stem}.{name}") for name in "ab")
    rows = json.loads(live("config", "set", "retention.ms=7d", f"topic~={stem}.*", "--json").out)
    assert [(row["resource"], row["note"]) for row in rows] == [
        (f"topic={name}", f"one of 2 that match topic~={stem}.*") for name in topics
    ]
    for words in (
        ("reset", "retention.ms"),
        ("append", "cleanup.policy=compact"),
        ("subtract", "cleanup.policy=compact"),
    ):
        assert len(json.loads(live("config", *words, f"topic~={stem}.*", "--json").out)) == 2
    missed = live("config", "set", "retention.ms=7d", f"topic~={stem}-nothing*")
    assert (missed.code, f"nothing matches topic~={stem}-nothing*" in missed.err) == (1, True)
    internal = live("config", "set", "retention.ms=7d", "topic=<any>")
    assert (internal.code, "--every" in internal.err) == (2, True)
