"""`connect()` and `Cluster`: the only place that wires ports, plans and frames together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..admin.kafka import WireKafka
from ..errors import KadminError
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.stamps import stamped
from ..model.settings import Settings
from ..plans import VERIFY_TIMEOUT
from .configs import Configs
from .quotas import Quotas

if TYPE_CHECKING:
    from ..plans.executor import Progress
    from ..plans.outcomes import Outcomes
    from ..plans.plan import Plan
    from ..plans.stage import Stage
    from .changes import Changes

__all__ = ["Cluster", "connect"]


def connect(
    target: str | None = None, *, properties: Mapping[str, str] | None = None, timeout: float = 30.0
) -> Cluster:
    """Reach a cluster.

    Parameters
    ----------
    target
        A path to a Java client `.properties` file, a profile of `kadmin-nb.toml`, or `host:port[,…]`, tried in
        that order. None is `$KADMIN_PROFILE` or the only profile.
    properties
        Java client properties on top.
    timeout
        Seconds that connecting, and each reading call, may take.

    Raises
    ------
    ConnectionFailed, AuthenticationFailed, TimedOut, UsageError
        With the cause named, within a second where the broker or the network names one.
    """
    from ..profiles import settings_for

    settings = settings_for(target, properties)
    return Cluster(WireKafka(settings, timeout), settings)


class Cluster:
    """A Kafka cluster. A context manager; closing it ends its connections."""

    def __init__(self, kafka: WireKafka, settings: Settings) -> None:
        self._kafka = kafka
        self.settings = settings
        self.quotas = Quotas(kafka)
        self.configs = Configs(kafka)

    @cached_property
    def _changes(self) -> Changes:
        """The rooms of plans open when something is first to be changed."""
        from .changes import Changes

        return Changes(self._kafka)

    @cached_property
    def tray(self) -> Stage:
        """The session's shared stage."""
        return self.stage()

    @property
    def id(self) -> str:
        """The cluster id."""
        return self._kafka.id

    @property
    def brokers(self) -> Answer:
        """The registered brokers, fenced ones included: `id`, `host`, `port`, `rack`, `is_fenced`."""
        rows = ({name: getattr(b, name) for name in schemas.BROKERS.names} for b in self._kafka.brokers())
        return Answer(stamped(schemas.table(schemas.BROKERS, rows), self.id))

    def stage(self) -> Stage:
        """A new, empty stage; `tray` is the session's shared one."""
        return self._changes.stage()

    def apply(
        self,
        plan: Plan,
        *,
        verify_timeout: float = VERIFY_TIMEOUT,
        progress: Progress | None = None,
    ) -> Outcomes:
        """Carry out a plan and read every change back from every broker.

        Returns
        -------
        Outcomes
            A row a change; `.raise_for_errors()` raises when any is not verified.

        Raises
        ------
        WrongCluster, Conflict, PlanRefused
            Nothing was sent.
        """
        return self._changes.apply(plan, verify_timeout=verify_timeout, progress=progress)

    def verify(self, plan: Plan, *, verify_timeout: float = VERIFY_TIMEOUT) -> Outcomes:
        """Ask every broker whether it holds what the plan wanted; nothing is sent."""
        return self._changes.verify(plan, verify_timeout=verify_timeout)

    def close(self) -> None:
        """End the connections."""
        self._kafka.close()

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
