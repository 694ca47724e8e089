"""The clients that a set of quotas can tell apart, for when nobody says which clients there are.

Whether a client is unlimited depends on its names only as far as quotas have them. So these few stand for all: each
stored pair; each named user with a client-id that no quota names, and without one; each named client-id of a user
that no quota names; and a client of which neither is named. A named user with a client-id that is named elsewhere is
left out: it is unlimited only where the last two are.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ..frames import schemas

_OTHER = "<any other>"


@dataclass(frozen=True)
class PossibleClients:
    """PAIRS that stand for all clients, and the name in them that stands for all that no quota names."""

    pairs: pa.Table
    other: str

    @classmethod
    def of(cls, quotas: pa.Table) -> PossibleClients:
        """The clients that these quotas tell apart."""
        users, clients = (_distinct_names(quotas, name) for name in ("user", "client_id"))
        other = _unused({*users, *clients})
        both = quotas.filter(pc.and_(pc.is_valid(quotas["user"]), pc.is_valid(quotas["client_id"])))
        pairs = {*zip(both["user"].to_pylist(), both["client_id"].to_pylist(), strict=True)}
        pairs |= {(user, client) for user in (*users, other) for client in (other, "")}
        pairs |= {(other, client) for client in clients}
        rows = sorted(pairs)
        columns = [pa.array([row[i] for row in rows], pa.string()) for i in (0, 1)]
        return cls(pa.table(columns, schema=schemas.PAIRS.schema), other)


def _distinct_names(quotas: pa.Table, column: str) -> list[str]:
    return [str(name) for name in pc.unique(quotas[column]).to_pylist() if name is not None]


def _unused(names: set[str]) -> str:
    """A name that none of them has."""
    name = _OTHER
    while name in names:
        name += "'"
    return name
