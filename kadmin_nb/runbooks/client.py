"""One client, as a runbook takes it on board or lets it go: what names it, what binds it, who shares with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.compute import field

from ..errors import UsageError
from ..frames import schemas
from ..frames.answer import Answer
from ..model.quota_keys import USER_CLIENT_KEYS
from ..resolution.kernel import resolve
from .frame_inputs import clients

LIMITS = USER_CLIENT_KEYS
"""The quotas that a user or client can have."""

NOBODY = "ANONYMOUS"
"""The name that brokers give to a user that did not log in."""

_BUCKET = ["key", "bucket_user", "bucket_client_id"]


@dataclass(frozen=True)
class Client:
    """A user, a client-id, or both; an empty text stands for any.

    Raises
    ------
    UsageError
        Neither is named.
    """

    user: str = ""
    client_id: str = ""

    def __post_init__(self) -> None:
        if not self.user and not self.client_id:
            raise UsageError("neither user nor client_id is given", hint="A client is named by one of them, or both.")

    @property
    def whom(self) -> dict[str, str]:
        """As `Stage.set_quota` takes it: names, which are nothing but names."""
        return {name: text for name, text in (("user", self.user), ("client_id", self.client_id)) if text}

    def bound_by(self, quotas: Any) -> Answer:
        """EFFECTIVE: what binds it, and what lost, by Kafka's own rules; a user that is not named is ANONYMOUS."""
        return Answer(resolve(quotas, self._pair(), overridden=True))

    def shares_with(self, quotas: Any, known: Any) -> Answer:
        """EFFECTIVE of those among the known clients who draw from the allowance of this one."""
        everybody = clients(pa.concat_tables([clients(known), clients(self._pair())]))
        table = _as_text(resolve(quotas, everybody))
        mine = (field("user") == (self.user or NOBODY)) & (field("client_id") == self.client_id)
        own_buckets = table.filter(mine & field("value").is_valid()).select(_BUCKET).to_pylist()
        return Answer(table.filter(~mine & reduce(or_, map(_is, own_buckets), pc.scalar(False))))

    def named_in(self, quotas: Any) -> Answer:
        """QUOTAS that name it, by its user or by its client-id."""
        return Answer(pa.table(quotas).filter(reduce(or_, [_is({name: text}) for name, text in self.whom.items()])))

    def removals(self, quotas: Any) -> pa.Table:
        """The entities that name it alone, as `Stage.set_quotas` removes it; quotas of named users are theirs."""
        is_own = _is(self.whom) if self.user else _is(self.whom) & field("user").is_null()
        table = pa.table(quotas).filter(is_own)
        return table.set_column(table.column_names.index("value"), "value", pa.nulls(len(table), pa.float64()))

    def _pair(self) -> pa.Table:
        return schemas.table(schemas.PAIRS, [{"user": self.user or NOBODY, "client_id": self.client_id}])


def _is(names: dict[str, str]) -> pc.Expression:
    return reduce(and_, (field(name) == text for name, text in names.items()))


def _as_text(table: pa.Table) -> pa.Table:
    """Words as plain strings: filters do not compare dictionaries."""
    kinds = (pa.string() if pa.types.is_dictionary(column.type) else column.type for column in table.schema)
    return table.cast(pa.schema([*zip(table.column_names, kinds, strict=True)]))
