"""Quotas, configs and SCRAM credentials on the wire: the describe and the alter of each kind of change.

Quotas by DescribeClientQuotas and AlterClientQuotas (KIP-546, APIs 48 and 49); configs by DescribeConfigs (32) and
IncrementalAlterConfigs (44), KIP-133 and KIP-339: the legacy AlterConfigs replaces everything it is not told, and
nothing here can send it. SCRAM by APIs 50 and 51 (KIP-554), over kafka-python's messages only: confluent-kafka's
describe ends the Python process when DESCRIBE on the cluster is missing, and a describe with null users is never
answered (broker-facts 0).
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from hashlib import pbkdf2_hmac
from itertools import islice
from struct import Struct
from typing import Any, TypeVar

import pyarrow as pa
from kafka.protocol.admin.client_quotas import (
    AlterClientQuotasRequest,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from kafka.protocol.admin.configs import (
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
)
from kafka.protocol.admin.users import AlterUserScramCredentialsRequest, DescribeUserScramCredentialsRequest
from kafka.protocol.api_header import RequestHeader

from ..errors import KadminError, Unsupported
from ..frames import schemas
from ..model import rights
from ..model.changes import Refusal
from ..model.entity import Entity
from ..model.resources import OPERATIONS, RESOURCE_TYPES, TYPE_NAMES, Resource, unknown
from ..model.scram import ScramUser
from ..secrets import Secret
from . import error_codes, quota_response
from .config_response import VERSION, ConfigEntries, Row
from .ports import Component, ConfigOperation, CredentialChange, Whose
from .wire import Wire, asked_together, understood

T = TypeVar("T")


def _answers(
    wishes: Iterable[Whose],
    answers: Iterable[Any],
    whose: Callable[[Any], Whose],
    doing: str,
    *,
    may_have_happened: bool,
) -> dict[Whose, Refusal | None]:
    """The broker's answer for each of these, matched by whose it is: answers come back in another order."""
    refusals = understood(
        lambda: {whose(one): error_codes.refusal(one.error_code, one.error_message) for one in answers},
        doing,
        may_have_happened=may_have_happened,
    )
    return {one: refusals.get(one, error_codes.UNNAMED) for one in wishes}


# -- quotas


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


class _RawDescribeConfigs(DescribeConfigsRequest, init=False):  # type: ignore[misc, call-arg]
    """DescribeConfigs version 4 whose answer stays bytes."""

    header_class = _RawHeader


class _RawAlter(AlterClientQuotasRequest, init=False):  # type: ignore[misc, call-arg]
    """AlterClientQuotas version 1 whose entries are bytes: kafka-python's objects of them take six times as long."""

    def encode(self, version: int | None = None, header: bool = True, framed: bool = True) -> bytes:
        """The request as a connection sends it, with its header and its size."""
        entries = _varint(len(self.entries) + 1) + b"".join(self.entries)
        request: bytes = self.encode_header(flexible=True) + entries + bytes((self.validate_only, 0))
        return len(request).to_bytes(4) + request


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
        doing = "describing quotas"
        frame = self._wire.ask(lambda: _quotas_request(components, strict), node=node, doing=doing, timeout=timeout)
        code, message, quotas = quota_response.decode(frame)
        error_codes.raise_for_error(code, message, doing, rights.to_describe())
        return quotas

    def describe_each(self, filters: Iterable[tuple[Sequence[Component], bool]]) -> list[pa.Table]:
        """QUOTAS for each filter, its components and whether it is strict; any brokers answer, side by side.

        Raises as `describe` does.
        """
        questions = [partial(self.describe, components, strict=strict) for components, strict in filters]
        return asked_together(questions, _TOGETHER)

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
            lambda: _RawAlter(
                entries=[_entry(*wish) for wish in wishes.items()], validate_only=validate_only, version=1
            ),
            doing=doing,
        )
        return _answers(wishes, answer.entries, _entity, doing, may_have_happened=not validate_only)


_TOGETHER = 4
"""Requests under way at a time: from five on, the library holds a connection back."""


