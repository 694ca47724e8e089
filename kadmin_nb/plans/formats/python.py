"""Python that stages the same on `stage`."""

from __future__ import annotations

from ...model.changes import Change
from ..kinds.registry import kind_of
from .subject import Subject, is_bare_secret, what
from .text import PlanText, comment, lines, note


def as_python(subject: Subject) -> PlanText:
    """Its changes, one a line, in their order."""
    head = [comment(line) for line in (*subject.title, "stage = cluster.stage()")]
    return PlanText(lines(["import kadmin_nb as kn", "", *head, *map(_stage_line, subject.changes)]))


def _stage_line(change: Change) -> str:
    if is_bare_secret(change):
        return note(f"{what(change)}: a secret is not written down")
    return f"stage.{kind_of(change).python_call(change)}"
