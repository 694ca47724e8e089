"""Several programs in one order: threads that hand on a baton at every call, so that only one goes at a time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable

from tests.double import FakeKafka


class Turns:
    """Who goes on at each call: the numbers in `order`, one a call, then each program in turn to its end."""

    def __init__(self, order: Iterable[int], programs: int) -> None:
        self._order = deque(order)
        self._left = set(range(programs))
        self._go = [threading.Semaphore(0) for _ in range(programs)]

    def play(self, programs: list[tuple[FakeKafka, Callable[[], object]]]) -> list[object]:
        """What each returned or raised; each waits for its turn at every call of its connection."""
        ended: list[object] = [None] * len(programs)

        def run(me: int, program: Callable[[], object]) -> None:
            self._go[me].acquire()
            try:
                ended[me] = program()
            except BaseException as exc:
                ended[me] = exc
            self._left.discard(me)
            self._hand_on()

        threads = [threading.Thread(target=run, args=(n, p), daemon=True) for n, (_, p) in enumerate(programs)]
        for number, (kafka, _) in enumerate(programs):
            kafka.before = lambda what, me=number: self._wait(me)
            threads[number].start()
        self._hand_on()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        return ended

    def _wait(self, me: int) -> None:
        self._hand_on()
        self._go[me].acquire()

    def _hand_on(self) -> None:
        while self._order:
            if (who := self._order.popleft()) in self._left:
                return self._go[who].release()
        if self._left:
            self._go[min(self._left)].release()
        return None
