"""Configs on the wire: DescribeConfigs (32) and IncrementalAlterConfigs (44), KIP-133 and KIP-339.

The legacy AlterConfigs replaces everything it is not told; nothing here can send it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

import pyarrow as pa
from kafka.protocol.admin.configs import (
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
)

from ..errors import KadminError, TimedOut, Unsupported
from ..frames import schemas
from ..model import rights
from ..model.changes import Refusal
from ..model.resources import OPERATIONS, RESOURCE_TYPES, SOURCES, VALUE_TYPES, Resource, Source, unknown
from . import error_codes
from .ports import ConfigOperation
from .wire import Wire, understood

RESOURCES_A_CALL = 300
"""Resources in one describe: with all keys and synonyms about 2 MB of answer."""

_TYPE_NAMES = {number: name for name, number in RESOURCE_TYPES.items()}
T = TypeVar("T")
ConfigRow = dict[str, object]


class WireConfigs:
    """`ports.Configs` over a connection."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def describe(
        self,
        resources: Iterable[Resource],
        keys: Sequence[str] | None = None,
        *,
        synonyms: bool = True,
        documentation: bool = False,
        node: int | None = None,
        timeout: float | None = None,
    ) -> pa.Table:
        """CONFIGS of these resources; one that failed is one row with a null key and its error.

        Broker resources are asked of their broker. A broker that cannot be reached is a failed resource.
        All calls together take at most `timeout` seconds, each the connection's own unless said.
        """
        rows: list[ConfigRow] = []
        deadline = None if timeout is None else time.monotonic() + timeout
        for target, batch in _batches(resources, node):
            request = _describe_request(batch, keys, synonyms, documentation)
            rows += self._rows(batch, request, target, deadline)
        rows.sort(key=lambda row: (row["resource_type"], row["resource_name"], row.get("key") or ""))
        return schemas.table(schemas.CONFIGS, rows)

    def _rows(
        self, batch: Sequence[Resource], request: Callable[[], Any], node: int | None, deadline: float | None
    ) -> list[ConfigRow]:
        seconds_left = None if deadline is None else max(0.05, deadline - time.monotonic())
        doing = f"describing configs of {_batch_text(batch)}"
        try:
            answer = self._wire.ask(request, node=node, doing=doing, timeout=seconds_left)
            return understood(lambda: _described(answer.results, len(batch)), doing)
        except KadminError as exc:
            if node is None:
                raise
            return [_failed(r, Refusal(exc.code or "UNKNOWN_SERVER_ERROR", str(exc))) for r in batch]

    def alter(
        self, wishes: Mapping[Resource, Sequence[ConfigOperation]], *, validate_only: bool = False
    ) -> dict[Resource, Refusal | None]:
        """The broker's answer for each resource; a resource fails or succeeds as a whole.

        REQUEST_TIMED_OUT is not an answer: unless `validate_only`, it may have happened.
        """
        answers: dict[Resource, Refusal | None] = {}
        for target, batch in _batches(wishes, None):
            request = _alter_request({r: wishes[r] for r in batch}, validate_only)
            answers |= self._altered(batch, request, target, validate_only)
        return answers

    def _altered(
        self, batch: Sequence[Resource], request: Callable[[], Any], node: int | None, validate_only: bool
    ) -> dict[Resource, Refusal | None]:
        doing = f"{'validating' if validate_only else 'altering'} configs of {_batch_text(batch)}"
        send = self._wire.ask if validate_only else self._wire.tell
        try:
            answer = send(request, node=node, doing=doing)
            refusals = understood(lambda: _answers(answer), doing, may_have_happened=not validate_only)
        except TimedOut as exc:
            return dict.fromkeys(batch, Refusal("REQUEST_TIMED_OUT", str(exc)))
        except KadminError as exc:
            return dict.fromkeys(batch, Refusal(exc.code or "UNKNOWN_SERVER_ERROR", str(exc)))
        return {resource: refusals.get(resource, error_codes.UNNAMED) for resource in batch}

    def resources(self, kinds: Iterable[str]) -> list[Resource]:
        """The resources of these types that the cluster knows (KIP-1142, API 74).

        Raises
        ------
        NotAuthorized
            DESCRIBE_CONFIGS on the cluster is missing.
        Unsupported
            Another type than CLIENT_METRICS on Kafka before 4.1, which ignores the types it is asked for.
        """
        type_codes = {kind: RESOURCE_TYPES[kind] for kind in kinds}
        answer = self._wire.ask(
            lambda: ListConfigResourcesRequest(resource_types=list(type_codes.values())),
            doing="listing config resources",
        )
        error_codes.raise_for_error(answer.error_code, None, "listing config resources", rights.to_describe())
        if answer.API_VERSION == 0 and set(type_codes) != {"CLIENT_METRICS"}:
            raise Unsupported(
                "this broker can only list client-metrics",
                code="UNSUPPORTED_VERSION",
                hint="Name the resources, or use Kafka 4.1 or later.",
            )
        found = ((unknown(_TYPE_NAMES, r.resource_type), r.resource_name) for r in answer.config_resources)
        return sorted((Resource(kind, name) for kind, name in found), key=str)


