"""Listeners: the methods of objects that want to know of a change, called for as long as their objects are alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable

Listener = Callable[[], None]


class Listeners:
    """Methods that are called one after the other, in the thread that tells them. They may be added from any thread."""

    def __init__(self) -> None:
        self._references: tuple[weakref.WeakMethod[Listener], ...] = ()

    def add(self, listener: Listener) -> None:
        """Call this method from now on; those whose objects are gone are forgotten."""
        alive = (reference for reference in self._references if reference() is not None)
        self._references = (*alive, weakref.WeakMethod(listener))

    def tell(self) -> None:
        """Call them all."""
        for reference in self._references:
            if (listener := reference()) is not None:
                listener()
