"""The state between commands, a notebook's has more; the cluster that lines chose; the frames that a line names."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import files
from ..documents import from_json, to_json
from ..errors import KadminError, NotFound, UsageError
from ..hints import Option, Verb, sentence
from ..model.changes import Edit
from ..model.expansion import Expand, Variables, expanded_words, literal_words
from ..model.grammar import quote
from ..paths import state_dir
from ..plans.apply_options import ApplyOptions
from ..plans.execution.progress import Progress, silent

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..frames.frame import Frame
    from ..model.connection_settings import Settings
    from ..plans.change_lines import Matches
    from ..plans.outcomes import Outcomes
    from ..plans.plan import Plan
    from ..plans.stage import Stage


Note = Callable[[str], None]


@dataclass(frozen=True)
class PlanOptions:
    """The options of a verb that plans, and how the plan is applied where `apply` asks for that."""

    reason: str | None = None
    save: str | None = None
    force: bool = False
    apply: bool = False
    allow_unknown: Collection[str] = ()
    again: bool = False
    every: bool = False
    apply_options: ApplyOptions = field(default_factory=ApplyOptions)


@dataclass
class Session:
    """The memory of one entry point. This one, the terminal's, lasts for one command and keeps no stage.

    `variables` are those of a notebook: of its `{expr}`, and frames by name; `progress` and `note` are told of what
    takes long; `cell` is the text of the cell.
    """

    target: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    variables: Variables | None = None
    progress: Progress = silent
    note: Note | None = None
    cell: str | None = None
    connected: Cluster | None = None
    owns: bool = True
    remembered: str | None = None
    """The target that an earlier line chose."""

    @property
    def is_remembered(self) -> bool:
        """True if no word of the line names the target: an earlier line chose it."""
        return self.target is None and self.remembered is not None

    @property
    def cluster(self) -> Cluster:
        """The current cluster, reached on first use."""
        if self.connected is None:
            self.connected = self._reached(self.target or self.remembered, self.properties)
        return self.connected

    @property
    def cluster_to_change(self) -> Cluster:
        """The current cluster; a line that changes it and does not name it says first which one it is."""
        if self.is_remembered:
            self.warn(f"current cluster: {self.remembered}, {self.cluster.id}")
        return self.cluster

    def settings_of(self, target: str | None) -> Settings:
        """The connection to a target; of None, to the current cluster.

        Raises
        ------
        KadminError
            There is no such target, or none is current and several could be.
        """
        from ..profiles import settings_for

        if target is None and self.connected is not None:
            return self.connected.settings
        return settings_for(target or self.target or self.remembered, self.properties if target is None else None)

    @contextmanager
    def at(self, target: Any, properties: Mapping[str, str]) -> Iterator[Session]:
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

    def warn(self, *lines: str) -> None:
        """Print lines that stay on standard error; in a terminal, above the line of the progress."""
        if self.note is not None:
            for line in lines:
                self.note(line)

    @property
    def expand(self) -> Expand:
        """The words that a line of a cell means; without variables the words as they are."""
        return literal_words if self.variables is None else partial(expanded_words, variables=self.variables)

    def matches(self, every: bool) -> Matches:
        """The matches of patterns in changes on the current cluster, which is reached where a line has one."""
        from ..cluster.near_names import Existing
        from ..plans.change_lines import Matches

        return Matches(Existing(lambda: self.cluster.port), every)

    def refuse_out(self, name: str) -> None:
        """Refuse an `--out` that could not be written, before anything is done: in the terminal it is a file."""
        from ..frames.frame_files import FILES

        if not name.endswith(FILES):
            raise UsageError(f"--out {name} does not end in {', '.join(FILES)}")

    def chosen(self, target: Any, properties: Mapping[str, str]) -> object:
        """`use` in a terminal: the lines that follow work with this cluster, in every shell."""
        from ..frames.blocks import Text
        from ..profiles import lasting

        if properties:
            raise UsageError("--property is for this command only", hint="Write it into a profile.")
        found = lasting(target)
        choose(found)
        profile = os.environ.get("KADMIN_PROFILE")
        wins = f"\n$KADMIN_PROFILE is set, and takes precedence: {profile}" if profile else ""
        return Text(f"current cluster: {found}{wins}")

    def use_line(self, target: str) -> str:
        """The line to type to make this target the current cluster."""
        import shlex

        return f"kadmin-nb use {shlex.quote(target)}"

    def started_local(self, name: str, target: str) -> str:
        """What to type after a local Kafka was started, which becomes the current cluster unless one was chosen."""
        import shlex

        profile, chosen = os.environ.get("KADMIN_PROFILE"), choose_local(name, target)
        current = f"$KADMIN_PROFILE ({profile})" if profile else chosen.target
        if current != target:
            return f"The current cluster is still {current}; to use this one: {self.use_line(target)}"
        named = "" if name == "default" else f" --name {shlex.quote(name)}"
        return (
            f"It is the current cluster of kadmin-nb now. Next:\n  kadmin-nb local seed{named}\n  kadmin-nb quota tree"
        )

    def change(self, edits: Sequence[Edit], plan_options: PlanOptions) -> Plan | Outcomes | Stage:
        """Carry out a changing verb: the terminal plans that one line."""
        return self.save_or_apply(self.plan_of(edits, plan_options), plan_options)

    def plan_of(self, edits: Iterable[Edit], plan_options: PlanOptions) -> Plan:
        """The plan of these edits alone."""
        stage = self.cluster.new_stage()
        stage.add(edits)
        return planned(stage, plan_options)

    def save_or_apply(self, plan: Plan, plan_options: PlanOptions, impact: Any = None) -> Plan | Outcomes:
        """Save a plan, apply it, or show it with its impact on clients; one that breaks a policy is refused."""
        if not plan_options.apply:
            judged = self.cluster.plans.guard(plan)
            self.warn(*(judged.remarks if judged else ()))
        plan = self._with_impact(plan, impact)
        save(plan, plan_options)
        if not plan_options.apply:
            return self._with_way_on(plan, plan_options)
        return self.cluster_to_change.apply(plan, plan_options.apply_options, progress=self.progress)

    def _with_way_on(self, plan: Plan, plan_options: PlanOptions) -> Plan:
        """The plan that says what applies it."""
        from ..plans.plan import applied_by

        if plan_options.save:
            file = Verb(f"plan apply {quote(plan_options.save)}", f"cluster.apply(kn.Plan.load({plan_options.save!r}))")
            return applied_by(plan, sentence("Nothing is sent yet: {} applies it.", file))
        ways = Option("apply"), Option("save", "FILE")
        return applied_by(plan, sentence("Nothing is sent yet: {} applies it, {} keeps it.", *ways))

    def _with_impact(self, plan: Plan, impact: Any) -> Plan:
        """The plan with its impact on these clients, and the dangers that they tell of; without clients as it is."""
        return plan if impact is None else plan._with_impact(self.cluster.plans.bind(plan).impact(impact))

    def plan(self, plan_options: PlanOptions, impact: Any = None) -> Any:
        """The plan of what is staged, with its impact on these clients."""
        raise UsageError("no plan is named", hint="kadmin-nb plan -f FILE --save PLAN saves one.")

    def _reached(self, target: str | None, properties: Mapping[str, str]) -> Cluster:
        from ..cluster import connect

        try:
            return connect(target, properties=properties)
        except KadminError as exc:
            if self.is_remembered:
                exc.hint = (
                    f"{target} is the current cluster; kadmin-nb use TARGET chooses another. {exc.hint or ''}".strip()
                )
            raise


def planned(stage: Stage, plan_options: PlanOptions) -> Plan:
    """The plan of a stage, as the options want it."""
    return stage.plan(
        plan_options.reason,
        allow_unknown=plan_options.allow_unknown,
        again=plan_options.again,
    )


def save(plan: Plan, plan_options: PlanOptions) -> None:
    """Write a plan's file, where the options name one."""
    if plan_options.save:
        plan.save(plan_options.save, overwrite=plan_options.force)


