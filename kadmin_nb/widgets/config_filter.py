"""The words of a filter box over configs: `topic~=orders-*`, `broker=<default>`, `key~=*.ms`, or a part of a name."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..model.grammar import ANY, DEFAULT, Choice, Pattern, parse_word, split
from ..model.resources import WORDS
from .config_table import ConfigTable
from .row_filter import regex_of

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
