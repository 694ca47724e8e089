"""A Kafka in memory, for faults that a real one does not make on demand; one conformance suite runs on both.

`FakeKafka` stands for `kadmin_nb.admin.ports.Kafka`, `faults` says what can go wrong at which call. Time is virtual.
"""

from . import faults
from .calls import Call, Crash
from .kafka import FakeKafka

__all__ = ["Call", "Crash", "FakeKafka", "faults"]
