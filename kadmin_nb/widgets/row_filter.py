"""The words of a filter box: any part of a row's name as the table shows it, or `user~=team-*`, `key~=*.ms`."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..model.grammar import ANY, DEFAULT, Choice, Pattern, Word, parse_word, split
from ..model.levels import DEFAULT_IP, IP, LEVELS
from ..model.resources import WORDS
from .config_table import ConfigTable

_COLUMNS = {"user": "user", "client-id": "client_id", "ip": "ip"}
_HINT = f"One of {', '.join(f'{kind}=…' for kind in _COLUMNS)}, {'user~=team-*'}, or any part of who."
_LEVELS = {
    ("user", "default"): [level.name for level in LEVELS if level.user == "default"],
    ("user", "any"): [level.name for level in LEVELS if level.user],
    ("client-id", "default"): [level.name for level in LEVELS if level.client_id == "default"],
    ("client-id", "any"): [level.name for level in LEVELS if level.client_id],
    ("ip", "default"): [DEFAULT_IP],
    ("ip", "any"): [IP, DEFAULT_IP],
}


def matching(entities: pa.Table, words: str) -> np.ndarray:
    """A flag for each entity that the words fit; `entities` has entity, level and the names as columns.

    Raises
    ------
    UsageError
        A word of another type, which stands in no entity either.
    """
    return _fitting(entities["entity"].combine_chunks(), words, lambda word: _fits_entity(entities, word))


def _fitting(names: pa.Array, words: str, fits: Callable[[Word], pa.Array]) -> np.ndarray:
    """A flag for each name that has this text in it, or that fits word by word, where a word may be one of grammar."""
    has_all = _has(names, words.strip())
    try:
        by_words = reduce(pc.and_, [_fits_word(names, word, fits) for word in split(words)], _has(names, ""))
    except UsageError:
        if not pc.any(has_all).as_py():
            raise
        by_words = has_all
    return np.asarray(pc.or_(has_all, by_words), dtype=bool)


def _fits_word(names: pa.Array, text: str, fits: Callable[[Word], pa.Array]) -> pa.Array:
    has_it = _has(names, text)
    try:
        return pc.or_(has_it, pc.fill_null(fits(parse_word(text)), False)) if "=" in text else has_it
    except UsageError:
        if not pc.any(has_it).as_py():
            raise
        return has_it


def _has(names: pa.Array, text: str) -> pa.Array:
    return pc.match_substring(names, text, ignore_case=True)


def _fits_entity(entities: pa.Table, word: Word) -> pa.Array:
    if word.name not in _COLUMNS:
        raise UsageError(f"{word.name} is not a type of entity", hint=_HINT)
    choices: Sequence[Choice] = word.value if isinstance(word.value, tuple) else (word.value,)
    return _fits_choice(entities, word, choices[0]).combine_chunks()


def _fits_choice(entities: pa.Table, word: Word, choice: Choice) -> pa.ChunkedArray:
    names = entities[_COLUMNS[word.name]]
    if isinstance(choice, Pattern):
        return pc.match_substring_regex(names, regex_of(choice.glob))
    if choice in (DEFAULT, ANY):
        levels = _LEVELS[word.name, "default" if choice is DEFAULT else "any"]
        return pc.is_in(entities["level"], pa.array(levels, pa.string()))
    return pc.equal(names, str(choice))


def regex_of(glob: str) -> str:
    """The pattern as RE2 takes it: the end of the text is `\\z` there."""
    return "^" + fnmatch.translate(glob).replace(r"\Z", r"\z")


_CONFIG_HINT = f"One of {', '.join(f'{word}=…' for word in WORDS)}, key~=*.ms, or any part of a row's name."


def matching_configs(table: ConfigTable, words: str) -> np.ndarray:
    """A flag for each row that the words fit.

    Raises
    ------
    UsageError
        A word of another type, which stands in no row either.
    """
    return _fitting(table.names, words, lambda word: _fits_config(table, word))


def _fits_config(table: ConfigTable, word: Word) -> pa.Array:
    if word.name != "key" and word.name not in WORDS:
        raise UsageError(f"{word.name} is not a type of resource", hint=_CONFIG_HINT)
    names = table.keys if word.name == "key" else table.configs["resource_name"].combine_chunks()
    choices = word.value if isinstance(word.value, tuple) else (word.value,)
    fits = reduce(pc.or_, [_fits_config_choice(names, choice) for choice in choices])
    if word.name == "key":
        return fits
    return pc.and_(fits, pc.equal(table.configs["resource_type"].cast(pa.string()).combine_chunks(), WORDS[word.name]))


def _fits_config_choice(names: pa.Array, choice: Choice) -> pa.Array:
    if isinstance(choice, Pattern):
        return pc.match_substring_regex(names, regex_of(choice.glob))
    if choice is ANY:
        return pc.invert(pc.equal(names, ""))
    return pc.equal(names, "" if choice is DEFAULT else str(choice))
