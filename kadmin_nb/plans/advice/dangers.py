"""Rows that weaken durability, security or everybody's limits, judged against what holds now; and their second word."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...admin.ports import Kafka
from ...errors import Dangerous, KadminError, UsageError
from ...frames import schemas
from ...frames.answer import Answer
from ...hints import Hint, sentence
from ...model.changes import CONFIG, Change
from ...model.changes import QUOTA as QUOTA_KIND
from ...model.quota_keys import nearest
from ...model.resources import Resource
from ..secret_resolver import Resolver
from . import REASON, Danger, allowing, lifted_quotas
from .config_dangers import LOGIN, QUOTA, DangerRule, rule_of
from .fallback import Values, fallback_values

if TYPE_CHECKING:
    from ..plan import Plan

_REMOTE_LOGINS = ("JndiLoginModule", "LdapLoginModule")
"""Login modules by which a broker can be made to load somebody's code (CVE-2023-25194, CVE-2025-27818)."""


def found(kafka: Kafka, changes: Sequence[Change], resolver: Resolver | None = None) -> tuple[Danger, ...]:
    """The dangers of these rows on the cluster as it is; most plans have none, and then nobody is asked.

    A row that the broker refuses changes nothing, and so has none.

    Parameters
    ----------
    resolver
        Looks secrets up, so that a login module in one can be named; the secret is not repeated.

    Raises
    ------
    NotAuthorized, TimedOut, ConnectionFailed
        What holds now could not be read.
    """
    changes = [change for change in changes if not change.is_refused]
    configs = [change for change in changes if not change.level and change.kind == CONFIG and _rule(change)]
    below = fallback_values(kafka, (c for c in configs if c.old_known and (c.old is None or c.after is None)))
    several = [*_of_configs(configs, below, resolver), *lifted_quotas.dangers(changes, kafka)]
    return tuple(sorted(several, key=lambda danger: danger.row))


def certain(changes: Iterable[Change]) -> tuple[Danger, ...]:
    """The dangers that the rows tell by themselves: both values are set, or the old one is hidden."""
    configs = (c for c in changes if c.kind == CONFIG and not c.is_refused and _rule(c))
    return tuple(_of_configs((c for c in configs if not c.old_known or None not in (c.old, c.after)), {}, None))


def _rule(change: Change) -> DangerRule | None:
    is_logger = isinstance(change.resource, Resource) and change.resource.type == "BROKER_LOGGER"
    return None if is_logger else rule_of(change.key)


def _of_configs(changes: Iterable[Change], below: Values, resolver: Resolver | None) -> Iterable[Danger]:
    for change in changes:
        rule = _rule(change)
        message = _weakening(change, rule, below.get(change.target, ())) if rule else None
        if rule and message:
            text = f"{message}: {rule.why}{_modules(change, rule, resolver)}"
            yield Danger(change.row, str(change.resource), change.key, rule.danger, text)


def _weakening(change: Change, rule: DangerRule, below: Collection[str | None]) -> str | None:
    """From what to what, where that is weaker or cannot be seen; nothing where it is not weaker."""
    if change.is_done:
        return None
    if change.is_secret or not change.old_known:
        return f"a value that is not shown {'is taken away' if change.after is None else 'is set or replaced'}"
    old, new = ([value] if value is not None else [*below] for value in (change.old, change.after))
    if not old or not new:
        return f"{_value_text(old)} becomes {_value_text(new)}"
    pairs = ((was, will) for was in old for will in new)
    worst = next(((was, will) for was, will in pairs if rule.weakens(was, will)), None)
    return f"{_value(worst[0])} becomes {_value(worst[1])}" if worst else None


def _value_text(values: Sequence[str | None]) -> str:
    return _value(values[0]) if values else "a value that cannot be seen"


def _value(text: str | None) -> str:
    return "nothing" if text is None else text or "empty"


