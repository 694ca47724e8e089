"""Editors whose requests are made in an order that a test says, one at a time."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

STEPS = [("LeaseLog", "newest"), *(("FencedWriter", name) for name in ("fence", "write", "commit"))]
"""Where an editor of a lease talks to the broker, in `lease`."""


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
