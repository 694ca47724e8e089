"""The words of a filter box: over entities, `user~=team-*`, and over configs, `key~=*.ms`; or a part of a name."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
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
_HINT = f"One of {', '.join(f'{kind}=…' for kind in _COLUMNS)}, {'user~=team-*'}, or a part of a name."
_LEVELS = {
    ("user", "default"): [level.name for level in LEVELS if level.user == "default"],
    ("user", "any"): [level.name for level in LEVELS if level.user],
    ("client-id", "default"): [level.name for level in LEVELS if level.client_id == "default"],
    ("client-id", "any"): [level.name for level in LEVELS if level.client_id],
    ("ip", "default"): [DEFAULT_IP],
    ("ip", "any"): [IP, DEFAULT_IP],
}


def matching(entities: pa.Table, words: str) -> np.ndarray:
    """A flag for each entity that all the words fit; `entities` has entity, level and the names as columns.

    Raises
    ------
    UsageError
        A word of another type.
    """
    fits = np.ones(entities.num_rows, dtype=bool)
    for word in split(words):
        fits &= _fits(entities, word).to_numpy(zero_copy_only=False)
    return fits


def _fits(entities: pa.Table, text: str) -> pa.ChunkedArray:
    if "=" not in text:
        return pc.match_substring(entities["entity"], text, ignore_case=True)
    word = parse_word(text)
    if word.name not in _COLUMNS:
        raise UsageError(f"{word.name} is not a type of entity", hint=_HINT)
    choices: Sequence[Choice] = word.value if isinstance(word.value, tuple) else (word.value,)
    fits = _fits_choice(entities, word, choices[0])
    return pc.fill_null(fits, False)


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


_CONFIG_HINT = f"One of {', '.join(f'{word}=…' for word in WORDS)}, key~=*.ms, or a part of a name."


def matching_configs(table: ConfigTable, words: str) -> np.ndarray:
    """A flag for each row that all the words fit.

    Raises
    ------
    UsageError
        A word of another type.
    """
    fits = np.ones(len(table), dtype=bool)
    for word in split(words):
        fits &= np.asarray(_config_fits(table, word), dtype=bool)
    return fits


def _config_fits(table: ConfigTable, text: str) -> pa.Array:
    if "=" not in text:
        return pc.match_substring(table.names, text, ignore_case=True)
    word = parse_word(text)
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
