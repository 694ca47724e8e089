"""Configs of topics, brokers, loggers, groups and client-metrics as a kind of change (KIP-339)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import ClassVar, cast

from ...admin.ports import ConfigOperation, Configs, Kafka
from ...errors import UsageError
from ...frames.given_frames import cell_text
from ...frames.meanings import word
from ...model.changes import APPEND, DELETE, SET, SUBTRACT, Change, Edit, Fallback, Target, given_key
from ...model.config_values import behind_listener, near_key
from ...model.configurable import Configurable
from ...model.findings import Finding
from ...model.grammar import DEFAULT
from ...model.resources import RESOURCE_TYPES, THROTTLE_RATES, WORDS, Resource
from ...secrets import Secret, is_secret_name
from ..advice import config_dangers
from ..change_words import CONFIG_VERBS, config_edits
from ..observed_state import LookOptions, ObservedState, ObservedValue, add_configs, append, subtract
from .change_kind import ChangeKind, FrameRow, is_null

ROOT_LOGGER = "root"
_LOGGER = "BROKER_LOGGER"
_WORD_OF = {kind: word for word, kind in WORDS.items()}


class ConfigChanges(ChangeKind):
    """Configs: texts on resources, lists among them; some are secrets, and some are seen on one broker alone."""

    resources = Resource
    verbs: ClassVar = {op: verb for verb, op in CONFIG_VERBS.items()}
    words: ClassVar = tuple(WORDS)
    columns = ("resource_type", "resource_name", "key", "value")
    columns_beside = ("is_sensitive", "error", "message")

    def line_edits(self, verb: str, words: Sequence[str], allow_unknown: Collection[str]) -> list[Edit]:
        return config_edits(verb, words)

    def row_edit(self, row: FrameRow) -> Edit:
        """The edit of a row. A secret without its value is refused: its null does not ask to remove it."""
        resource = _row_resource(row)
        if row.get("error"):
            raise UsageError(
                f"{resource} was not read: {row['error']}{': ' * bool(row.get('message'))}{row.get('message') or ''}",
                hint="Nothing was staged. Leave out the rows that have an error.",
            )
        key = given_key(row["key"])
        if not is_null(row["value"]):
            return Edit(SET, resource, key, value_text(key, row["value"]))
        is_sensitive = row.get("is_sensitive")  # the broker's word; without it, whether the key is called so
        if is_secret_name(key) if is_sensitive is None else is_sensitive:
            raise UsageError(
                f"{resource} {key} is a secret, and brokers do not show its value: its null does not remove it",
                hint="Nothing was staged. Leave out the rows that are sensitive; reset_config removes a secret.",
            )
        return Edit(DELETE, resource, key)

    def read(self, kafka: Kafka, targets: Collection[Target], state: ObservedState, look: LookOptions) -> None:
        add_configs(state, kafka, [(_resource(resource), key) for resource, key in targets], look)

    def may_be_secret(self, resource: Configurable) -> bool:
        return not _is_logger(resource)

    def is_secret(self, edit: Edit, state: ObservedState) -> bool:
        """A PASSWORD, or a key of a broker that the broker does not know."""
        if edit.value is None or _is_logger(edit.resource) or edit.key in THROTTLE_RATES:
            return False
        schema = _schema(edit, state)
        if schema is None:
            return _resource(edit.resource).type == "BROKER" or is_secret_name(edit.key)
        return schema.is_sensitive or schema.type == "PASSWORD" or (schema.type is None and is_secret_name(edit.key))

    def known_keys(self, edit: Edit, state: ObservedState) -> Sequence[str] | None:
        """Kafka stores unknown broker keys, and removes any, without a word.

        It refuses all others, and says which; one whose name is that of a secret does not get so far in the clear.
        """
        is_shown = edit.reference is not None or not is_secret_name(edit.key) or _is_logger(edit.resource)
        if _resource(edit.resource).type != "BROKER" and edit.op != DELETE and is_shown:
            return None
        return None if _is_listed(edit, state) else sorted(state.listed.get(edit.resource, ()))

    def meant_key(self, edit: Edit, state: ObservedState) -> str | None:
        if edit.op == DELETE or _is_listed(edit, state):
            return None
        return near_key(_resource(edit.resource).type, edit.key, state.listed.get(edit.resource, ()))

    def after(self, edit: Edit, state: ObservedState) -> str | None:
        """The resulting list of an append. A logger has always a level: reset, it has the root's."""
        if edit.op in (APPEND, SUBTRACT):
            join = append if edit.op == APPEND else subtract
            now = state.of(edit.target)
            return join(now.base if now.value is None else now.value, edit.text or "")
        if edit.op == DELETE and _is_logger(edit.resource):
            return state.of((edit.resource, ROOT_LOGGER)).value
        return edit.text

    def fallback(self, change: Change, state: ObservedState) -> Fallback | None:
        now = state.of(change.target)
        if _resource(change.resource).is_default_broker:
            return Fallback("each broker's own")
        if now.inherited is not None:
            return Fallback(now.inherited, word(now.inherited_from))
        below = [text for text in state.below.get(change.target, ()) if text is not None]
        return Fallback(below[0]) if len(below) == 1 else None

    def waves(self, changes: Sequence[Change]) -> list[list[Change]]:
        return _shielded(changes)

    def port(self, kafka: Kafka) -> Configs:
        return kafka.configs

    def wish(self, changes: Sequence[Change], secrets: Mapping[str, Secret]) -> list[ConfigOperation]:
        return [ConfigOperation(c.op, c.key, secrets.get(c.wanted or "") if c.is_secret else c.wanted) for c in changes]

    def read_for_dangers(self, kafka: Kafka, changes: Sequence[Change], state: ObservedState) -> None:
        config_dangers.add_facts(state, kafka, changes)

    def dangers(self, changes: Sequence[Change], state: ObservedState) -> Iterable[Finding]:
        return config_dangers.dangers(changes, state)


