"""What a notebook has beside the terminal: a stage between its lines, the verbs that apply it, and its cells."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kadmin_nb import hints
from kadmin_nb.commands import completions, options
from kadmin_nb.commands.click_glue import FRAME, Verb, Verbs, words
from kadmin_nb.commands.config import RESOURCES, config, scram
from kadmin_nb.commands.options import again, applying, changing, every, planning, read_selectors
from kadmin_nb.commands.plan_verbs import load_plan, plan, which_plan
from kadmin_nb.commands.quota import quota
from kadmin_nb.commands.root import root
from kadmin_nb.commands.session import PlanOptions, Session, planned, save, usage_frame
from kadmin_nb.errors import Interrupted, NotFound, PartlyFailed, UsageError
from kadmin_nb.hints import braces_doubled, sentence, short_id
from kadmin_nb.model.changes import Edit
from kadmin_nb.model.grammar import quote
from kadmin_nb.plans.apply_options import ApplyOptions

if TYPE_CHECKING:
    from kadmin_nb.cluster import Cluster
    from kadmin_nb.frames.display import Display
    from kadmin_nb.plans.outcomes import Outcomes
    from kadmin_nb.plans.plan import Plan
    from kadmin_nb.plans.stage import Stage, StagedEdits


@dataclass
class NotebookSession(Session):
    """A notebook's memory: verbs stage into the cluster's stage, `apply` takes the plan last shown.

    A session of another cluster, for one command, has no stage: what it stages or shows would end with it.
    """

    has_stage: bool = True

    def warn(self, *lines: str) -> None:
        """Say it below the cell: a notebook's own line of notes is gone when the cell has run, standard error stays."""
        for line in lines:
            print(line, file=sys.stderr)

    @contextmanager
    def at(self, target: object, properties: Mapping[str, str]) -> Iterator[Session]:
        named = None if target is None else _target(target)
        is_current = named is None or named is self.connected or (named == self.target and not self.properties)
        if is_current and not properties:
            yield self
            return
        named = self.target or self.connected if named is None else named
        told = (self.variables, self.progress, self.note, self.cell)
        other = NotebookSession(None, properties, *told, has_stage=False)
        if named is None or isinstance(named, str):
            other.target = named
        elif properties:
            raise UsageError("--property and --timeout are of a new connection, but a Cluster was passed")
        else:  # it stays open
            other.connected, other.owns = named, False
        try:
            yield other
        finally:
            other.close()

    def chosen(self, target: object, properties: Mapping[str, str]) -> Cluster:
        """Make another cluster the current one; the one before ends when nothing holds it any more.

        Raises
        ------
        UsageError
            Changes are staged on the one before.
        KadminError
            It cannot be reached; the one before stays.
        """
        named = _target(target)
        same = named is self.connected or (named, properties) == (self.target, self.properties)
        if self.connected is not None and same:
            return self.connected
        if self.connected is not None and (count := len(self.connected.stage)):
            raise UsageError(
                f"{count} changes are staged on cluster {self.connected.id}",
                hint="%kquota apply or %kquota discard first.",
            )
        fresh = self._reached(named, properties) if isinstance(named, str) else named
        self.target, self.properties = (named, properties) if isinstance(named, str) else (None, {})
        self.connected, self.owns = fresh, isinstance(named, str)
        return fresh

    def refuse_out(self, name: str) -> None:
        """In a notebook it is a variable, or a file."""
        from kadmin_nb.frames.frame_files import FILES

        if not name.endswith(FILES) and (not name.isidentifier() or iskeyword(name)):
            raise UsageError(f"{name} is not a variable name", hint=f"A file ends in {', '.join(FILES)}.")

    def use_line(self, target: str) -> str:
        return f"%kadmin use {quote(braces_doubled(target))}"

    def started_local(self, name: str, target: str) -> str:
        return self.use_line(target)

    def change(self, edits: Sequence[Edit], plan_options: PlanOptions) -> Plan | Outcomes | Stage:
        if plan_options.apply or plan_options.save:
            return super().change(edits, plan_options)
        stage = self.stage
        stage.add(edits, again=plan_options.again)
        staged = self._staged
        staged.allowed |= {*plan_options.allow_unknown}
        staged.reason = plan_options.reason or staged.reason
        return stage

    @property
    def stage(self) -> Stage:
        self._refuse_elsewhere()
        return self.cluster.stage

    @property
    def _staged(self) -> StagedEdits:
        from kadmin_nb.plans.stage import edits_of

        return edits_of(self.stage)

    def _refuse_elsewhere(self) -> None:
        if not self.has_stage:
            raise UsageError(
                "the stage and reviews are of the current cluster; --cluster, --property or --timeout opens another",
                hint=f"{self.use_line(self.target or 'TARGET')} makes it the current one; "
                "set … --apply changes it without staging it.",
            )

    def review(self, plan: Plan, options: ApplyOptions) -> Display:
        self._refuse_elsewhere()
        return self.cluster.plans.bind(plan).review(options)

    def plan(self, plan_options: PlanOptions, impact: Any = None) -> Plan:
        from kadmin_nb.plans.plan import applied_by

        edits = self._staged
        allowed, reason = {*edits.allowed, *plan_options.allow_unknown}, plan_options.reason or edits.reason
        plan = planned(self.stage, replace(plan_options, reason=reason, allow_unknown=allowed))
        self.cluster.plans.guard(plan)
        plan = self._with_impact(plan, impact)
        save(plan, plan_options)
        edits.shown = plan
        way = hints.Verb("quota apply", "plan.apply()")
        return applied_by(plan, sentence("Nothing is sent yet: {} applies it.", way))

    def apply(self, plan_id: str | None, apply_options: ApplyOptions) -> Outcomes:
        """Apply the plan last shown. What of it is in force leaves the stage; the rest is kept for a second try."""
        from kadmin_nb.plans.stage import origin_of

        plan, outcomes = self._shown(plan_id), None
        try:
            outcomes = self.cluster.apply(plan, apply_options, progress=self.progress)
        except (PartlyFailed, Interrupted) as exc:
            outcomes = exc.outcomes
            raise
        finally:
            if outcomes is not None and (origin := origin_of(plan)):
                origin.applied(outcomes)
        return outcomes

    def discard(self) -> Stage:
        self.stage.discard()
        return self.stage

    def _shown(self, plan_id: str | None) -> Plan:
        """The plan that was last shown, if it still is what is staged."""
        from kadmin_nb.plans.stage import origin_of

        plan = self._staged.shown
        if plan is None:
            raise UsageError("no plan was shown yet", hint="%kquota plan shows one, and apply then applies it.")
        if plan_id is not None and (len(plan_id) < 6 or not plan.id.startswith(plan_id)):
            raise NotFound(f"the plan last shown is {short_id(plan.id)}, not {plan_id}")
        origin = origin_of(plan)
        if origin is None or not origin.is_current:
            raise UsageError("something was staged or discarded since the plan was shown", hint="Plan again.")
        return plan


def _target(named: object) -> str | Cluster:
    """What a line names: a word, or what a variable holds."""
    from kadmin_nb.cluster import Cluster

    if isinstance(named, str | Cluster):
        return named
    if isinstance(named, Path):
        return str(named)
    raise UsageError(f"a {type(named).__name__} is neither a text nor a Cluster")


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
@click.option("--usage", metavar="NAME", type=FRAME, help="A USAGE frame: cells show how much of the limit was used.")
def edit_quotas(session: NotebookSession, usage: Any) -> Any:
    """Edit quotas in a spreadsheet; edits are staged (notebook)."""
    from kadmin_nb.widgets import edit_quotas as edit_quotas_of

    used = usage_frame(session, usage)
    return edit_quotas_of(session.cluster, session.stage, usage=used)


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
