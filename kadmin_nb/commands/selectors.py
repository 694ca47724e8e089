"""The entities that a reading verb asks about, from the words of its line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..errors import UsageError
from ..hints import nearest
from ..model.grammar import Choice, Lookup, format_word, without_sign
from ..model.quota_keys import find
from ..plans.change_words import choices, read_words
from ..secrets import mentions_secret


def read_selectors(
    words: Iterable[str],
    types: Sequence[str],
    lookup: Lookup | None,
    type_of: Callable[[str], str | None] = lambda name: None,
) -> dict[str, tuple[Choice, ...]]:
    """The entities of a reading verb: a type that stands several times is a list, which asks for all of them.

    `type_of` reads the names of further types: `entity:team`.
    """
    chosen: dict[str, tuple[Choice, ...]] = {}
    words = list(words)
    bare = next((word for word in words if "=" not in word and find(word) is None), None)
    if bare and not any(map(mentions_secret, words)):
        raise without_sign(bare, format_word(types[0], bare))
    for word in read_words(words, lookup):
        kind = word.name if word.name in types else type_of(word.name)
        if kind is None:
            near = nearest(word.name, list(types))
            raise UsageError(
                f"{word.name} is not one of {', '.join(types)}", hint=f"Did you mean {near}=…?" if near else None
            )
        chosen[kind] = (*choices(chosen.get(kind, ())), *choices(word.value))
    return chosen
