"""`cluster.scram`: whose SCRAM credentials there are."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ..client_configs.kafka import LiveKafka
from ..frames.answer import Answer
from ..frames.schema_metadata import stamped
from ..model.grammar import ANY, matcher, selector
from ..model.scram import ScramUser
from . import near_names

_NO_CREDENTIAL = "RESOURCE_NOT_FOUND"


class Scram:
    """The SCRAM credentials of a cluster's users (KIP-554)."""

    def __init__(self, kafka: LiveKafka) -> None:
        self._kafka = kafka

    def describe(self, *, user: Any = ANY) -> Answer:
        """SCRAM: the mechanisms and iterations of each user. Brokers show nothing else of a credential.

        Parameters
        ----------
        user
            A name, `kn.ANY`, `kn.Pattern("team-*")` or a list of them. A name that has no credential is one row
            with RESOURCE_NOT_FOUND.

        Raises
        ------
        NotAuthorized
            DESCRIBE on the cluster is missing.
        """
        chosen = selector("user", user)
        names = [part for part in chosen if isinstance(part, str)]
        if names and len(names) == len(chosen):
            return self._answer(self._kafka.scram.describe(map(ScramUser.of, names)))
        fits, table = matcher(chosen), self._kafka.scram.describe()
        return self._answer(table.filter(pa.array([fits(name) for name in table["user"].to_pylist()], pa.bool_())))

    def near_miss(self, answer: Answer) -> str | None:
        """A hint if `describe` found nothing: the nearest user that has a credential, or None."""
        rows = answer.failed.to_arrow().to_pylist()
        return near_names.scram_users(self._kafka, [row["user"] for row in rows if row["error"] == _NO_CREDENTIAL])

    def _answer(self, table: pa.Table) -> Answer:
        return Answer(stamped(table, self._kafka.id))