FRAME_FILES = (".parquet", ".csv")
"""The ends of names of files that hold a frame."""


def frame_or_file(session: Session, name: Any) -> Any:
    """The path of a Parquet or CSV file, or the notebook's variable of that name. An object is itself."""
    if isinstance(name, str):
        place = Path(name)
        variables = None if place.suffix in FRAME_FILES and place.exists() else session.variables
        name = place if variables is None else variables.value(name)
    if isinstance(name, Path) and name.suffix not in FRAME_FILES:
        raise UsageError(f"{name} is neither a frame nor a {' or '.join(FRAME_FILES)} file")
    if isinstance(name, Path) and not name.exists():
        raise NotFound(f"no such file: {name}")
    return name


def read_frame(session: Session, name: Any, kind: type[Frame] | None = None) -> Any:
    """The frame of that name; a file is read, with the types of its kind if one is given. None without a name."""
    from ..frames import frame_files

    frame = None if name is None else frame_or_file(session, name)
    if isinstance(frame, Path):
        table = frame_files.read_table(frame)
        return table if kind is None else frame_files.typed(table, kind.schema)
    return frame


def frame_in_arrow(session: Session, name: Any) -> Any:
    """A frame or file of that name, in this process: a Spark DataFrame is read whole. None without a name."""
    from ..frames import spark

    frame = read_frame(session, name)
    return frame.toArrow() if spark.is_spark(frame) else frame