def _quotas_request(components: Sequence[Component], strict: bool) -> _RawDescribe:
    kind = DescribeClientQuotasRequest.ComponentData
    parts = [kind(entity_type=c.entity_type, match_type=c.match, match=c.name) for c in components]
    return _RawDescribe(components=parts, strict=strict, version=1)


def _entry(entity: Entity, values: Mapping[str, float | None]) -> bytes:
    """The entry of an alter, as `_RawAlter` takes it."""
    parts = entity.wire()
    entry = _varint(len(parts) + 1)
    for kind, name in parts:
        entry += _word(kind) + _text(name) + b"\0"
    entry += _varint(len(values) + 1)
    for key, value in values.items():
        entry += _word(key) + _OPERATION.pack(value or 0.0, value is None)
    return entry + b"\0"


_OPERATION = Struct(">d?x")
"""A value, whether it is removed instead, and no tags."""


def _text(text: str | None) -> bytes:
    """A text before which its size stands, one more than its bytes; null is 0."""
    if text is None:
        return b"\0"
    encoded = text.encode()
    return _varint(len(encoded) + 1) + encoded


_word = lru_cache(_text)


def _varint(number: int) -> bytes:
    """A number in seven bits a byte, the lowest first."""
    if number < 128:
        return number.to_bytes()
    return (number & 127 | 128).to_bytes() + _varint(number >> 7)


def _entity(entry: Any) -> Entity:
    return Entity.from_wire((part.entity_type, part.entity_name) for part in entry.entity)


# -- configs

RESOURCES_A_CALL = 300
"""Resources in one describe: with all keys and synonyms about 2 MB of answer."""


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
        entries = ConfigEntries()
        deadline = None if timeout is None else time.monotonic() + timeout
        for target, batch in _batches(resources, node):
            request = partial(_configs_request, batch, keys, synonyms, documentation)
            seconds_left = None if deadline is None else max(0.05, deadline - time.monotonic())
            doing = f"describing {_configs(batch)}"
            try:
                frame = self._wire.ask(request, node=target, doing=doing, timeout=seconds_left)
                understood(partial(entries.add, frame, len(batch)), doing)
            except KadminError as exc:
                if target is None:
                    raise
                entries.add_failures(batch, _refusal(exc))
        return entries.table()

    def alter(
        self, wishes: Mapping[Resource, Sequence[ConfigOperation]], *, validate_only: bool = False
    ) -> dict[Resource, Refusal | None]:
        """The broker's answer for each resource; a resource fails or succeeds as a whole.

        REQUEST_TIMED_OUT is not an answer: unless `validate_only`, it may have happened.
        """
        verb, send = ("validating", self._wire.ask) if validate_only else ("altering", self._wire.tell)
        answers: dict[Resource, Refusal | None] = {}
        for target, batch in _batches(wishes, None):
            request, doing = _alter_request({r: wishes[r] for r in batch}, validate_only), f"{verb} {_configs(batch)}"
            try:
                said = send(request, node=target, doing=doing).responses
                answers |= _answers(batch, said, _resource, doing, may_have_happened=not validate_only)
            except KadminError as exc:
                answers |= dict.fromkeys(batch, _refusal(exc))
        return answers

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
        found = ((unknown(TYPE_NAMES, r.resource_type), r.resource_name) for r in answer.config_resources)
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


def _configs(batch: Sequence[Resource]) -> str:
    return f"configs of {batch[0]}" + (f" and {len(batch) - 1} more" if len(batch) > 1 else "")


def _refusal(exc: KadminError) -> Refusal:
    return Refusal(exc.code or "UNKNOWN_SERVER_ERROR", str(exc))


_NO_KEY = [""]
"""No keys at all, which on the wire would mean every key."""


