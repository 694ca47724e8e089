"""What a door remembers between commands: the cluster, the tray, the frame type, and how to look names up."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import timedelta
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from ..errors import NotFound, UsageError
from ..model.changes import Edit
from ..model.grammar import Lookup, quote
from ..plans.execution.progress import Progress, silent
from . import policy_option

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..plans.outcomes import Outcomes
    from ..plans.plan import Plan
    from ..plans.stage import Stage
    from .apply_options import How

Note = Callable[[str], None]

Watch = Callable[[], AbstractContextManager[Note | None]]
"""Opens a line that is written over while something goes on; it gives None where nobody watches."""


@dataclass(frozen=True)
class Wanted:
    """What the options of a changing verb ask for."""

    reason: str | None = None
    save: str | None = None
    force: bool = False
    apply: bool = False
    allow_unknown: Collection[str] = ()
    lifetime: timedelta | None = None
    allow: tuple[str, ...] = ()


@dataclass
class Session:
    """One door's memory. This one, the terminal's, lasts for one command and keeps no tray.

    `lookup` finds what `{expr}` means, `frames` what a frame's name means; `progress`, `note` and `watch` are told
    of what takes long; `cell` is the text of the cell, where the door is one.
    """

    target: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    lookup: Lookup | None = None
    frames: Lookup | None = None
    progress: Progress = silent
    note: Note | None = None
    watch: Watch = nullcontext
    cell: str | None = None
    connected: Cluster | None = None
    owns: bool = True

    @property
    def cluster(self) -> Cluster:
        """The current cluster, reached on first use."""
        if self.connected is None:
            self.connected = self._reached(self.target, self.properties)
        return self.connected

    @contextmanager
    def at(self, target: str | None, properties: Mapping[str, str]) -> Iterator[Session]:
        """The session that one command works with, when its options name this target."""
        if target is not None or properties:
            self.close()
            self.target, self.properties = target if target is not None else self.target, properties
        yield self

    def close(self) -> None:
        """Leave the current cluster; one that was handed in stays open."""
        if self.connected is not None and self.owns:
            self.connected.close()
        self.connected, self.owns = None, True

    def named(self, name: str) -> Any:
        """The frame of that name: a notebook's variable, in the terminal a Parquet or CSV file."""
        if self.frames is None:
            raise UsageError(f"there is nothing to look {name} up in")
        return self.frames(name)

    @contextmanager
    def at_work(self, what: str) -> Iterator[None]:
        """Around what Spark does: how far it is shows where somebody watches, and its failures are one line."""
        from ..frames.spark import at_work

        with self.watch() as tell, at_work(what, tell):
            yield

    def refuse_out(self, name: str) -> None:
        """Refuse an `--out` that could not be written, before anything is done: in the terminal it is a file."""
        from ..frames.files import FILES

        if not name.endswith(FILES):
            raise UsageError(f"--out {name} is none of {', '.join(FILES)}")

    def chosen(self, target: str, properties: Mapping[str, str]) -> object:
        """What `use` does at this door: a process cannot change its shell, so it says the line that does."""
        import shlex

        from ..profiles import lasting
        from .click_glue import Text

        if properties:
            raise UsageError("--property ends with this command", hint="Write it into a profile.")
        return Text(f"export KADMIN_PROFILE={shlex.quote(lasting(target))}")

    def next_line(self, target: str) -> str:
        """What to type to reach this target."""
        import shlex

        return f"kadmin-nb quota describe --cluster {shlex.quote(target)}"

    def change(self, edits: Sequence[Edit], wanted: Wanted) -> Plan | Outcomes | Stage:
        """What a changing verb does at this door: the terminal plans that one line."""
        stage = self.cluster.stage()
        stage.add(edits)
        return self.carry(planned(stage, wanted), wanted)

    def carry(self, plan: Plan, wanted: Wanted, how: How | None = None) -> Plan | Outcomes:
        """Save a plan, apply it, or just show it; one that breaks a policy is refused either way."""
        if not wanted.apply:
            self._guarded(plan)
        save(plan, wanted)
        return self._applied(plan, how.options if how else {"allow": wanted.allow}) if wanted.apply else plan

    def _applied(self, plan: Plan, options: Mapping[str, Any]) -> Outcomes:
        return self.cluster.apply(plan, **options, policy=self.policies(), progress=self.progress)

    def _guarded(self, plan: Plan) -> None:
        """Refuse a plan that breaks a policy; what policies say besides is noted."""
        answer = self.cluster.guard(plan, self.policies())
        if answer is not None and self.note is not None:
            for line in answer.remarks:
                self.note(line)

    def policies(self) -> tuple[str, ...]:
        """The policies that `--policy` names."""
        return policy_option.typed()

    def plan(self, wanted: Wanted) -> Plan:
        """Plan what the tray holds."""
        raise UsageError("the terminal keeps no tray", hint="kadmin-nb plan -f FILE plans many lines.")

    def apply(self, plan_id: str | None, how: How | None = None) -> Outcomes:
        """Apply the plan last shown."""
        raise UsageError("the terminal keeps no tray", hint="kadmin-nb plan apply FILE applies a saved plan.")

    def discard(self) -> Stage:
        """Empty the tray."""
        raise UsageError("the terminal keeps no tray: there is nothing to discard")

    def _reached(self, target: str | None, properties: Mapping[str, str]) -> Cluster:
        from ..cluster import connect
        from ..profiles import profile_names

        without_any = target is None and not os.environ.get("KADMIN_PROFILE") and not profile_names()
        try:
            return connect(target, properties=properties)
        except UsageError as exc:
            if without_any:
                exc.hint = f"{self._a_local_one()} {exc.hint or ''}".strip()
            raise

    def _a_local_one(self) -> str:
        """What to say to somebody who named no cluster."""
        from ..local import status

        running = [local.bootstrap for local in status() if local.state == "running" and not local.secure]
        if not running:
            return "kadmin-nb local start makes a Kafka on this machine."
        return f"A local Kafka is running: {self.next_line(running[0])}."


