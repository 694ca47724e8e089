"""A stage or plan prints itself as Markdown: a block that no name can leave."""

from __future__ import annotations

from html.parser import HTMLParser

import mistune
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import blocks
from kadmin_nb.model.changes import Edit
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans.plan import Plan
from kadmin_nb.plans.plan_file import PlanHead
from kadmin_nb.plans.planning import wishes as wishes_of
from kadmin_nb.plans.stage import Stage
from tests.hostile_names import HOSTILE

RATE = "producer_byte_rate"


@pytest.fixture
def stage() -> Stage:
    return Stage(planned)


def planned(edits: list[Edit], *_: object) -> Plan:
    """A plan on a cluster where what is to be removed is set."""
    rows = [row if row.after is not None else row.with_(old="1") for row in wishes_of(edits)]
    return Plan(PlanHead("cluster", "2026-01-01T00:00:00+00:00"), tuple(rows))


def test_it_is_shown_as_it_is(stage):
    """The notebook showed a line full of \\n."""
    stage.set_quota(RATE, "5MB/s", user="alice", client_id=kn.DEFAULT)
    assert repr(stage.to_markdown()) == f"```diff\n{stage.as_text(blocks.WHOLE).rstrip()}\n```\n"


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_what_is_shown_moves_no_terminal(stage, name):
    """A client-id coloured my terminal, and a pasted escape named another client."""
    stage.set_quota(RATE, "5MB/s", user=name)
    stage.set_config("match", f"client_id={name}", client_metrics="m")
    assert all(line.isprintable() for line in repr(stage.to_markdown()).split("\n"))


def test_a_secret_is_not_written_down(stage):
    """A secret stood in the block that I sent around."""
    stage.set_config("ssl.key.password", "hunter2", broker=1)
    assert "hunter2" not in stage.to_markdown()


def test_an_empty_value_is_a_value(stage):
    """An empty value became the next word."""
    key = "ssl.endpoint.identification.algorithm"
    stage.set_config(key, "", broker=1)
    assert f'{key}  ""' in str(stage.to_markdown())
    assert repr(stage).splitlines()[-1].split() == ["1", "set", "broker=1", key, '""']


class Tags(HTMLParser):
    """Every tag of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)


@pytest.mark.parametrize("name", [*HOSTILE, "```", "````\n# a heading"], ids=ascii)
def test_no_name_ends_the_block_of_a_pull_request(stage, name):
    """The pull request showed a heading and a link that were not in the plan."""
    stage.add([Edit("set", Entity.of({"user": name}), name, name)])
    page = mistune.create_markdown(escape=False, plugins=["table", "url"])(stage.to_markdown())
    assert Tags(page).seen == ["pre", "code"]
