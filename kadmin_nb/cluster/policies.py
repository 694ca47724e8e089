"""`kn.check`: rules on a live cluster, a snapshot, a plan or given frames, and the rules that every plan must keep."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pyarrow as pa

from ..client_configs.kafka import LiveKafka
from ..errors import UsageError
from ..frames.relational import each_once
from ..model.connection_settings import Settings
from ..model.grammar import ANY
from ..plans.plan import Plan
from ..policy import PolicyAnswer, Rule, rules_of
from ..policy.judging import findings
from ..policy.rule_frames import MADE_OF, ClusterFrames, GivenFrames
from ..policy.rule_functions import Given
from ..state.snapshot_kinds import CONFIGS
from ..state.snapshots import Snapshot
from ..state.taking import snapshot_of
from .resolving import notes_on_callbacks, pairs_of


def check(rules: Given | Iterable[Given], target: Any, *, on: Any = None, pairs: Any = None) -> PolicyAnswer:
    """POLICY: one row for each row that breaks a rule, and one for each rule that is kept or not known.

    Parameters
    ----------
    rules
        The file of a policy, a function, or several: they return the rows of frames that break them.
    target
        A cluster, a snapshot, or a plan: as if it were applied, beside what is broken without it. Or frames by the
        names of the rules' parameters, such as `{"quotas": …, "configs": …}` of a fleet in Spark.
    on
        The cluster or snapshot that a plan is judged on; default: the cluster that the plan is bound to.
    pairs
        The known clients, PAIRS or USAGE, for rules that take `effective`; default: all that quotas tell apart.

    Raises
    ------
    UsageError, NotFound
        A rule failed, takes something else than frames, or did not return rows: the error names its file and line.
    WrongCluster
        The plan was made for another cluster.

    Examples
    --------
    >>> kn.check("policies.py", cluster).raise_for_errors()  # doctest: +SKIP
    """
    chosen = rules_of(rules)
    if isinstance(target, Mapping):
        return PolicyAnswer(findings(chosen, GivenFrames(target)))
    plan = target if isinstance(target, Plan) else None
    place = target if plan is None else on if on is not None else getattr(plan, "_live", None)
    frames = _frames_of(place, chosen, pairs)
    if plan is None:
        return PolicyAnswer(findings(chosen, frames), frames.snapshot.cluster_id)
    return _of_plan(chosen, plan, frames)


def guard(
    kafka: LiveKafka, settings: Settings, plan: Plan, policy: Given | Iterable[Given] | None = None
) -> PolicyAnswer | None:
    """Refuse a plan that breaks a rule; see `Changes.guard`. Only rules about what it touches are judged."""
    rules = in_force(settings, policy)
    scopes = {change.resource.scope for change in plan.changes}
    touched = {"plan", *(frame for frame, kind in MADE_OF.items() if not scopes.isdisjoint(kind.scopes))}
    chosen = [rule for rule in rules if not touched.isdisjoint(rule.takes)]
    return _of_plan(chosen, plan, _of_live(kafka, chosen)).refuse(plan) if chosen and plan.changes else None


def in_force(settings: Settings, chosen: Given | Iterable[Given] | None = None) -> tuple[Rule, ...]:
    """The rules of the profile's policy, and those given, which add to them.

    Raises
    ------
    NotFound, UsageError
        One of them is not there, or is none: then nothing is allowed.
    """
    standing = rules_of(settings.policy) if settings.policy else ()
    return tuple({(rule.file, rule.line, rule.name): rule for rule in (*standing, *rules_of(chosen or ()))}.values())


def _of_plan(rules: Collection[Rule], plan: Plan, frames: ClusterFrames) -> PolicyAnswer:
    now, then = frames.after(plan)
    return PolicyAnswer(findings(rules, then, now), plan.cluster_id, about_plan=True)


def _frames_of(place: Any, rules: Collection[Rule], pairs: Any) -> ClusterFrames:
    clients = None if pairs is None else each_once(pairs_of(pairs).select(_PAIR), _PAIR)
    if isinstance(place, Snapshot):
        return ClusterFrames.of(place, clients)
    port = getattr(place, "port", None)
    if port is None:
        raise UsageError(
            "a cluster or a snapshot is required to check a plan" if place is None
            else f"rules cannot be checked on a {type(place).__name__}",
            hint="kn.check(rules, target): a cluster, a snapshot, a plan (on=cluster), or frames by name.",
        )  # fmt: skip
    return _of_live(port, rules, clients)


_PAIR = ["user", "client_id"]


def _of_live(kafka: LiveKafka, rules: Collection[Rule], clients: pa.Table | None = None) -> ClusterFrames:
    """The frames that these rules take; of quotas alone, whether a broker decides by a class of its own."""
    taken = {name for rule in rules for name in rule.takes}
    kinds = {MADE_OF[name] for name in taken if name in MADE_OF}
    snapshot = snapshot_of(kafka, [scope for kind in kinds for scope in kind.scopes])
    more: dict[str, Any] = {}
    if "effective" in taken and CONFIGS not in kinds:
        more["by_callback"] = bool(notes_on_callbacks(kafka))
    if "users" in taken:
        from .users import users

        answer = users(kafka, ANY)
        more["users"], more["users_unread"] = answer.to_arrow(), answer.unread
    return ClusterFrames.of(snapshot, clients, **more)
