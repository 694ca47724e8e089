"""Dynamic client configs as a kind of change (KIP-649): all of a plan's rows are made in one transaction, or none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, cast

from ...admin.ports import LONGEST_TRANSACTION, ClientConfigs, Kafka, Signature
from ...frames.schemas import TOPIC_MISSING, mark
from ...model.changes import SET, Change, Edit, Fallback, Refusal, Target, given_key
from ...model.client_configs import ACKS, CONFIGS_TOPIC, ClientEntity, Replacement
from ...model.configurable import Configurable
from ...model.findings import WARNING, Finding
from ...secrets import Secret
from ..advice import config_dangers
from ..change_words import USER_CONFIG_VERBS, client_config_edit, user_edits
from ..observed_state import LookOptions, ObservedState, ObservedValue
from .change_kind import ChangeKind, FrameRow, is_null


class ClientConfigChanges(ChangeKind):
    """Dynamic client configs: texts on users and their client-ids, in a topic that every broker leads to."""

    resources = ClientEntity
    verbs: ClassVar = {op: verb for verb, op in USER_CONFIG_VERBS.items()}
    columns_beside = ("entity", "user", "client_id")
    judge = "kadmin_nb"  # no broker knows these keys
    is_atomic = True
    tool_deletes_absent = False
    longest_doubt = LONGEST_TRANSACTION

    def line_edits(self, verb: str, words: Sequence[str], allow_unknown: Collection[str]) -> list[Edit]:
        return user_edits(verb, words)

    def row_edit(self, row: FrameRow) -> Edit:
        entity, value = ClientEntity.parse(str(row.get("entity") or row["resource"])), row["value"]
        return client_config_edit(SET, entity, given_key(row["key"]), None if is_null(value) else str(value))

    def read(self, kafka: Kafka, targets: Collection[Target], state: ObservedState, look: LookOptions) -> None:
        users = {_client_entity(resource).user for resource, _ in targets}
        for row in kafka.client_configs.describe(users, node=look.node, timeout=look.time_left()).to_pylist():
            state.values[ClientEntity(row["user"], row["client_id"]), row["key"]] = ObservedValue(row["value"])

    def fallback(self, change: Change, state: ObservedState) -> Fallback:
        user = ClientEntity(_client_entity(change.resource).user, None)
        of_user = state.of((user, change.key)).value if user != change.resource else None
        return Fallback("the clients' own") if of_user is None else Fallback(of_user, str(user))

    def port(self, kafka: Kafka) -> ClientConfigs:
        return kafka.client_configs

    def wish(self, changes: Sequence[Change], secrets: Mapping[str, Secret]) -> dict[str, Replacement]:
        return {change.key: Replacement(change.old, change.after) for change in changes}

    def alter(self, kafka: Kafka, signature: Signature) -> Callable[..., dict[Any, Refusal | None]]:
        """All changes are one transaction, whose entries show the signature."""
        return partial(self.port(kafka).alter, signature=signature)

    def read_for_dangers(self, kafka: Kafka, changes: Sequence[Change], state: ObservedState) -> None:
        if of_acks := [change.target for change in changes if change.key == ACKS and not change.is_same]:
            self.read(kafka, of_acks, state, LookOptions())

    def dangers(self, changes: Sequence[Change], state: ObservedState) -> Iterable[Finding]:
        return config_dangers.acks_dangers(changes, state)

    def read_for_warnings(self, kafka: Kafka, changes: Sequence[Change], state: ObservedState) -> None:
        state.lacks_client_configs = mark(kafka.client_configs.describe(()), TOPIC_MISSING) is not None

    def warnings(self, changes: Sequence[Change], state: ObservedState) -> Iterable[Finding]:
        if state.lacks_client_configs:
            text = f"the topic {CONFIGS_TOPIC} does not exist, so no client follows it: applying the plan creates it"
            yield Finding.about(changes[0], WARNING, "topic", text)


def _client_entity(resource: Configurable) -> ClientEntity:
    return cast(ClientEntity, resource)


CLIENT_CONFIGS = ClientConfigChanges()