def _batches(resources: Iterable[Resource], node: int | None) -> Iterable[tuple[int | None, list[Resource]]]:
    """The resources in calls: each to the broker that can answer it, in handy sizes."""
    by_node: dict[int | None, list[Resource]] = defaultdict(list)
    for resource in dict.fromkeys(resources):
        by_node[resource.broker if resource.broker is not None else node].append(resource)
    for target, batch in by_node.items():
        yield from ((target, part) for part in chunks(batch, RESOURCES_A_CALL))


def chunks(items: Iterable[T], size: int) -> Iterable[list[T]]:
    """The items in lists of at most `size`."""
    remaining = iter(items)
    while part := list(islice(remaining, size)):
        yield part


def _batch_text(batch: Sequence[Resource]) -> str:
    return str(batch[0]) + (f" and {len(batch) - 1} more" if len(batch) > 1 else "")


_NO_KEY = [""]
"""No keys at all, which on the wire would mean every key."""


def _describe_request(
    batch: Sequence[Resource], keys: Sequence[str] | None, synonyms: bool, documentation: bool
) -> Callable[[], Any]:
    kind = DescribeConfigsRequest.DescribeConfigsResource
    names = None if keys is None else list(keys) or _NO_KEY
    return lambda: DescribeConfigsRequest(
        resources=[
            kind(resource_type=RESOURCE_TYPES[r.type], resource_name=r.name, configuration_keys=names) for r in batch
        ],
        include_synonyms=synonyms,
        include_documentation=documentation,
    )


def _described(results: Sequence[Any], expected: int) -> list[ConfigRow]:
    """A broker answers for every resource: one that it passes over must not look like one without settings."""
    if len(results) != expected:
        raise ValueError(f"{len(results)} answers to {expected} questions")
    rows: list[ConfigRow] = []
    for result in results:
        resource = _resource(result)
        if refused := error_codes.refusal(result.error_code, result.error_message):
            is_too_old = resource.type == "GROUP" and refused.code == "INVALID_REQUEST"
            rows.append(_failed(resource, _NO_GROUP_CONFIGS if is_too_old else refused))
        else:
            rows += [_config_row(resource, entry) for entry in result.configs]
    return rows


_NO_GROUP_CONFIGS = Refusal("UNSUPPORTED_VERSION", "this broker has no configs of groups: Kafka 4.0 and later have")
"""An older broker calls the request malformed."""


def _failed(resource: Resource, refused: Refusal) -> ConfigRow:
    return {
        "resource_type": resource.type,
        "resource_name": resource.name,
        "error": refused.code,
        "message": refused.message,
    }


def _config_row(resource: Resource, entry: Any) -> ConfigRow:
    source = unknown(SOURCES, entry.config_source)
    return {
        "resource_type": resource.type,
        "resource_name": resource.name,
        "key": entry.name,
        "value": entry.value,
        "source": source,
        "is_sensitive": entry.is_sensitive,
        "is_read_only": entry.read_only,
        "is_default": source == Source.BUILT_IN,
        "type": unknown(VALUE_TYPES, entry.config_type) if entry.config_type else None,
        "synonyms": [{"source": unknown(SOURCES, s.source), "key": s.name, "value": s.value} for s in entry.synonyms],
        "documentation": entry.documentation,
    }


def _alter_request(changes: Mapping[Resource, Sequence[ConfigOperation]], validate_only: bool) -> Callable[[], Any]:
    kind = IncrementalAlterConfigsRequest.AlterConfigsResource
    return lambda: IncrementalAlterConfigsRequest(
        resources=[
            kind(
                resource_type=RESOURCE_TYPES[resource.type],
                resource_name=resource.name,
                configs=[
                    kind.AlterableConfig(name=o.key, config_operation=OPERATIONS[o.op], value=o.text) for o in ops
                ],
            )
            for resource, ops in changes.items()
        ],
        validate_only=validate_only,
    )


def _answers(answer: Any) -> dict[Resource, Refusal | None]:
    return {_resource(r): error_codes.refusal(r.error_code, r.error_message) for r in answer.responses}


def _resource(answer: Any) -> Resource:
    return Resource(unknown(_TYPE_NAMES, answer.resource_type), answer.resource_name)
