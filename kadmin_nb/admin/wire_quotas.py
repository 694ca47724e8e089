"""Client quotas on the wire: DescribeClientQuotas and AlterClientQuotas (KIP-546, APIs 48 and 49)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from kafka.protocol.admin.client_quotas import (
    AlterClientQuotasRequest,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from kafka.protocol.api_header import RequestHeader

from ..model import rights
from ..model.changes import Refusal
from ..model.entity import Entity
from . import error_codes, quota_response
from .ports import Component
from .wire import Wire, understood


class _Frame(bytes):
    """An answer as it came: kafka-python hands it over without decoding it."""

    @property
    def throttle_time_ms(self) -> int:
        """A method that kafka-python calls on every answer, to hold back a throttled connection."""
        return int.from_bytes(self[:4], "big", signed=True)


class _RawAnswer:
    """Stands where kafka-python looks for the answer's class, and keeps the bytes."""

    @staticmethod
    def parse_header(data: Any) -> Any:
        return DescribeClientQuotasResponse[1].parse_header(data)

    @staticmethod
    def decode(data: Any) -> _Frame:
        return _Frame(data.read())


class _RawHeader(RequestHeader, init=False):  # type: ignore[misc, call-arg]
    """A request's header that names our class for the answer."""

    def get_response_class(self) -> type[_RawAnswer]:
        return _RawAnswer


class _RawDescribe(DescribeClientQuotasRequest, init=False):  # type: ignore[misc, call-arg]
    """DescribeClientQuotas version 1 whose answer stays bytes."""

    header_class = _RawHeader


class WireQuotas:
    """`ports.Quotas` over a connection."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def describe(
        self,
        components: Sequence[Component] = (),
        *,
        strict: bool = False,
        node: int | None = None,
        timeout: float | None = None,
    ) -> pa.Table:
        """QUOTAS for the entities that match every component (KIP-546), one call of at most `timeout` seconds.

        Raises
        ------
        NotAuthorized
            DESCRIBE_CONFIGS on the cluster is missing.
        Invalid
            A filter that Kafka refuses, such as ip with user.
        """
        frame = self._wire.ask(lambda: _request(components, strict), node=node, doing=_DESCRIBING, timeout=timeout)
        return _decoded(frame)

    def describe_each(self, filters: Iterable[tuple[Sequence[Component], bool]]) -> list[pa.Table]:
        """QUOTAS for each filter, its components and whether it is strict; any brokers answer, side by side.

        Raises as `describe` does.
        """
        requests = [partial(_request, components, strict) for components, strict in filters]
        return [*map(_decoded, self._wire.ask_each(requests, doing=_DESCRIBING))]

    def alter(
        self, wishes: Mapping[Entity, Mapping[str, float | None]], *, validate_only: bool = False
    ) -> dict[Entity, Refusal | None]:
        """The broker's answer for each entity, matched by entity: answers come back in another order.

        The caller keeps within `ports.LARGEST_ALTER`.

        Raises
        ------
        TimedOut
            No answer; unless `validate_only`, it may have happened.
        """
        doing = "validating quotas" if validate_only else "altering quotas"
        send = self._wire.ask if validate_only else self._wire.tell
        answer = send(
            lambda: AlterClientQuotasRequest(
                entries=[_entry(*wish) for wish in wishes.items()], validate_only=validate_only
            ),
            doing=doing,
        )
        refusals = understood(lambda: _answers(answer), doing, may_have_happened=not validate_only)
        return {entity: refusals.get(entity, error_codes.UNNAMED) for entity in wishes}


_DESCRIBING = "describing quotas"


def _decoded(frame: _Frame) -> pa.Table:
    """QUOTAS of an answer, or its error."""
    answer = quota_response.decode(frame)
    error_codes.raise_for_error(answer.error_code, answer.error_message, _DESCRIBING, rights.to_describe())
    return quota_response.table(answer)


def _request(components: Sequence[Component], strict: bool) -> _RawDescribe:
    kind = DescribeClientQuotasRequest.ComponentData
    parts = [kind(entity_type=c.entity_type, match_type=c.match, match=c.name) for c in components]
    return _RawDescribe(components=parts, strict=strict, version=1)


def _entry(entity: Entity, values: Mapping[str, float | None]) -> Any:
    kind = AlterClientQuotasRequest.EntryData
    parts = [kind.EntityData(entity_type=t, entity_name=n) for t, n in entity.wire()]
    ops = [kind.OpData(key=k, value=v or 0.0, remove=v is None) for k, v in values.items()]
    return kind(entity=parts, ops=ops)


def _answers(answer: Any) -> dict[Entity, Refusal | None]:
    return {_entity(entry): error_codes.refusal(entry.error_code, entry.error_message) for entry in answer.entries}


def _entity(entry: Any) -> Entity:
    return Entity.from_wire((part.entity_type, part.entity_name) for part in entry.entity)