@dataclass
class Visit(Session):
    """Another cluster for one command of a notebook. The current one and its tray stay as they are."""

    def change(self, edits: Sequence[Edit], wanted: Wanted) -> Plan | Outcomes | Stage:
        if not (wanted.apply or wanted.save):
            raise self._elsewhere()
        return super().change(edits, wanted)

    def plan(self, wanted: Wanted) -> Plan:
        raise self._elsewhere()

    def apply(self, plan_id: str | None, how: How | None = None) -> Outcomes:
        raise self._elsewhere()

    def discard(self) -> Stage:
        raise self._elsewhere()

    def _elsewhere(self) -> UsageError:
        return UsageError(
            "the tray belongs to the current cluster, and --cluster names another",
            hint=f"%kadmin use {quote(self.target or 'TARGET')} makes it the current one; "
            "set … --apply changes it without a tray.",
        )


@dataclass
class NotebookSession(Session):
    """A notebook's memory: verbs stage into the cluster's tray, `apply` takes the plan last shown."""

    shown: tuple[Plan, int] | None = None
    reason: str | None = None
    allowed: frozenset[str] = frozenset()
    guards: tuple[str, ...] = ()

    @contextmanager
    def at(self, target: str | None, properties: Mapping[str, str]) -> Iterator[Session]:
        if self._is_current(target, properties):
            yield self
            return
        if target is None and self.target is None and self.connected is not None:
            raise UsageError("--property goes with --cluster here: the current cluster was handed in")
        visit = Visit(
            target if target is not None else self.target,
            properties,
            self.lookup,
            self.frames,
            self.progress,
            self.note,
            self.watch,
            self.cell,
        )
        try:
            yield visit
        finally:
            visit.close()

    def use(self, target: str | Cluster, properties: Mapping[str, str] | None = None) -> Cluster:
        """Make another cluster the current one.

        Raises
        ------
        UsageError
            Changes are staged on the one before.
        KadminError
            It cannot be reached; the one before stays.
        """
        overrides = properties or {}
        same = target is self.connected or (target, overrides) == (self.target, self.properties)
        if self.connected is not None and same:
            return self.connected
        self._refuse_to_lose_the_tray()
        fresh = self._reached(target, overrides) if isinstance(target, str) else target
        self.close()
        self.target, self.properties = (target, overrides) if isinstance(target, str) else (None, {})
        self.connected, self.owns = fresh, isinstance(target, str)
        return fresh

    def close(self) -> None:
        self._forget()
        super().close()

    def chosen(self, target: str, properties: Mapping[str, str]) -> object:
        from ..cluster import Cluster

        if not (target.startswith("{") and target.endswith("}")) or self.lookup is None:
            return self.use(target, properties)
        value = self.lookup(target[1:-1])
        if not isinstance(value, str | Cluster):
            raise UsageError(f"{target} is a {type(value).__name__}, neither a text nor a Cluster")
        return self.use(value, properties)

    def refuse_out(self, name: str) -> None:
        """In a notebook it is a variable."""
        if not name.isidentifier() or iskeyword(name):
            raise UsageError(f"{name} is no name of a variable")

    def next_line(self, target: str) -> str:
        return f"%kadmin use {quote(target)}"

    def change(self, edits: Sequence[Edit], wanted: Wanted) -> Plan | Outcomes | Stage:
        if wanted.apply or wanted.save:
            return super().change(edits, wanted)
        tray = self.cluster.tray
        tray.add(edits)
        self.allowed |= {*wanted.allow_unknown}
        self.reason = wanted.reason or self.reason
        self.guards = self.policies()
        return tray

    def policies(self) -> tuple[str, ...]:
        """Those that were named since the tray was empty."""
        return tuple(dict.fromkeys((*self.guards, *policy_option.typed())))

    def plan(self, wanted: Wanted) -> Plan:
        tray = self.cluster.tray
        version = tray.version
        allowed = {*self.allowed, *wanted.allow_unknown}
        plan = planned(tray, replace(wanted, reason=wanted.reason or self.reason, allow_unknown=allowed))
        self.guards = self.policies()
        self.cluster.guard(plan, self.guards)
        save(plan, wanted)
        self.shown = plan, version
        return plan

    def apply(self, plan_id: str | None, how: How | None = None) -> Outcomes:
        """Apply the plan last shown. The tray is emptied when all of it is verified, and kept for a second try."""
        plan = self._shown(plan_id)
        outcomes = self._applied(plan, how.options if how else {})
        self.shown = None
        if outcomes.ok:
            self.discard()
        return outcomes

    def discard(self) -> Stage:
        self.cluster.tray.discard()
        self._forget()
        return self.cluster.tray

    def _forget(self) -> None:
        self.shown, self.reason, self.allowed, self.guards = None, None, frozenset(), ()

    def _is_current(self, target: str | None, properties: Mapping[str, str]) -> bool:
        return not properties and (target is None or (target == self.target and not self.properties))

    def _refuse_to_lose_the_tray(self) -> None:
        if self.connected is not None and len(self.connected.tray):
            raise UsageError(
                f"{len(self.connected.tray)} changes are staged on cluster {self.connected.id}",
                hint="%kquota apply or %kquota discard first.",
            )

    def _shown(self, plan_id: str | None) -> Plan:
        """The plan that was last shown, if it still is what is staged."""
        if self.shown is None:
            raise UsageError("no plan was shown yet", hint="plan shows one; apply then applies just that.")
        plan, version = self.shown
        if plan_id is not None and (len(plan_id) < 6 or not plan.id.startswith(plan_id)):
            raise NotFound(f"the plan last shown is {plan.id[:12]}, not {plan_id}")
        if version != self.cluster.tray.version:
            raise UsageError("something was staged or discarded since the plan was shown", hint="plan again and look.")
        return plan


def planned(stage: Stage, wanted: Wanted) -> Plan:
    """The plan of a stage, as the options want it."""
    return stage.plan(wanted.reason, allow_unknown=wanted.allow_unknown, lifetime=wanted.lifetime)


def save(plan: Plan, wanted: Wanted) -> None:
    """Write a plan's file, where one is wanted."""
    if wanted.save:
        plan.save(wanted.save, overwrite=wanted.force)
