"""Which ip quota binds connections from an address."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kadmin_nb.errors import Invalid, NotKnowable, UsageError
from kadmin_nb.frames import schemas
from kadmin_nb.model.entity import Entity
from kadmin_nb.resolution.kernel import resolve_ip
from tests.resolution.hierarchies import quotas_of

KEY = "connection_creation_rate"


def stored(**said: float) -> dict[tuple[Entity, str], float]:
    return {(Entity.parse(text), KEY): value for text, value in said.items()}


BOTH = stored(**{"ip=10.0.0.1": 5, "ip=::1": 6, "ip=gateway.example": 7, "ip=<default>": 8})
ASKED = ["10.0.0.1", "0:0:0:0:0:0:0:1", "gateway.example", "10.0.0.2", "::ffff:10.0.0.1", "10.0.0.1", "<default>"]


@pytest.mark.parametrize(
    ("quotas", "values"),
    [
        ({**BOTH, **stored(**{"user=alice": 1})}, [5, 6, 7, 8, 5, 5, 8]),
        ({}, [None] * 7),
        (stored(**{"ip=10.0.0.1": 5}), [5, None, None, None, 5, 5, None]),
    ],
)
def test_an_address_has_its_own_quota_else_the_default(quotas: dict, values: list) -> None:  # type: ignore[type-arg]
    table = resolve_ip(quotas_of(quotas), pa.table({"ip": ASKED}))
    assert table.schema.equals(schemas.EFFECTIVE_IP.schema)
    assert table.select(["ip", "value"]).to_pydict() == {"ip": ASKED, "value": values}


def test_the_address_counts_and_not_its_spelling() -> None:
    """::1 written out was shown as unlimited."""
    table = resolve_ip(quotas_of(BOTH), ASKED)
    assert table["value"].to_pylist() == [5, 6, 7, 8, 5, 5, 8]
    assert table["level"].to_pylist() == ["IP", "IP", "IP", "DEFAULT_IP", "IP", "IP", "DEFAULT_IP"]


def test_without_a_default_it_is_unlimited() -> None:
    (row,) = resolve_ip(quotas_of(stored(**{"ip=10.0.0.1": 5})), ["10.0.0.2"]).to_pylist()
    assert row == {"ip": "10.0.0.2", "key": KEY, "value": None, "level": None}


def test_two_spellings_of_one_address_cannot_be_known() -> None:
    quotas = stored(**{"ip=::1": 6, "ip=0:0:0:0:0:0:0:1": 7})
    with pytest.raises(NotKnowable, match="one address"):
        resolve_ip(quotas_of(quotas), ["::1"])
    assert resolve_ip(quotas_of(quotas), ["::2"])["value"].to_pylist() == [None]


def test_bad_input_is_named() -> None:
    quotas = quotas_of(BOTH)
    with pytest.raises(Invalid, match=r"ip=10\.0\.0\.1 is twice"):
        resolve_ip(pa.concat_tables([quotas, quotas]), ["::1"])
    with pytest.raises(Invalid, match="ip is null in row 1 of the ips"):
        resolve_ip(quotas, ["::1", None])
    with pytest.raises(UsageError, match="no column ip"):
        resolve_ip(quotas, pa.table({"address": ["::1"]}))
    with pytest.raises(UsageError, match="the ips have a cluster_id"):
        resolve_ip(quotas, pa.table({"ip": ["::1"], "cluster_id": ["c"]}))


def test_clusters_are_kept_apart() -> None:
    quotas = quotas_of(BOTH).append_column("cluster_id", pa.array(["a"] * 4))
    asked = pa.table({"ip": ["::1", "::1"], "cluster_id": ["b", "a"]})
    table = resolve_ip(quotas, asked)
    assert table.column_names == ["cluster_id", "ip", "key", "value", "level"]
    assert table["value"].to_pylist() == [None, 6]


def test_no_addresses() -> None:
    assert resolve_ip(quotas_of(BOTH), []).equals(schemas.EFFECTIVE_IP.empty())
