"""What may follow each magic: the terminal's tree with the verbs that only a notebook has, and the lines of a cell.

A notebook keeps what is staged between its lines, so it can plan, apply and discard it; and it shows widgets.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cache
from typing import Any

import click

from kadmin_nb.commands import completions, options
from kadmin_nb.commands.change_options import again, applying, changing, every, planning
from kadmin_nb.commands.click_glue import FRAME, Verb, Verbs, words
from kadmin_nb.commands.config import RESOURCES, config
from kadmin_nb.commands.options import read_selectors
from kadmin_nb.commands.plan_verbs import load_plan, plan, which_plan
from kadmin_nb.commands.quota import TO_READ, quota
from kadmin_nb.commands.root import root
from kadmin_nb.commands.scram_verbs import scram
from kadmin_nb.commands.session import PlanOptions, usage_frame
from kadmin_nb.errors import UsageError
from kadmin_nb.model.entity import TYPES
from kadmin_nb.plans.apply_options import ApplyOptions

from .notebook_session import NotebookSession


@click.command("plan", cls=Verb)
@planning
@again
@options.impact
@click.option("--review", is_flag=True, help="Show it as a widget, which can apply it.")
def plan_staged(session: NotebookSession, impact: Any, review: bool, plan_options: PlanOptions) -> Any:
    """Plan the staged changes (notebook).

    Each row has the value before and after, and the broker's validation.
    """
    if review:
        return session.review(session.plan(plan_options), replace(plan_options.apply_options, usage=impact))
    return session.plan(plan_options, impact)


@click.command("apply", cls=Verb)
@applying
@click.argument("plan_id", required=False)
def apply_shown(session: NotebookSession, plan_id: str | None, apply_options: ApplyOptions) -> Any:
    """Apply the plan that was shown last (notebook).

    It is refused if something was staged since.
    """
    return session.apply(plan_id, apply_options)


@click.command("discard", cls=Verb)
@options.reading
def discard(session: NotebookSession) -> Any:
    """Empty the stage (notebook)."""
    return session.discard()


@click.command("edit", cls=Verb)
@options.reading
@words(completions.entities, TO_READ)
@options.types(*TYPES)
@click.option("--usage", metavar="NAME", type=FRAME, help="A USAGE frame: cells show how much of the limit was used.")
def edit_quotas(session: NotebookSession, words: tuple[str, ...], usage: Any) -> Any:
    """Edit quotas in a spreadsheet; edits are staged (notebook)."""
    from kadmin_nb.widgets import edit_quotas as edit_quotas_of

    used = usage_frame(session, usage)
    return edit_quotas_of(session.cluster, session.stage, usage=used, **read_selectors(words, TYPES))


@click.command("edit", cls=Verb)
@options.reading
@words(completions.resources, "TYPE=NAME...")
@options.types(*RESOURCES)
def edit_configs(session: NotebookSession, words: tuple[str, ...]) -> Any:
    """Edit configs in a spreadsheet; edits are staged (notebook)."""
    from kadmin_nb.widgets import edit_configs as edit_configs_of

    return edit_configs_of(session.cluster, session.stage, **read_selectors(words, RESOURCES))


@click.command("review", cls=Verb)
@applying
@which_plan
def review(session: NotebookSession, which: str, apply_options: ApplyOptions) -> Any:
    """Review and apply a plan in a widget (notebook).

    --usage NAME also shows its impact.
    """
    return session.review(load_plan(which), apply_options)


@cache
def entry_point(name: str) -> click.Command:
    """The command of a magic."""
    of_the_stage = (plan_staged, apply_shown, discard)
    groups = [_with(quota, *of_the_stage, edit_quotas), _with(config, *of_the_stage, edit_configs), _with(plan, review)]
    lines = {f"%k{group.name}": group for group in groups}
    lines["%kadmin"] = _with(root, *groups, _with(scram, *of_the_stage))
    cells = {"%%kadmin": None, "%%kquota": "quota", "%%kconfig": "config"}
    return lines[name] if name in lines else _cell(cells[name])


def _with(group: Verbs, *verbs: click.Command) -> Verbs:
    """The group with these verbs as well, in place of those that have their names."""
    extended = copy(group)
    extended.commands = {**group.commands, **{str(verb.name): verb for verb in verbs}}
    return extended


def _cell(kind: str | None) -> click.Command:
    """The command of a cell whose lines are all of this kind; None: of either. Its first line has options only."""

    @click.command(cls=Verb)
    @changing
    @again
    @every
    @click.argument("words", nargs=-1, metavar="")
    def staged(session: NotebookSession, words: tuple[str, ...], plan_options: PlanOptions) -> Any:
        """Stage every line of the cell, or none.

        \b
        set producer_byte_rate=5MB/s user=alice   # one change per line
        remove request_percentage user=bob
        """
        if words:
            name = words[0].partition("=")[0]
            raise UsageError(f"{name} is on the line of the magic", hint="Put options on that line, changes below it.")
        from kadmin_nb.plans import change_lines  # with Arrow, which help does not need

        matches = session.matches(plan_options.every)
        edits = change_lines.edits(
            session.cell or "", kind, plan_options.allow_unknown, expand=session.expand, matches=matches
        )
        if not edits:
            raise UsageError("the cell has no change in it", hint="For example set producer_byte_rate=5MB/s user=alice")
        return session.change(edits, plan_options)

    return staged