def _modules(change: Change, rule: DangerRule, resolver: Resolver | None) -> str:
    """The login modules in a secret that load code from elsewhere, by name."""
    if rule.danger != LOGIN or change.after is None or resolver is None:
        return ""
    try:
        text = resolver(change.after).reveal()
    except KadminError:
        return ""
    modules = [module for module in _REMOTE_LOGINS if module in text]
    return f"; it has {' and '.join(modules)}, by which a broker can be made to run code from elsewhere" * bool(modules)


@dataclass(frozen=True)
class Gate:
    """What stands between a plan that was looked at again and its first request: dangers need their keys allowed."""

    kafka: Kafka
    plan: Plan
    resolver: Resolver
    allow: Collection[str] = ()
    before: Collection[str] = ()
    """What an earlier run of the plan was allowed."""

    def pass_(self, pending: Sequence[Change]) -> Mapping[str, object]:
        """What the journal shall say of the dangers among the rows that are to be sent.

        Raises
        ------
        Dangerous
            A row weakens something, and its key is not allowed. Nothing was sent.
        UsageError
            A key is allowed that the plan does not have; a dangerous plan without a reason.
        """
        if not pending:
            return {}
        dangers = found(self.kafka, self.plan.changes, self.resolver)
        _refuse_strange(self.allow, self.plan.changes, dangers)
        ahead = [*_ahead(dangers, pending)]
        _refuse_dangers([danger for danger in ahead if danger.key not in {*self.allow, *self.before}], self.plan)
        if ahead and not self.plan.reason:
            raise UsageError(
                "a dangerous plan needs a reason, which its journal keeps",
                hint=Hint("Nothing was sent.", sentence("Plan again with {}.", REASON)),
            )
        return {"allowed": sorted({d.key for d in ahead}), "reason": self.plan.reason} if ahead else {}


def _ahead(dangers: Iterable[Danger], pending: Sequence[Change]) -> Iterable[Danger]:
    """Those of rows that are to be sent; what quotas do to everyone, their rows do together."""
    rows, keys = {change.row for change in pending}, {change.key for change in pending if change.kind == QUOTA_KIND}
    return (d for d in dangers if d.row in rows or (d.danger == QUOTA and d.key in keys))


def _refuse_dangers(dangers: Sequence[Danger], plan: Plan) -> None:
    if not dangers:
        return
    more = f"; and {len(dangers) - 1:,} more" if len(dangers) > 1 else ""
    through = f"{{}} lets {'it' if len(dangers) == 1 else 'them'} through"
    allow = allowing(dangers)
    lifting = sentence(f"{through}.", allow) if plan.reason else sentence(f"{through}, with {{}}.", allow, REASON)
    error = Dangerous(f"{dangers[0]}{more}", code="DANGEROUS", hint=Hint("Nothing was sent.", lifting))
    error.rows = answer(dangers)
    raise error


def _refuse_strange(allow: Collection[str], changes: Iterable[Change], dangers: Sequence[Danger]) -> None:
    """An allowance of a key that no row has is a typo, or meant for another plan.

    One that a row has and does not need is let be: the second run of a job finds nothing dangerous any more.
    """
    if not allow:
        return
    keys = {change.key for change in changes}
    strange = next((key for key in allow if key not in keys), None)
    if strange is not None:
        dangerous_keys = list(dict.fromkeys(danger.key for danger in dangers))
        near = nearest(strange, dangerous_keys) or (dangerous_keys[0] if len(dangerous_keys) == 1 else None)
        instead = f"Did you mean {near}?" if near else f"Dangerous here: {', '.join(dangerous_keys) or 'nothing'}."
        raise UsageError(f"{strange} is allowed, and no row of the plan has it", hint=f"Nothing was sent. {instead}")


def answer(dangers: Iterable[Danger]) -> Answer:
    """DANGERS."""
    names = schemas.DANGERS.names
    return Answer(schemas.table(schemas.DANGERS, ({name: getattr(d, name) for name in names} for d in dangers)))
