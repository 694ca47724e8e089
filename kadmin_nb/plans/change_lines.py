"""Lines of the grammar as edits: one change per line, of a cell or a file.

A line with a pattern is made for each name that matches when it is staged, so that no plan has one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Protocol

from ..errors import KadminError, NotFound, UsageError
from ..frames import schemas
from ..frames.given_frames import TEXT_COLUMNS, arrow_table, refuse_other_than_text
from ..hints import Hint, Option, sentence
from ..model.changes import Edit
from ..model.client_configs import CLIENT_KEYS
from ..model.entity import Entity, entity_type
from ..model.expansion import Expand, literal_words
from ..model.grammar import (
    ANY,
    Choice,
    Pattern,
    Word,
    argument,
    matcher,
    parse_word,
    parted_word,
    selector,
    split,
)
from ..model.resources import WORDS
from .change_words import choices, left_of_sign, names_a_user
from .kinds import CLIENT_CONFIGS, CONFIGS, KINDS, QUOTAS
from .kinds.change_kind import ChangeKind, FrameRow


def edits(
    text: str,
    kind: str | None = None,
    allow_unknown: Collection[str] = (),
    *,
    expand: Expand = literal_words,
    matches: Matches | None = None,
) -> list[Edit]:
    """The edits of a cell: one change per line, `#` comments. Every line is read before anything is returned.

    Parameters
    ----------
    kind
        "quota" or "config" where only such lines belong; None takes all, told apart by their verbs, by whom they name,
        or by a first word: `scram set …`.
    expand
        Expands the variables in the words of a line; unless said there are none.
    matches
        The cluster's, for patterns; without it a line with one is refused.

    Raises
    ------
    KadminError
        A wrong line; the message begins with its number.
    """
    parsed: list[Edit] = []
    for number, physical in enumerate(text.split("\n"), 1):
        try:
            words = split(physical)
            if len(words) == 1 and words[0] not in _VERBS:
                # it is not repeated: below a line with a credential it may be the password
                example = "For example set producer_byte_rate=5MB/s user=alice, in one line."
                raise UsageError("a single word is not a change", hint=example)
            parsed += line(expand(words), kind, allow_unknown, matches) if words else ()
        except KadminError as exc:
            raise exc.within(f"line {number}") from None
    return parsed


_VERBS = {verb for kind in KINDS.values() for verb in kind.verbs.values()}


def line(
    words: Sequence[str],
    kind: str | None = None,
    allow_unknown: Collection[str] = (),
    matches: Matches | None = None,
) -> list[Edit]:
    """The edits of one line, `set producer_byte_rate=5MB/s user=alice`; it may begin with the name of its kind."""
    first = words[0]
    if kind is None and len(words) > 1 and first in KINDS and first not in KINDS[first].verbs.values():
        kind, words = first, words[1:]  # a kind may be named as one of its verbs
    verb, arguments = words[0], words[1:]
    of_kind = KINDS[kind] if kind else _kind_of_line(verb, arguments)
    if matches is None or of_kind not in (QUOTAS, CONFIGS):
        return of_kind.line_edits(verb, arguments, allow_unknown)
    return matches.edits(arguments, lambda words: of_kind.line_edits(verb, words, allow_unknown))


def _kind_of_line(verb: str, words: Sequence[str]) -> ChangeKind:
    """The kind whose verb it is alone, or whose types are named; quotas where nothing tells.

    Lines with client configs, which name users as quotas do, are told by their keys.
    """
    names = {left_of_sign(word) for word in words}
    if names_a_user(words) and not names.isdisjoint(CLIENT_KEYS):
        return CLIENT_CONFIGS
    others = [kind for kind in KINDS.values() if kind not in (QUOTAS, CLIENT_CONFIGS)]
    of_verb = (kind for kind in others if verb in {*kind.verbs.values()} - {*QUOTAS.verbs.values()})
    of_words = (kind for kind in others if not names.isdisjoint(kind.words))
    return next(of_verb, None) or next(of_words, QUOTAS)


_FRAME = "the frame"
_MIXED = ("value", "resource_name")
"""Columns that may hold numbers beside texts: brokers have numbers for names."""


def edits_in(changes: object) -> list[Edit]:
    """The edits of several, or of a frame: of configs where it names their resources, else of quotas."""
    given = getattr(changes, "column_names", None)
    names = {*map(str, getattr(changes, "columns", ()) if given is None else given)}
    if not names and isinstance(changes, Iterable):
        several = [*changes]
        if all(isinstance(one, Edit) for one in several):
            return several
    return frame_edits(changes, CONFIGS if {*CONFIGS.columns} <= names else QUOTAS)


def frame_edits(frame: object, kind: ChangeKind) -> list[Edit]:
    """The edits of a frame with the columns of a kind; a null value removes.

    Raises
    ------
    UsageError, Invalid
        No frame, or one without these columns; the first row that cannot be staged.
    """
    columns = (*kind.columns, *kind.columns_beside)
    table = arrow_table(frame, columns, "the changes", mixed=_MIXED, place=_FRAME)
    schemas.require_columns("the changes", kind.columns, table.column_names)
    table = table.select([name for name in columns if name in table.column_names])
    refuse_other_than_text(table, TEXT_COLUMNS, _FRAME)
    return [_placed(number, row, kind) for number, row in enumerate(table.to_pylist(), 1)]


def _placed(number: int, row: FrameRow, kind: ChangeKind) -> Edit:
    """The edit of a row; an error begins with the row's number."""
    try:
        return kind.row_edit(row)
    except KadminError as exc:
        raise exc.within(f"row {number} of {_FRAME}") from None


MOST = 100
"""Matches of one line that nobody has to confirm."""

_INTERNAL = "topic=__"


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
        names = sorted((" ".join(words) for words in found), key=lambda name: not name.startswith(_INTERNAL))
        is_any = any(part is ANY for word in patterns for part in choices(word.value))
        if not self.every and (len(found) > MOST or is_any or names[0].startswith(_INTERNAL)):
            first = ", ".join([*names[:3], *["…"] * (len(names) > 3)])
            hint = Hint(sentence("If all of them are meant: {}.", Option("every")))
            raise UsageError(f"{asked} matches {len(found):,}: {first}", hint=hint)


def _is_pattern(part: Choice) -> bool:
    return part is ANY or isinstance(part, Pattern)


def _names_somebody(word: str) -> bool:
    """True of a word that names an entity or a resource: `topic~=team-*`."""
    parted = parted_word(word)
    return parted is not None and (parted[0] in WORDS or entity_type(parted[0]) is not None)
