"""The words of one change, of a quota or a config, as edits: what a `set` says, with its slips named."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from ..errors import UsageError
from ..hints import Hint, Option, Verb, did_you_mean, nearest, sentence
from ..model.changes import APPEND, DELETE, SET, SUBTRACT, Edit
from ..model.client_configs import ACKS, CLIENT_KEYS, ClientEntity, refuse_unknown_key, stored_value
from ..model.config_units import stored_text
from ..model.entity import TYPES, Entity, entity_type, named
from ..model.grammar import Choice, Value, Word, nothing_right_of, parse_word
from ..model.levels import Part
from ..model.quota_keys import QUOTA_KEY_NAMES, find, parse_value, text_of
from ..model.resources import WORDS, Resource
from ..model.scram import Credential, ScramUser, mechanism_of
from ..secrets import SCRAM, holds_secret, is_secret_name, mentions_secret

QUOTA_VERBS = {"set": SET, "remove": DELETE}
CONFIG_VERBS = {"set": SET, "reset": DELETE, "append": APPEND, "subtract": SUBTRACT}
SCRAM_VERBS = {"set": SET, "delete": DELETE}
USER_CONFIG_VERBS = {"set": SET, "reset": DELETE}


def sent_again(edits: Iterable[Edit]) -> list[Edit]:
    """The edits; the keys of a broker's stores are sent even where their values are set already."""
    return [replace(edit, again=edit.again or edit.resource.reloads(edit.key)) for edit in edits]


def quota_edits(verb: str, words: Sequence[str], allow_unknown: Collection[str] = ()) -> list[Edit]:
    """The edits of `set key=value … user=…` or `remove key … user=…`."""
    op = _op(verb, QUOTA_VERBS, "quota")
    keys, whom = _apart(words, entity_type, bare_keys=op == DELETE)
    _refuse_credentials(keys)
    for word in keys:
        _refuse_near_miss(word.name, allow_unknown)
    entity = Entity.of(_parts(whom))
    return [_quota_edit(op, entity, word) for word in _some(keys, op, "producer_byte_rate")]


def _quota_edit(op: str, entity: Entity, word: Word) -> Edit:
    if op == DELETE:
        return Edit(op, entity, word.name)
    return Edit(op, entity, word.name, text_of(parse_value(word.name, _single(word))))


def config_edits(verb: str, words: Sequence[str]) -> list[Edit]:
    """The edits of `set|append|subtract key=value … topic=…` or `reset key … topic=…`; with user=… as `user_edits`.

    Several resources of one type have each the same edits.
    """
    op = _op(verb, CONFIG_VERBS, "config")
    if names_a_user(words):
        return user_edits(verb, words)
    keys, whose = _apart(words, WORDS.get, bare_keys=op == DELETE, takes_empty=op == SET)
    _refuse_credentials(keys)
    named_keys = _some(keys, op, "retention.ms") if whose else keys
    resources = _resources(whose)
    texts = [(word.name, _config_text(op, word)) for word in named_keys]
    return [Edit(op, resource, key, text) for resource in resources for key, text in texts]


def _resources(words: Sequence[Word]) -> list[Resource]:
    """The resources that these words name, each once: all of one type, as types have keys of their own."""
    types = list(dict.fromkeys(word.name for word in words))
    if not types:
        raise UsageError("a config change names a resource", hint=_RESOURCES)
    if len(types) > 1:
        raise UsageError(
            f"a config change names resources of one type, but these are of several: {', '.join(types)}",
            hint="One line for each type.",
        )
    return list(dict.fromkeys(Resource.of(word.name, name) for word in words for name in choices(word.value)))


_RESOURCES = Hint(
    f"One of {', '.join(f'{word}=…' for word in WORDS)}.",
    sentence("user=… has quotas: {}.", Verb("quota set …", "stage.set_quota(…)")),
)


def choices(value: Value) -> tuple[Choice, ...]:
    """The one or several values right of a sign."""
    return value if isinstance(value, tuple) else (value,)


def names_a_user(words: Iterable[str]) -> bool:
    """True if a word of a line is user=… or client-id=…, and none a resource of configs."""
    names = {left_of_sign(word) for word in words}
    return not names.isdisjoint(_CLIENT_PARTS) and names.isdisjoint(WORDS)


def left_of_sign(word: str) -> str:
    """The name left of a word's sign, or the whole word."""
    return word.partition("=")[0].removesuffix("~")


_CLIENT_PARTS = ("user", "client-id")


def user_edits(verb: str, words: Sequence[str]) -> list[Edit]:
    """The edits of `set key=value … user=… [client-id=…]` or `reset key … user=…`: client configs."""
    op = _op(verb, USER_CONFIG_VERBS, "client config")
    keys, whom = _apart(words, entity_type, bare_keys=op == DELETE)
    _refuse_credentials(keys)
    if any(find(word.name) for word in keys):
        raise UsageError("a config change names a resource", hint=_RESOURCES)
    entity = _client_entity(_parts(whom))
    return [client_config_edit(op, entity, word.name, _single(word)) for word in _some(keys, op, ACKS)]


def _client_entity(parts: Mapping[str, Part]) -> ClientEntity:
    """The entity of client configs of these parts. Raises Invalid where they are not one."""
    if strange := parts.keys() - {*_CLIENT_PARTS}:
        raise UsageError(f"{min(strange)}=… has no client configs", hint="For example user=alice client-id=app.")
    return ClientEntity.of(parts.get("user"), parts.get("client-id"))


