"""Hooks: what the executor calls while it carries out a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...model.changes import Change
from ..lowering.gradual import Wave
from ..secret_resolver import Resolver, nowhere
from . import order
from .interrupts import Stopped, never
from .progress import Progress, silent


def safe_waves(changes: Sequence[Change]) -> list[Wave]:
    """The waves of the safe order, one right after the other."""
    return [Wave(tuple(wave)) for wave in order.waves(changes)]


def open_gate(pending: Sequence[Change]) -> Mapping[str, object]:
    """Nothing is refused."""
    return {}


@dataclass(frozen=True, slots=True)
class Hooks:
    """The executor's hooks: progress, Ctrl-C, the look-up of secrets, the division into waves.

    `gate` is called with the rows that are to be sent, before any is; it refuses, or says what the journal shall keep.
    """

    progress: Progress = silent
    stopped: Stopped = never
    resolver: Resolver = nowhere
    waves: Callable[[Sequence[Change]], list[Wave]] = safe_waves
    gate: Callable[[Sequence[Change]], Mapping[str, object]] = open_gate
