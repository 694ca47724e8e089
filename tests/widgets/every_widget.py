"""Every widget over rows without a Kafka, with whatever names a test wants; also for the cells of a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from kadmin_nb.model.grammar import format_word
from kadmin_nb.widgets.editor import ConfigEditor, QuotaEditor
from kadmin_nb.widgets.panel import Panel
from kadmin_nb.widgets.plan_review import PlanReview
from tests.widgets.configs_of_double import Sheet, empty_stage, kafka_with
from tests.widgets.reviewing import Bench
from tests.widgets.stored_quotas import RATE, all_shown, quotas


def _users(*names: str) -> list[str]:
    return [format_word("user", name) for name in names]


def quota_editor(*names: str) -> QuotaEditor:
    """Quotas of users of these names."""
    stored = all_shown(quotas(dict.fromkeys(_users(*names), "1MB/s")))
    return QuotaEditor(lambda: stored, empty_stage(), lambda user, client_id: pytest.fail("no cluster is asked"))


def config_editor(*values: str) -> ConfigEditor:
    """A list of a topic with these values in it."""
    return Sheet("topic=orders", kafka=kafka_with({("topic=orders", "compression.type"): ",".join(values)})).editor


def plan_review(*names: str) -> PlanReview:
    """A plan of a limit for each of these users."""
    bench = Bench()
    for name in names:
        bench.stage.set_quota(RATE, "1MB/s", user=name)
    review: PlanReview = bench.stage.plan().review()
    return review


WIDGETS: Mapping[str, Callable[..., Panel]] = {
    "quota editor": quota_editor,
    "config editor": config_editor,
    "plan review": plan_review,
}


def hostile_configs(*names: str) -> ConfigEditor:
    """Topics, each with one of these texts as a value, and the editor of all of them."""
    topics = [f"topic=t{number:03}" for number in range(len(names))]
    kafka = kafka_with({(topic, "compression.type"): name for topic, name in zip(topics, names, strict=True)})
    return Sheet(*topics, kafka=kafka).editor
