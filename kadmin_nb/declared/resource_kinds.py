"""Kinds: the words of a file for what it is about, and the scopes of a snapshot that they stand for."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import UsageError
from ..frames.snapshots import QUOTAS_PART as QUOTA_SCOPE
from ..frames.snapshots import SCOPES
from ..hints import did_you_mean
from ..model.configurable import Configurable
from ..model.resources import WORDS

QUOTAS, CONFIGS = "quotas", "configs"
KINDS: dict[str, str] = {QUOTAS: QUOTA_SCOPE, **WORDS}
"""Each kind with its scope; `broker-logger` has one that no snapshot reads."""

_KIND_OF = {scope: kind for kind, scope in KINDS.items()}


def kind_of(resource: Configurable) -> str:
    """The kind that an entity or a resource is of."""
    return _KIND_OF[resource.scope]


def kinds(words: Iterable[str]) -> tuple[str, ...]:
    """The kinds that these words name, in our order; `configs` are all but the quotas.

    Raises
    ------
    UsageError
        A word that is none.
    """
    chosen = {kind for word in words for kind in ([*WORDS] if word == CONFIGS else [_known(word)])}
    return tuple(kind for kind in KINDS if kind in chosen)


def read_by(scopes: Iterable[str]) -> tuple[str, ...]:
    """The kinds that a snapshot of these scopes has read."""
    return tuple(kind for kind, scope in KINDS.items() if scope in {*scopes} & {*SCOPES})


def _known(word: str) -> str:
    if word in KINDS:
        return word
    words = [*KINDS, CONFIGS]
    hint = did_you_mean(word, words, f"One of {', '.join(words)}.")
    raise UsageError(f"unknown kind {word}", hint=hint)