def client_config_edit(op: str, entity: ClientEntity, key: str, text: str | None) -> Edit:
    """The edit of one client config, its value as it is stored. Raises Invalid where it cannot be."""
    if op == DELETE or text is None:
        refuse_unknown_key(key)
        return Edit(DELETE, entity, key)
    return Edit(SET, entity, key, stored_value(key, text))


def scram_edits(verb: str, words: Sequence[str]) -> list[Edit]:
    """The edits of `set SCRAM-SHA-512=env:NAME … user=…` or `delete SCRAM-SHA-512 … user=…`.

    `iterations=8192` holds for the mechanisms that do not say. One without a password has it asked for when it is sent.
    No error repeats what stands right of a sign, or a word that may be a password.
    """
    op = _op(verb, SCRAM_VERBS, "scram")
    parsed = read_words(words, bare_keys=True)
    user = _user([word for word in parsed if word.name == "user"])
    iterations = next((_single(word) for word in parsed if word.name == "iterations"), None)
    keys = [word for word in parsed if word.name not in ("user", "iterations")]
    _refuse_values(keys if op == DELETE else ())
    return [_scram_edit(op, user, word, iterations) for word in _some(keys, op, "SCRAM-SHA-512")]


def _user(words: Sequence[Word]) -> ScramUser:
    if len(words) != 1:
        raise UsageError("a credential belongs to one user", hint="For example user=alice.")
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
    text = _single(word)
    if not is_secret_name(word.name) and holds_secret(text):
        raise UsageError(
            f"the value of {word.name} contains another word with a secret, so it is not shown",
            hint="Quotes around several words make them one value. A secret is a reference: KEY=env:NAME.",
        )
    return stored_text(word.name, text) if op == SET else text


def _op(verb: str, verbs: dict[str, str], kind: str) -> str:
    if verb in verbs:
        return verbs[verb]
    hint = did_you_mean(verb, [*verbs, *_FIRST_WORDS], f"One of {', '.join(verbs)}.")
    if verb in {"quota": CONFIG_VERBS, "config": QUOTA_VERBS}.get(kind, {}):
        hint = "For a quota: remove KEY user=NAME. For a config: reset KEY topic=NAME."
    raise UsageError(f"unknown {kind} change '{verb.partition('=')[0]}'", hint=hint)


_FIRST_WORDS = ("quota", "config", "scram")
"""The words that a line may begin with, before its verb."""


def _apart(
    words: Iterable[str],
    type_of: Callable[[str], str | None],
    *,
    bare_keys: bool,
    takes_empty: bool = False,
) -> tuple[list[Word], list[Word]]:
    """The words that are keys, and the words that name an entity or resource, by types that `type_of` knows."""
    parsed = read_words(words, bare_keys=bare_keys, takes_empty=takes_empty)
    keys = [word for word in parsed if type_of(word.name) is None]
    _refuse_values(keys if bare_keys else ())
    whom = [word for word in parsed if type_of(word.name) is not None]
    if without_name := next((word for word in whom if word.value == ""), None):
        raise nothing_right_of(f"{without_name.name}=")
    return keys, whom


def _refuse_values(keys: Iterable[Word]) -> None:
    if valued := next((word for word in keys if word.value != ""), None):
        raise UsageError(f"{valued.name} has a value", hint=f"Name the key alone: {valued.name}")


def read_words(words: Iterable[str], *, bare_keys: bool = False, takes_empty: bool = False) -> list[Word]:
    """The words of one line. Where one names a secret, an error repeats none: after a slip any may be its value."""
    words = list(words)
    try:
        return [
            Word(word, "") if bare_keys and "=" not in word else parse_word(word, takes_empty=takes_empty)
            for word in words
        ]
    except UsageError:
        if any(map(mentions_secret, words)):
            raise UsageError(
                "a word is neither type=value nor key=value; it is not shown, as a secret is set beside it"
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
        raise UsageError("no key is named", hint=f"For example {example}{'' if op == DELETE else '=…'}.")
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
            hint=Hint(sentence("It is set by {}.", _SET_CREDENTIAL)),
        )


_SET_CREDENTIAL = Verb(
    "scram set SCRAM-SHA-512=env:NAME user=NAME",
    "stage.set_scram('NAME', 'SCRAM-SHA-512', password='env:NAME')",
)


_OF_CONFIGS = Hint(sentence("It is set by {}.", Verb("config set KEY=VALUE TYPE=NAME", "stage.set_config(…)")))


def _refuse_near_miss(name: str, allow_unknown: Collection[str]) -> None:
    """A word that is almost an entity type or a key is a slip, not a key of a Kafka to come.

    A password of digits would be a number that a plan shows.
    """
    if is_secret_name(name) or name in CLIENT_KEYS or name in WORDS:
        raise UsageError(f"{name} belongs to configs, not to quotas", hint=_OF_CONFIGS)
    is_known = find(name) is not None or name in allow_unknown
    if not is_known and (near := nearest(name, [*TYPES, *QUOTA_KEY_NAMES, *CLIENT_KEYS])):
        raise UsageError(
            f"{name} is neither an entity type nor a key of quotas or client configs",
            hint=Hint(f"Did you mean {near}?", sentence("Confirm with {}.", Option("allow_unknown", [name]))),
        )
