"""The words of one change, of a quota or a config, as edits: what a `set` says, with its slips named."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from ..errors import UsageError
from ..hints import Hint, Option, did_you_mean, nearest, sentence
from ..model.changes import APPEND, DELETE, SET, SUBTRACT, Edit
from ..model.config_units import stored_text
from ..model.entity import TYPES, Entity, entity_type, named
from ..model.grammar import Lookup, Word, nothing_right_of, parse_word
from ..model.levels import Part
from ..model.quota_keys import IP_KEYS, USER_CLIENT_KEYS, find, parse_value, text_of
from ..model.resources import WORDS, Resource
from ..model.scram import Credential, ScramUser, mechanism_of
from ..secrets import SCRAM, is_credential, mentions_secret

QUOTA_VERBS = {"set": SET, "remove": DELETE}
CONFIG_VERBS = {"set": SET, "reset": DELETE, "append": APPEND, "subtract": SUBTRACT}
SCRAM_VERBS = {"set": SET, "delete": DELETE}
QUOTA_KEY_NAMES = (*USER_CLIENT_KEYS, *IP_KEYS)


def quota_edits(
    verb: str, words: Sequence[str], lookup: Lookup | None = None, allow_unknown: Collection[str] = ()
) -> list[Edit]:
    """The edits of `set key=value … user=…` or `remove key … user=…`."""
    op = _op(verb, QUOTA_VERBS, "quota")
    keys, whom = _apart(words, entity_type, lookup, bare_keys=op == DELETE)
    _refuse_credentials(keys)
    for word in keys:
        _refuse_secret(word.name)
        _refuse_near_miss(word.name, allow_unknown)
    entity = Entity.of(_parts(whom))
    return [_quota_edit(op, entity, word) for word in _some(keys, op, "producer_byte_rate")]


def _quota_edit(op: str, entity: Entity, word: Word) -> Edit:
    if op == DELETE:
        return Edit(op, entity, word.name)
    return Edit(op, entity, word.name, text_of(parse_value(word.name, _single(word))))


def config_edits(
    verb: str, words: Sequence[str], lookup: Lookup | None = None, allow_unknown: Collection[str] = ()
) -> list[Edit]:
    """The edits of `set|append|subtract key=value … topic=…` or `reset key … topic=…`."""
    op = _op(verb, CONFIG_VERBS, "config")
    keys, resources = _apart(words, WORDS.get, lookup, bare_keys=op == DELETE, takes_empty=op == SET)
    _refuse_credentials(keys)
    if len(resources) != 1:
        raise UsageError("a config change names one resource", hint=_which_resource([word.name for word in keys]))
    resource = Resource.of(resources[0].name, resources[0].value)
    return [Edit(op, resource, word.name, _config_text(op, word)) for word in _some(keys, op, "retention.ms")]


def scram_edits(verb: str, words: Sequence[str], lookup: Lookup | None = None) -> list[Edit]:
    """The edits of `set SCRAM-SHA-512=env:NAME … user=…` or `delete SCRAM-SHA-512 … user=…`.

    `iterations=8192` holds for the mechanisms that do not say. One without a password has it asked for when it is sent.
    No error repeats what stands right of a sign, or a word that may be a password.
    """
    op = _op(verb, SCRAM_VERBS, "scram")
    parsed = read_words(words, lookup, bare_keys=True)
    user = _user([word for word in parsed if word.name == "user"])
    iterations = next((_single(word) for word in parsed if word.name == "iterations"), None)
    keys = [word for word in parsed if word.name not in ("user", "iterations")]
    _refuse_values(keys if op == DELETE else ())
    return [_scram_edit(op, user, word, iterations) for word in _some(keys, op, "SCRAM-SHA-512")]


def _user(words: Sequence[Word]) -> ScramUser:
    if len(words) != 1:
        raise UsageError("a credential belongs to one user", hint="Such as user=alice.")
    return ScramUser.of(words[0].value)


def _scram_edit(op: str, user: ScramUser, word: Word, iterations: str | None) -> Edit:
    mechanism = mechanism_of(word.name)
    if op == DELETE:
        return Edit(op, user, mechanism)
    text = _single(word) or f"prompt:{user.name}"
    try:
        return Edit(op, user, mechanism, str(Credential.parse(text, iterations)))
    except UsageError as exc:
        raise exc.within(f"{mechanism} of {user}") from None


def _config_text(op: str, word: Word) -> str | None:
    """The text that brokers take; items of lists have no units."""
    if op == DELETE:
        return None
    return stored_text(word.name, _single(word)) if op == SET else _single(word)


def _which_resource(names: Iterable[str]) -> str:
    """A hint, when no resource was named."""
    for name in names:
        if name in TYPES:
            return f"{name}=… has quotas: quota set …"
        if near := nearest(name, list(WORDS)):
            return f"Did you mean {near}=…?"
    return f"One of {', '.join(f'{word}=…' for word in WORDS)}."


def _op(verb: str, verbs: dict[str, str], kind: str) -> str:
    if verb not in verbs:
        raise UsageError(f"unknown {kind} change '{verb.partition('=')[0]}'", hint=_which_verb(verb, verbs, kind))
    return verbs[verb]


def _which_verb(verb: str, verbs: dict[str, str], kind: str) -> str:
    other = {"quota": CONFIG_VERBS, "config": QUOTA_VERBS}.get(kind, {})
    if verb in other:
        config_verb = verb if kind == "quota" else "reset"
        return f"For a quota: remove KEY user=NAME. For a config: {config_verb} KEY topic=NAME."
    return did_you_mean(verb, verbs, f"One of {', '.join(verbs)}.")


def _apart(
    words: Iterable[str],
    type_of: Callable[[str], str | None],
    lookup: Lookup | None,
    *,
    bare_keys: bool,
    takes_empty: bool = False,
) -> tuple[list[Word], list[Word]]:
    """The words that are keys, and those that say whom: those of whose name `type_of` knows the type."""
    parsed = read_words(words, lookup, bare_keys=bare_keys, takes_empty=takes_empty)
    keys = [word for word in parsed if type_of(word.name) is None]
    _refuse_values(keys if bare_keys else ())
    whom = [word for word in parsed if type_of(word.name) is not None]
    if without_name := next((word for word in whom if word.value == ""), None):
        raise nothing_right_of(f"{without_name.name}=")
    return keys, whom


def _refuse_values(keys: Iterable[Word]) -> None:
    if valued := next((word for word in keys if word.value != ""), None):
        raise UsageError(f"{valued.name} has a value", hint=f"Name the key alone: {valued.name}")


def read_words(
    words: Iterable[str], lookup: Lookup | None, *, bare_keys: bool = False, takes_empty: bool = False
) -> list[Word]:
    """The words of one line. Where one names a secret, an error repeats none: after a slip any may be its value."""
    words = list(words)
    try:
        return [
            Word(word, "") if bare_keys and "=" not in word else parse_word(word, lookup, takes_empty=takes_empty)
            for word in words
        ]
    except UsageError:
        if any(map(mentions_secret, words)):
            raise UsageError(
                "a word is neither type=value nor key=value; it is not repeated, as a secret is set beside it"
            ) from None
        raise


def _parts(words: Iterable[Word]) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    for word in words:
        kind = entity_type(word.name) or word.name
        if kind in parts:
            raise UsageError(f"{kind} is named twice", hint="A change names exactly one entity.")
        parts[kind] = named(kind, word.value)
    return parts


def _some(keys: Sequence[Word], op: str, example: str) -> Sequence[Word]:
    if not keys:
        raise UsageError("no key is named", hint=f"Such as {example}{'' if op == DELETE else '=…'}.")
    return keys


def _single(word: Word) -> str:
    if not isinstance(word.value, str):
        raise UsageError(f"{word.name} has a pattern, a list or a special value, where it takes one text")
    return word.value


def _refuse_credentials(keys: Iterable[Word]) -> None:
    """Kafka's own tool sets a user's password where it sets quotas and configs; here it is neither."""
    if scram := next((word.name for word in keys if word.name.upper().startswith(SCRAM)), None):
        raise UsageError(
            f"{scram} is a user's credential, neither a quota nor a config",
            hint="scram set SCRAM-SHA-512=env:NAME user=NAME",
        )


def _refuse_secret(name: str) -> None:
    """A password of digits would be a number that a plan shows."""
    if is_credential(name):
        raise UsageError(f"{name} is a secret, not a quota", hint=f"config set {name}=env:NAME broker=NUMBER")


def _refuse_near_miss(name: str, allow_unknown: Collection[str]) -> None:
    """A word that is almost an entity type or a key is a slip, not a key of a Kafka to come."""
    if find(name) is not None or name in allow_unknown:
        return
    if name in WORDS:
        raise UsageError(f"{name}=… has configs, not quotas", hint=f"config set KEY=VALUE {name}=NAME")
    if near := nearest(name, [*TYPES, *QUOTA_KEY_NAMES]):
        raise UsageError(
            f"{name} is neither an entity type nor a quota key",
            hint=Hint(f"Did you mean {near}?", sentence("Confirm with {}.", Option("allow_unknown", [name]))),
        )