def value_text(key: str, value: object) -> str:
    """The value of a config as the text that the broker takes.

    Raises
    ------
    UsageError
        None, or what is neither a text nor a number nor a list of these.
    """
    if value is None:
        raise UsageError(f"{key} has no value", hint="To let its fallback apply, reset it.")
    try:
        return cell_text(value)
    except (TypeError, ValueError):  # the latter of a number with more digits than Python writes
        raise UsageError(f"the value of {key} is of type {type(value).__name__}, not a text or a number") from None


def _row_resource(row: FrameRow) -> Resource:
    kind, name = row["resource_type"], row["resource_name"]
    if kind not in _WORD_OF:
        raise UsageError(f"{kind} is not a type of config resource", hint=f"It is one of {', '.join(RESOURCE_TYPES)}.")
    resource = Resource.of(_WORD_OF[kind], DEFAULT if (kind, name) == ("BROKER", "") else name)
    _ = resource.broker  # refuses a broker that is not a number
    return resource


def _resource(resource: Configurable) -> Resource:
    return cast(Resource, resource)


def _is_logger(resource: Configurable) -> bool:
    return _resource(resource).type == _LOGGER


def _schema(edit: Edit, state: ObservedState) -> ObservedValue | None:
    """The config of the key, or of the key behind its listener."""
    return state.values.get(edit.target) or state.values.get((edit.resource, _plain_key(edit) or ""))


def _is_listed(edit: Edit, state: ObservedState) -> bool:
    """True if the key, or the key without `listener.name.<x>.` and a mechanism, is one the resource lists."""
    listed_keys = state.listed.get(edit.resource, ())
    if edit.key in THROTTLE_RATES and _resource(edit.resource).type == "BROKER":
        return True
    return edit.key in listed_keys or _plain_key(edit) in listed_keys


def _plain_key(edit: Edit) -> str | None:
    """The key of a broker without `listener.name.<x>.` and a mechanism."""
    return behind_listener(edit.key) if _resource(edit.resource).type == "BROKER" else None


CONFIGS = ConfigChanges()


def _shielded(changes: Sequence[Change]) -> list[list[Change]]:
    """Shields up; the cluster-wide default; shields down. Without the default nothing needs a shield.

    What shields from the cluster-wide broker default goes up before that default moves, and comes down after it. The
    keys of one resource are checked together by the broker, so they stay together, but for a removal of a key that the
    default changes too.
    """
    default = [change for change in changes if _resource(change.resource).is_default_broker]
    shields = [change for change in changes if not _resource(change.resource).is_default_broker]
    if not default:
        return [shields] if shields else []
    # removals come down last: those of keys that the default changes too, and of resources of which no key stays
    moved_keys = {change.key for change in default}
    still_set = {change.resource for change in shields if change.op != DELETE}
    up: list[Change] = []
    down: list[Change] = []
    for change in shields:
        is_late = change.op == DELETE and (change.key in moved_keys or change.resource not in still_set)
        (down if is_late else up).append(change)
    return [wave for wave in (up, default, down) if wave]
