"""Editors whose requests are made in an order that a test says, one at a time."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from kadmin_nb.admin import compacted_topic
from kadmin_nb.admin.transactions import FencedWriter

Step = tuple[type, str]
"""A method in which an editor talks to the broker."""

WRITING: list[Step] = [(FencedWriter, name) for name in ("fence", "write", "commit")]


def schedules(first: int, second: int) -> Iterator[list[str]]:
    """Every order of so many steps of each of two."""
    for places in itertools.combinations(range(first + second), first):
        yield ["a" if n in places else "b" for n in range(first + second)]


class Turns:
    """Lets the threads named in `order` make one step each time they are named; after its end all are free."""

    def __init__(self, order: list[str]) -> None:
        self._order = list(order)
        self._changed = threading.Condition()

    def step(self, real: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Make `real` this thread's step, when it is its turn."""
        me = threading.current_thread().name
        with self._changed:
            assert self._changed.wait_for(lambda: not self._order or self._order[0] == me, 30)
        try:
            return real(*args, **options)
        finally:
            with self._changed:
                if self._order and self._order[0] == me:
                    self._order.pop(0)
                self._changed.notify_all()

    def run(self, **editors: Callable[[], Any]) -> dict[str, Any]:
        """What each editor returned or raised; one that is done gives up its turns."""
        said: dict[str, Any] = {}
        threads = [threading.Thread(target=self._edit, args=(n, e, said), name=n) for n, e in editors.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        return said

    def _edit(self, name: str, editor: Callable[[], Any], said: dict[str, Any]) -> None:
        try:
            said[name] = editor()
        except Exception as exc:
            said[name] = exc
        with self._changed:
            self._order = [other for other in self._order if other != name]
            self._changed.notify_all()


def in_turns(monkeypatch: pytest.MonkeyPatch, steps: Sequence[Step]) -> Callable[..., dict[str, Any]]:
    """`run("abba", a=…, b=…)`: what each editor said, when these steps of theirs are made in this order."""
    turns = [Turns([])]
    for kind, name in steps:
        real = getattr(kind, name)
        monkeypatch.setattr(kind, name, lambda *a, _real=real, **o: turns[0].step(_real, *a, **o))

    def run(order: list[str], **editors: Callable[[], Any]) -> dict[str, Any]:
        turns[0] = Turns(order)
        with monkeypatch.context() as impatient:
            impatient.setattr(compacted_topic, "UNDECIDED", 0.0)  # what is undecided waits for its turn
            said = turns[0].run(**editors)
        turns[0] = Turns([])
        return said

    return run