def _configs_request(
    batch: Sequence[Resource], keys: Sequence[str] | None, synonyms: bool, documentation: bool
) -> _RawDescribeConfigs:
    kind = DescribeConfigsRequest.DescribeConfigsResource
    names = None if keys is None else list(keys) or _NO_KEY
    return _RawDescribeConfigs(
        resources=[
            kind(resource_type=RESOURCE_TYPES[r.type], resource_name=r.name, configuration_keys=names) for r in batch
        ],
        include_synonyms=synonyms,
        include_documentation=documentation,
        version=VERSION,
    )


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


def _resource(answer: Any) -> Resource:
    return Resource(unknown(TYPE_NAMES, answer.resource_type), answer.resource_name)


# -- SCRAM credentials

_MECHANISMS = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
_MECHANISM_NAMES = {number: name for name, (number, _) in _MECHANISMS.items()}
_OTHER = (0, "sha512")
"""A mechanism that Kafka does not have: the controller refuses it by its number."""

_SALT_BYTES = 24


class WireScram:
    """`ports.Scram` over a connection."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def describe(
        self, users: Iterable[ScramUser] = (), *, node: int | None = None, timeout: float | None = None
    ) -> pa.Table:
        """SCRAM of these users, of all when none is named; one that has none is a row with RESOURCE_NOT_FOUND.

        Raises
        ------
        NotAuthorized
            DESCRIBE on the cluster is missing.
        """
        kind, doing = DescribeUserScramCredentialsRequest.UserName, "describing SCRAM users"
        names = sorted({user.name for user in users})
        answer = self._wire.ask(
            lambda: DescribeUserScramCredentialsRequest(users=[kind(name=name) for name in names]),
            node=node,
            doing=doing,
            timeout=timeout,
        )
        error_codes.raise_for_error(answer.error_code, answer.error_message, doing, rights.on_cluster("DESCRIBE"))
        rows = understood(lambda: [row for result in answer.results for row in _of_user(result)], doing)
        return schemas.table(schemas.SCRAM, sorted(rows, key=lambda row: (row["user"], row.get("mechanism") or "")))

    def alter(
        self, wishes: Mapping[ScramUser, CredentialChange], *, validate_only: bool = False
    ) -> dict[ScramUser, Refusal | None]:
        """The broker's answer for each user. There is no validate-only: asked for it, nothing is sent or refused.

        Raises
        ------
        TimedOut
            No answer: it may have happened.
        """
        if validate_only:
            return dict.fromkeys(wishes)
        doing, request = "altering SCRAM users", _credentials_request(wishes)
        results = self._wire.tell(lambda: request, doing=doing).results
        return _answers(wishes, results, lambda one: ScramUser(one.user), doing, may_have_happened=True)


def _of_user(result: Any) -> Iterable[Row]:
    if refused := error_codes.refusal(result.error_code, result.error_message):
        yield {"user": result.user, "error": refused.code, "message": refused.message}
    for credential in result.credential_infos:
        name = _MECHANISM_NAMES.get(credential.mechanism, f"UNKNOWN_{credential.mechanism}")
        yield {"user": result.user, "mechanism": name, "iterations": credential.iterations}


def _credentials_request(wishes: Mapping[ScramUser, CredentialChange]) -> Any:
    """A password is salted and hashed here: it never leaves this machine."""
    kind = AlterUserScramCredentialsRequest
    deletions = [
        kind.ScramCredentialDeletion(name=user.name, mechanism=_MECHANISMS.get(change.mechanism, _OTHER)[0])
        for user, change in wishes.items()
        if change.password is None
    ]
    upsertions = [
        kind.ScramCredentialUpsertion(name=user.name, iterations=change.iterations, **_salted(change, change.password))
        for user, change in wishes.items()
        if change.password is not None
    ]
    return kind(deletions=deletions, upsertions=upsertions)


def _salted(change: CredentialChange, password: Secret) -> dict[str, object]:
    number, digest = _MECHANISMS.get(change.mechanism, _OTHER)
    salt = os.urandom(_SALT_BYTES)
    salted = pbkdf2_hmac(digest, password.reveal().encode(), salt, change.iterations)
    return {"mechanism": number, "salt": salt, "salted_password": salted}