def usage_frame(session: Session, name: Any) -> Any:
    """USAGE of that name: a file is read with its types; None where none is named."""
    from ..frames import schemas

    return read_frame(session, name, schemas.USAGE)


def at_work() -> AbstractContextManager[None]:
    """Around what Spark does: its failures are one line."""
    from ..frames.spark import errors_in_one_line

    return errors_in_one_line()


def spark_for(engine: str | None) -> AbstractContextManager[None]:
    """Around a verb that may go to Spark, with a session where that is the engine, or the form of the answer."""
    import click

    from ..frames.spark import spark_session

    if "spark" in (engine, click.get_current_context().meta.get("form")):
        spark_session()
    return at_work()


def where_spark_is(is_spark: bool) -> AbstractContextManager[None]:
    """Around a verb of either engine; with a Spark session only where it is Spark's."""
    return spark_for("spark") if is_spark else nullcontext()


_MOST_BYTES = 1 << 16


class ChosenCluster(NamedTuple):
    """A target, and the name of the local Kafka that it was written for; none where `use` wrote it."""

    target: str
    local: str | None = None


def chosen_cluster() -> ChosenCluster | None:
    """The content of the file; None if it is missing or cannot be read."""
    with suppress(KadminError, TypeError, ValueError):
        return ChosenCluster(**from_json(files.read(_file(), "the chosen cluster", _MOST_BYTES).decode()))
    return None


def default_target() -> str | None:
    """The target of a line that names none, as far as the file says it; None leaves it to the profiles."""
    chosen = None if os.environ.get("KADMIN_PROFILE") else chosen_cluster()
    return chosen.target if chosen else None


def choose(target: str, local: str | None = None) -> ChosenCluster:
    """Write the file; what it says now.

    Raises
    ------
    KadminError
        It cannot be written.
    """
    chosen = ChosenCluster(target, local)
    files.make_folder(_file().parent, mode=0o700)
    files.write(_file(), to_json(chosen._asdict()), mode=0o600)
    return chosen


def choose_local(name: str, target: str) -> ChosenCluster:
    """Choose a local Kafka, unless `use` has chosen a cluster; the one that is chosen now."""
    chosen = chosen_cluster()
    return chosen if chosen is not None and chosen.local is None else choose(target, name)


def forget_local(name: str) -> None:
    """Take away what was written for this local Kafka, and nothing else."""
    chosen = chosen_cluster()
    if chosen is not None and chosen.local == name:
        _file().unlink(missing_ok=True)


def _file() -> Path:
    return state_dir() / "current_cluster.json"
