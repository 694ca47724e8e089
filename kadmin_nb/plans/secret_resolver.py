"""Secrets by reference: looked up in the moment of sending, and taken out of whatever a broker says of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ..errors import KadminError, PlanRefused, UsageError
from ..model.changes import Change, Refusal, Target
from ..secrets import Secret

Resolver = Callable[[str], Secret]
"""The value behind a reference; it raises a KadminError when it leads nowhere."""

MISSING = "SECRET_NOT_FOUND"
_SHORTEST_PIECE = 4


class ReferenceRequired(UsageError):
    """Secrets that were given as what they are; `targets` says whose, and no word of it says what."""


def nowhere(reference: str) -> Secret:
    """The resolver where none was given."""
    raise UsageError(f"{reference} cannot be looked up here", hint="Cluster.apply looks secrets up.")


def found(changes: Iterable[Change], resolver: Resolver) -> Mapping[str, Secret]:
    """The values behind the references of these changes, by reference.

    Raises
    ------
    KadminError
        One leads nowhere; its `targets` are the keys that were to have it.
    """
    targets: dict[str, list[Target]] = {}
    for change in changes:
        if change.is_secret and change.wanted is not None:
            # every resolver refuses the reference of a secret that stands there itself
            targets.setdefault(change.reference or "", []).append(change.target)
    return {reference: _resolved(reference, resolver, of) for reference, of in targets.items()}


def _resolved(reference: str, resolver: Resolver, targets: Iterable[Target]) -> Secret:
    try:
        return resolver(reference)
    except KadminError as exc:
        exc.targets = tuple(targets)
        raise


def refuse_missing(changes: Iterable[Change], resolver: Resolver) -> None:
    """Refuse a plan before anything of it is sent, when a secret of it cannot be had.

    Raises
    ------
    PlanRefused
        With `SECRET_NOT_FOUND`.
    """
    try:
        found(changes, resolver)
    except KadminError as exc:
        hint = "Nothing was sent." + (f" {exc.hint}" if exc.hint else "")
        raise PlanRefused(f"a secret of the plan cannot be read: {exc}", code=MISSING, hint=hint) from None


def scrubbed(refused: Refusal | None, secrets: Mapping[str, Secret]) -> Refusal | None:
    """The broker's words with every secret, and every piece of one, replaced by its reference."""
    if refused is None or not refused.message:
        return refused
    by_piece = {piece: reference for reference, secret in secrets.items() for piece in _pieces(secret)}
    anywhere = re.compile("|".join(map(re.escape, sorted(by_piece, key=len, reverse=True))))
    return replace(refused, message=anywhere.sub(lambda piece: by_piece[piece[0]], refused.message))


def _pieces(secret: Secret) -> Iterable[str]:
    """The whole, as Python and Java write it too, and its words: Kafka repeats the one of a JAAS text it trips over."""
    whole = secret.reveal()
    words = re.split(r"[\s\"'=;,:]+", whole)
    yield from {whole, whole.strip(), repr(whole)[1:-1], *(w for w in words if len(w) >= _SHORTEST_PIECE)} - {""}
