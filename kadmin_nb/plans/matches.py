"""Patterns in a line of changes: it is made for each name that matches when it is staged, so that no plan has one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Protocol

from ..errors import NotFound, UsageError
from ..hints import Hint, Option, sentence
from ..model.changes import Edit
from ..model.client_configs import CLIENT_KEYS
from ..model.entity import Entity, entity_type
from ..model.grammar import ANY, Choice, Pattern, Word, argument, matcher, parse_word, parted_word, selector
from ..model.resources import WORDS
from .change_words import choices, left_of_sign

MOST = 100
"""Matches of one line that nobody has to confirm."""


class Existing(Protocol):
    """What is on a cluster, for the patterns of a line."""

    def names(self, word: str) -> Iterable[str]:
        """The names of all resources of a type."""

    def entities(self, kinds: Sequence[str]) -> Iterable[Entity]:
        """The entities of exactly these types that have a quota."""


class Matches:
    """The matches of patterns on a cluster, which is asked only where a line has one, and once for all lines.

    With `every`, however many match, `<any>`, and internal topics too.
    """

    def __init__(self, existing: Existing, every: bool = False) -> None:
        self.every = every
        self._names = cache(lambda word: sorted(existing.names(word)))
        self._entities_of = cache(lambda kinds: sorted(existing.entities(kinds), key=str))

    def edits(self, words: Sequence[str], read: Callable[[Sequence[str]], list[Edit]]) -> list[Edit]:
        """The edits that `read` makes of a line: with a pattern, of each name that matches; a note says how many did.

        Raises
        ------
        NotFound
            Nothing matches.
        UsageError
            More than a hundred match, an internal topic does, or the line says `<any>`, and nobody confirmed it.
        """
        whose = [parse_word(word) for word in words if _names_somebody(word)]
        patterns = [word for word in whose if any(map(_is_pattern, choices(word.value)))]
        others = [word for word in words if not _names_somebody(word)]
        kinds = {word.name for word in whose}
        is_of_configs = kinds <= {*WORDS}
        is_refused = len(kinds) > 1 if is_of_configs else len(kinds) < len(whose)  # as the reader of the line says
        is_of_clients = any(left_of_sign(word) in CLIENT_KEYS for word in others)
        if not patterns or is_refused or is_of_clients:
            return read(words)
        asked = " ".join(map(str, patterns))
        found = self._resources(whose) if is_of_configs else self._entities(whose)
        self._confirm(asked, found, patterns)
        note = f"one of {len(found):,} that match {asked}" if len(found) > 1 else f"matches {asked}"
        return [replace(edit, note=note) for line in found for edit in read([*others, *line])]

    def _resources(self, whose: Sequence[Word]) -> list[list[str]]:
        """The word of each resource that is named or matches."""
        [kind] = {word.name for word in whose}
        chosen = [part for word in whose for part in choices(word.value)]
        is_chosen = matcher(tuple(chosen))
        named = [part for part in chosen if not _is_pattern(part)]
        return [[argument(kind, name)] for name in dict.fromkeys([*named, *filter(is_chosen, self._names(kind))])]

    def _entities(self, whose: Sequence[Word]) -> list[list[str]]:
        """The words of each entity with a quota of which every part is named or matches."""
        is_chosen = {word.name: matcher(selector(word.name, word.value)) for word in whose}
        return [
            [argument(kind, name) for kind, name in entity.parts]
            for entity in self._entities_of(tuple(is_chosen))
            if all(is_chosen[kind](name if isinstance(name, str) else None) for kind, name in entity.parts)
        ]

    def _confirm(self, asked: str, found: Sequence[Sequence[str]], patterns: Sequence[Word]) -> None:
        if not found:
            raise NotFound(f"nothing matches {asked}", hint="A pattern is a shell's: * stands for any text.")
        if self.every:
            return
        names = [" ".join(words) for words in found]
        internal = next((name for name in names if name.startswith("topic=__")), None)
        if len(found) > MOST:
            what = f"{asked} matches {len(found):,}, the first are {', '.join(names[:3])}"
        elif any(part is ANY for word in patterns for part in choices(word.value)):
            what = f"{asked} means all {len(found):,}"
        elif internal is not None:
            what = f"{asked} matches {internal}, an internal topic"
        else:
            return
        raise UsageError(what, hint=Hint(sentence("If all of them are meant: {}.", Option("every"))))


def _is_pattern(part: Choice) -> bool:
    return part is ANY or isinstance(part, Pattern)


def _names_somebody(word: str) -> bool:
    """True of a word that names an entity or a resource: `topic~=team-*`."""
    parted = parted_word(word)
    return parted is not None and (parted[0] in WORDS or entity_type(parted[0]) is not None)
