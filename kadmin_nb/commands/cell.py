"""A cell of many lines: its first line has options only, the others one change each."""

from __future__ import annotations

from typing import Any

import click

from ..errors import UsageError
from . import completions
from .change_options import changing
from .click_glue import Offers, Verb, Verbs, Words
from .session import PlanOptions, Session


def cell(kind: str | None) -> click.Command:
    """The command of a cell whose lines are all of this kind; None: of either."""

    @click.command(cls=Verb)
    @changing
    @click.argument("words", nargs=-1, metavar="")
    def staged(session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> Any:
        """Stage every line of the cell, or none.

        \b
        set producer_byte_rate=5MB/s user=alice   # one change a line
        remove request_percentage user=bob
        """
        if words:
            name = words[0].partition("=")[0]
            raise UsageError(f"{name} stands beside the magic", hint="Options go there, changes below.")
        from ..plans import change_lines  # with Arrow, which help does not need

        edits = change_lines.edits(session.cell or "", session.lookup, kind, plan_options.allow_unknown)
        if not edits:
            raise UsageError("the cell has no change in it", hint="Such as set producer_byte_rate=5MB/s user=alice")
        return session.change(edits, plan_options)

    return staged


def line(kind: str | None) -> click.Command:
    """The verbs that a line of such a cell may begin with; they complete and do nothing."""
    return Verbs("line", commands={verb: _completing(verb, offer) for verb, offer in _OFFERS[kind].items()})


def _completing(verb: str, offer: Offers) -> click.Command:
    return click.Command(verb, params=[click.Argument(["words"], nargs=-1, type=Words(offer))], add_help_option=False)


_QUOTA: dict[str, Offers] = {"set": completions.quota_settings, "remove": completions.quota_removals}
_CONFIG: dict[str, Offers] = {
    "set": completions.config_settings,
    "reset": completions.config_resets,
    "append": completions.config_settings,
    "subtract": completions.config_settings,
}
_OFFERS: dict[str | None, dict[str, Offers]] = {
    "quota": _QUOTA,
    "config": _CONFIG,
    None: {**_CONFIG, **_QUOTA, "set": completions.settings},
}
