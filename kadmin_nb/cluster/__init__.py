"""`connect()` and `Cluster`: the only place that wires ports, plans and frames together."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import cached_property, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..client_configs.kafka import LiveKafka
from ..errors import KadminError
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.schemas import stamped
from ..frames.views import counted_nouns, in_short
from ..model.connection_settings import Settings
from ..model.grammar import ANY
from ..plans import VERIFY_TIMEOUT
from ..plans.apply_options import ApplyOptions, shows_options, with_arguments
from ..plans.execution.progress import Progress, Stopped, never, silent
from .configs import Configs
from .quotas import Quotas

if TYPE_CHECKING:
    from ..client_configs.verbs import ClientConfigs
    from ..model.changes import Edit
    from ..plans.outcomes import Outcomes
    from ..plans.plan import Plan
    from ..plans.stage import Stage
    from ..state import Declared
    from ..state.compare import Diff
    from ..state.snapshots import Snapshot
    from .changing import Changes
    from .observation import ObservationAnswer
    from .permissions import PermissionsAnswer
    from .users import Scram, UsersAnswer

__all__ = ["Cluster", "connect"]


def connect(
    target: str | None = None, *, properties: Mapping[str, str] | None = None, timeout: float | None = None
) -> Cluster:
    """Connect to a cluster.

    Parameters
    ----------
    target
        A path to a Java client `.properties` file, a profile of `kadmin-nb.toml`, or `host:port[,…]`, tried in
        that order. None is `$KADMIN_PROFILE` or the only profile.
    properties
        Java client properties on top.
    timeout
        The time limit in seconds of connecting and of each reading call; default: `default.api.timeout.ms` of the
        properties, which limits alters too, or 30.

    Raises
    ------
    ConnectionFailed, AuthenticationFailed, TimedOut, UsageError
        The message has the cause, within a second if the broker or the network reports one.

    Warns
    -----
    UserWarning
        The keys of properties that have no effect here.
    """
    from ..profiles import settings_for

    settings = settings_for(target, properties)
    if settings.ignored:
        warnings.warn(_NO_EFFECT.format(keys=", ".join(settings.ignored)), stacklevel=2)
    return Cluster(LiveKafka(settings, timeout), settings)


_NO_EFFECT = "these properties have no effect here: {keys}; docs/connections.md lists those that have one"


class Cluster:
    """A Kafka cluster. A context manager; closing it ends its connections, and so does forgetting it.

    What can still be applied or asked, such as a stage, a plan or an editor, keeps them.
    """

    def __init__(self, kafka: LiveKafka, settings: Settings) -> None:
        self.port = kafka
        """What plans ask of the cluster, `admin/ports.py`; for tests and for those who build on kadmin_nb."""
        self.settings = settings
        self.quotas = Quotas(kafka, weakref.ref(self))  # forgotten, it is to end its connections at once
        self.configs = Configs(kafka)

    @cached_property
    def scram(self) -> Scram:
        """The SCRAM credentials of users (KIP-554)."""
        from .users import Scram

        return Scram(self.port)

    @cached_property
    def client_configs(self) -> ClientConfigs:
        """Dynamic client configs (KIP-649), and the clients that follow them."""
        from ..client_configs.verbs import ClientConfigs

        return ClientConfigs(self.port)

    @cached_property
    def plans(self) -> Changes:
        """What is done with plans, besides applying them: approvals, rules, the log."""
        from .changing import Changes  # the rooms of plans open when something is first to be changed
        from .permissions import user_in_words
        from .policies import guard

        user, judge = partial(user_in_words, self.settings), partial(guard, self.port, self.settings)
        return Changes(self.port, user, judge, self.settings)  # who knows no Cluster keeps none

    @cached_property
    def stage(self) -> Stage:
        """The session's shared stage."""
        return self.new_stage()

    @property
    def id(self) -> str:
        """The cluster id."""
        return self.port.id

    @property
    def brokers(self) -> Answer:
        """The registered brokers, fenced ones included: `id`, `host`, `port`, `rack`, `is_fenced`."""
        rows = ({name: getattr(b, name) for name in schemas.BROKERS.names} for b in self.port.brokers())
        return Answer(stamped(schemas.table(schemas.BROKERS, rows), self.id))

    def users(self, *, user: object = ANY) -> UsersAnswer:
        """USERS: each user that has SCRAM credentials, quotas or ACLs, what it has, and orphans.

        If a source cannot be read, `.notes` says so and its columns are null.

        Parameters
        ----------
        user
            A name, `kn.Pattern("team-*")` or a list of them: only these.

        Raises
        ------
        NotAuthorized
            Nothing can be read: DESCRIBE and DESCRIBE_CONFIGS on the cluster are missing.
        """
        from .users import users

        return users(self.port, user)

    def new_stage(self) -> Stage:
        """A new, empty stage."""
        return self.plans.new_stage()

    def plan_from(
        self,
        declared: Declared | str | os.PathLike[str],
        *,
        prune: bool = False,
        any_cluster: bool = False,
        allow_unknown: Collection[str] = (),
        reason: str | None = None,
        again: bool = False,
    ) -> Plan:
        """The smallest plan that brings the cluster to what a file declares; without rows if nothing differs.

        Parameters
        ----------
        declared
            The name of a file, or the result of `kn.state.load`.
        prune
            Also remove what the file does not mention, of the kinds that it has.
        any_cluster
            Accept a file of another cluster.
        again
            Also send the configs of brokers' key stores and trust stores that are set as the file declares, as of
            `Stage.plan`.

        Raises
        ------
        WrongCluster, PlanRefused, UsageError, Invalid
            As of `Declared.difference`, and of `Stage.plan`.
        """
        from ..plans.plan import with_note
        from ..state import Declared, load

        wished = declared if isinstance(declared, Declared) else load(declared)
        wished.refuse_other_cluster(self.id, any_cluster=any_cluster)
        current = self.snapshot(wished.spoken_of)
        difference = wished.difference(
            current, prune=prune, any_cluster=any_cluster, allow_unknown=allow_unknown, again=again
        )
        if not difference:
            plan = self.plans.nothing(reason)
        else:
            stage = self.new_stage()
            stage.add(difference)
            with difference.placed():
                plan = stage.plan(reason, allow_unknown=allow_unknown)
        return with_note(plan, str(difference), author=plan.head.author, at=plan.head.created, kind="declared")

    @shows_options
    def apply(
        self,
        plan: Plan | str,
        options: ApplyOptions | None = None,
        *,
        progress: Progress = silent,
        stop: Stopped = never,
        **given: Any,
    ) -> Outcomes:
        """Apply a plan, and verify every change on every broker; one that was started here is continued.

        A journal (`$KADMIN_STATE/journal`) records what will be sent before it is sent, and the result. Ctrl-C stops
        between two requests. If the answer for a row is lost, the brokers are checked until they show it, or for
        `quiet_period`.

        Parameters
        ----------
        plan
            One that was started here may be given by its id, or the beginning of it: rows that the cluster has are
            verified, the others are sent.
        options
            An `ApplyOptions`; its fields may also be given, or changed, as keyword arguments.
        progress
            Called with an `Advance` now and then.
        stop
            Called between two requests; true stops there, as Ctrl-C does.

        Returns
        -------
        Outcomes
            A row for each change; `.raise_for_errors()` raises if one is not verified.

        Raises
        ------
        WrongCluster, Expired, Conflict, Dangerous, Locked, PlanRefused
            Nothing was sent.
        UsageError
            A dangerous plan without a reason; an allowed key that no row has. Nothing was sent.
        PartlyFailed
            The journal could no longer be written or was removed, or another editor took the lease while rows were
            sent; `.outcomes` has the result of each row.
        Interrupted
            Stopped by Ctrl-C or `stop`; `.outcomes` has the result so far.
        """
        return self.plans.apply(plan, with_arguments(options, given), progress, stop)

    def rollback(self, plan: Plan | str) -> Plan:
        """The plan that undoes what brokers show of another plan; `reason` counts what cannot be undone.

        It is an ordinary plan. A row that was changed since is left as it is: `warnings()` counts them.

        Raises
        ------
        NotFound, PlanRefused, Conflict
            There is no journal of it here; there is nothing to undo, or a request may still take effect (`UNSETTLED`);
            all that it sent was changed since.
        NotAuthorized, TimedOut, ConnectionFailed
            No broker could be asked.
        """
        return self.plans.rollback(plan)

    def permissions(self, changes: str | Plan | Iterable[Edit] = "") -> PermissionsAnswer:
        """PERMISSIONS: whether we have the rights to read and make these changes, and the line that grants each.

        The broker is asked to validate the changes, and makes none.

        Parameters
        ----------
        changes
            Lines as `stage.add` takes them, edits, or a plan that is to be applied, of which each right is asked
            for once. Without any: quotas and brokers' configs.
        """
        from .permissions import permissions

        wanted = self.new_stage().add(changes) if isinstance(changes, str) else changes
        return permissions(self.port, self.settings, wanted)

    def verify(
        self,
        plan: Plan,
        *,
        verify_timeout: float = VERIFY_TIMEOUT,
        progress: Progress = silent,
        stop: Stopped = never,
    ) -> Outcomes:
        """Check that every broker has the values of a plan; nothing is changed.

        It waits until every broker shows each row, and ends when no broker has shown a further one for
        `verify_timeout` seconds, or when `stop` is true or Ctrl-C is typed, with what is known by then.

        Rows that were sent from here, but not seen on every broker then, are noted in the journal when they are seen
        now, so that `rollback` undoes them too.
        """
        return self.plans.verify(plan, verify_timeout, progress, stop)

    def observe(
        self, seconds: float = 60.0, *, to_read: bool = False, progress: Progress = silent
    ) -> ObservationAnswer:
        """OBSERVED: switch on every broker's request log for a while.

        It sets `kafka.request.logger` to DEBUG, waits, and restores each level, after an error, Ctrl-C
        or SIGTERM too. If the process is killed, `doctor`, `why` and the next `observe` say what it left on, with
        the lines that switch it off. Brokers do not reveal where they write the log; for a local Kafka, `logs` has its
        files, including those that log4j rolled in the meantime, and `warnings` says if log4j has deleted some.

        Parameters
        ----------
        seconds
            1 to 3600. Each request is about a kilobyte of log.
        to_read
            For `.requests()` or `.top()` of the answer: refuse, before a logger is touched, where the log cannot be
            read from here; brokers that failed are among its `.failures`, as long as the log of one is there.
        progress
            Called with an `Advance` now and then.

        Raises
        ------
        NotKnowable
            `to_read`, and it is not known where the request logs are: only those of a local Kafka are.
        PlanRefused
            The brokers refuse it, this machine already observes this cluster (LOCKED), or one that was killed has left
            the logs on (LEFT_ON); nothing was sent.
        NotAuthorized
            DESCRIBE_CONFIGS on the cluster is missing.
        Interrupted
            Stopped by Ctrl-C; all levels are restored, and `.outcomes` is the answer.
        """
        from .observation import observe

        return observe(self.port, seconds, progress, to_read)

    def snapshot(self, kinds: Collection[str] | str | None = None) -> Snapshot:
        """All quotas, every config that is set on topics, groups, client-metrics, brokers and for all brokers, all
        dynamic client configs, and the mechanisms and iterations of all SCRAM users.

        `kn.open_history(where).record(…)` records it. It never has the value of a secret. It is not `complete` if a
        resource, or a whole part, could not be read: `unread` has these parts with their reasons, and
        `raise_for_errors()` raises the first. Before Kafka 4.1, topics that we have no right to see are missing, and
        all groups are.

        Parameters
        ----------
        kinds
            `quotas`, `configs`, `topic`, `broker`, `client-metrics`, `group`, `client-configs`, `credentials`:
            nothing else is asked for; default: all.

        Raises
        ------
        NotAuthorized, Invalid, TimedOut, Unsupported
            Nothing could be read: the reason of the first part.
        UsageError
            An unknown kind.
        """
        from ..plans.journal.store import journals
        from ..state.declaration import scopes_of
        from ..state.snapshot_kinds import SCOPES
        from ..state.taking import snapshot_of

        scopes = SCOPES if kinds is None else scopes_of([kinds] if isinstance(kinds, str) else kinds)
        return snapshot_of(self.port, scopes, partial(journals().applied, self.id))

    def diff(self, other: object, *, everything: bool = False, cluster_id: str | None = None) -> Diff:
        """DIFF from this cluster, side `a`, to another, a file, a snapshot or a time of a history; see `kn.diff`."""
        from .diff import diff

        return diff(self, other, everything=everything, cluster_id=cluster_id)

    def metrics(
        self,
        usage: object = None,
        *,
        most: int | None = None,
        textfile: str | os.PathLike[str] | None = None,
        assume_default: bool = False,
    ) -> str:
        """Metrics for Prometheus, as OpenMetrics: what one scrape of `kadmin-nb metrics` finds.

        Resolved limits, and how much of them is used and throttled by broker. A part
        that cannot be read is `kadmin_nb_part_success 0`, and nothing of it is there.

        Parameters
        ----------
        usage
            USAGE; only the last five minutes of it count.
        most
            The limits of each key that have series of their own, 1 to 150; default: 50. The others are one series.
        textfile
            Also write them to this file, whole or not at all, in the format that node_exporter's textfile collector
            reads; its name ends in `.prom`.
        assume_default
            As of `quotas.resolve`.

        Raises
        ------
        Unsupported
            prometheus_client is not installed.
        UsageError
            `most` is out of bounds.
        NotFound, Invalid
            The file cannot be written.

        Warns
        -----
        UserWarning
            The part that cannot be read, and why.

        Examples
        --------
        >>> cluster.metrics(textfile="/var/lib/prometheus/node-exporter/kadmin.prom")  # doctest: +SKIP
        """
        from .exporter import text_of_one_scrape

        return text_of_one_scrape(self, usage, most, textfile, assume_default)

    def close(self) -> None:
        """End the connections."""
        self.port.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except KadminError:
            if exc is None:
                raise

    def __repr__(self) -> str:
        return f"<Cluster {self.id} at {self.settings.bootstrap}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The cluster in a line of a notebook: `3 brokers, Kafka 4.4, 38 quotas`; without what cannot be read."""
        brokers, quotas = 0, ""
        with suppress(KadminError):
            brokers = len(self.port.brokers())
            quotas = counted_nouns(len(self.quotas.describe().raise_for_errors()), "quota", "quotas")
        printer.text(in_short(brokers, self.port.version, quotas, f"at {self.settings.bootstrap}"))
