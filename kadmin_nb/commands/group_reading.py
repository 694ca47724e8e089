"""A reading verb on each cluster of a group, `--cluster @eu`: one frame, each row with its cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ..errors import KadminError, UsageError

READS = {
    "quota": ("describe", "resolve", "tree", "near", "top", "usage", "audit"),
    "config": ("describe", "audit"),
    "scram": ("describe",),
    "client-configs": ("clients",),
}
"""The verbs that take a group, by their groups of verbs."""

_CHANGES = ("apply", "save", "stage")
"""Options by which such a verb changes something."""


def of_each(ctx: click.Context, name: str, ask: Callable[[str], tuple[str, Any]]) -> Any:
    """The answers of all clusters of a group, as one; of a cluster that cannot be asked a row with its reason.

    Parameters
    ----------
    ask
        Gives the id of a cluster, by its profile, and the verb's answer there.

    Raises
    ------
    UsageError
        A verb, or options, that change something.
    """
    from ..frames.answer import GroupAnswer
    from ..profiles import group

    of_verbs = str(ctx.parent.command.name) if ctx.parent else ""
    changing = [f"--{option}" for option in _CHANGES if ctx.params.get(option)]
    if ctx.command.name not in READS.get(of_verbs, ()) or changing:
        what = " ".join([of_verbs, str(ctx.command.name), *changing])
        raise UsageError(f"{what} takes no group", hint="A change of many clusters is runbook run NAME --each GROUP.")
    answers: dict[str, tuple[str, Any] | KadminError] = {}
    for member in group(name):
        try:
            answers[member] = ask(member)
        except KadminError as error:
            answers[member] = error
    return GroupAnswer(answers)
