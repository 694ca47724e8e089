"""Plans, stages, outcomes and conflicts as HTML and text: no name in them is markup, or moves the cursor."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

import kadmin_nb as kn
from kadmin_nb.errors import printable
from kadmin_nb.model.changes import Change, Edit, Outcome, Refusal
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans.execution.preflight import MovedRow, conflict
from kadmin_nb.plans.observed_state import ObservedValue
from kadmin_nb.plans.outcomes import ApplyResult, Outcomes
from kadmin_nb.plans.plan import Plan, with_note
from kadmin_nb.plans.plan_file import PlanHead
from kadmin_nb.plans.stage import Stage
from tests.hostile_names import HOSTILE

TAGS = {"table", "thead", "tbody", "tr", "th", "td", "p", "pre", "div", "span", "style", "details", "summary", "br"}
ATTRIBUTES = {("class", "dataframe"), ("class", "kadmin"), ("align", "right"), ("nowrap", None)}
OURS = {
    "class": re.compile(r"kadmin-[a-z]+( kadmin-[a-z]+)*"),
    "style": re.compile(r"--kadmin-first: \d+ch;"),
    "title": re.compile(".*"),
}


class Page(HTMLParser):
    """The tags, attributes and texts of a page; anything that a browser would obey is an error."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS, tag
        strange = set(attrs) - ATTRIBUTES
        assert all(name in OURS and OURS[name].fullmatch(text) for name, text in strange), attrs

    def handle_comment(self, data):
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment

    def handle_data(self, data):
        self.texts.append(data)


def changes(name: str) -> list[Change]:
    """The name wherever one may stand."""
    whom = Entity.of({"user": name, "client-id": name})
    return [
        Change(1, "set", whom, "producer_byte_rate", "1", "2", "2", level="CLIENT_OF_USER", note=name),
        Change(2, "set", Resource("TOPIC", name), name, name, name, name, validated=Refusal("INVALID_CONFIG", name)),
    ]


def shown(name: str) -> list[object]:
    rows = tuple(changes(name))
    plan = Plan(PlanHead(name, "2026-01-01T00:00:00Z", name, name, "2026-01-08T00:00:00Z"), rows)
    plan = with_note(plan, name, author=name, at=name, kind=name)
    stage = Stage(lambda *_: plan)
    stage.add(Edit(c.op, c.resource, c.key, c.wanted, name) for c in rows)
    done = ApplyResult([Outcome(c, "failed", name, name) for c in rows], note=name)
    moved = conflict([MovedRow(c, ObservedValue(name)) for c in rows], 2).rows
    return [plan, stage, Outcomes.of(plan.id, plan.cluster_id, done), moved]


@pytest.mark.parametrize("name", [name for name in HOSTILE if name], ids=ascii)
def test_no_name_is_markup(name):
    """A client-id ran a script in the browser of who looked at the plan."""
    for one in shown(name):
        page = one._repr_html_()
        assert page.count("<style>") == page.count("</style>") == 1
        assert page.replace("\n", "").isprintable()
        assert any(printable(name)[:70].strip() in text for text in Page(page).texts)


@pytest.mark.parametrize("name", [name for name in HOSTILE if name], ids=ascii)
def test_no_name_moves_the_cursor_or_makes_a_row(name):
    """A name with a line end had faked a row that said verified."""
    for one, plain in zip(shown(name), shown("x"), strict=True):
        text = repr(one)
        assert text.replace("\n", "").isprintable()
        remarks = sum("shortened" in line for line in text.splitlines())
        assert len(text.splitlines()) - remarks == len(repr(plain).splitlines())


@pytest.mark.parametrize("name", HOSTILE[-40:], ids=ascii)
def test_an_error_that_names_somebody_is_one_line(name):
    """The message went on below, in red."""
    moved = conflict([MovedRow(changes(name)[1], ObservedValue(name))], 1)
    refused = kn.PlanRefused(f"refused: {Refusal('INVALID_CONFIG', name)}", hint=name)
    for error in (moved, refused):
        assert str(error).isprintable()
        assert "\n".join(error._render_traceback_()).replace("\n", "").isprintable()
