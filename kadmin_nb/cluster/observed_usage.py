"""USAGE of an observation: what the brokers' request logs tell of just the time that was observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .. import traffic
from ..admin.kafka import WireKafka
from ..errors import NotFound, NotKnowable
from ..frames import schemas
from ..traffic.top import TopAnswer
from .observation import ObservationAnswer
from .request_logs import are_known


def refuse_unknown_logs(kafka: WireKafka) -> None:
    """Refuse brokers whose request log nobody can find, before their loggers are touched.

    Raises
    ------
    NotKnowable
    """
    if not are_known(kafka.id):
        raise NotKnowable(
            "brokers do not tell where they write their request log",
            hint="Let them write it (observe), and name its files; or take the usage from metrics.",
        )


def top_of(observed: ObservationAnswer, keys: Sequence[str] | None, most: int) -> TopAnswer:
    """TOP of the time that was observed."""
    rows = [row for row in observed.to_arrow().to_pylist() if row["logs"]]
    frame = pa.concat_tables([schemas.REQUESTS.empty_table(), *map(_requests_of, rows)])
    time = min(row["since"] for row in rows), max(row["until"] for row in rows)
    return traffic.top(traffic.usage(frame), keys=keys, most=most, time=time)


def _requests_of(row: Mapping[str, Any]) -> pa.Table:
    """REQUESTS of one broker."""
    try:
        frame = traffic.requests(row["logs"], broker=row["broker"], tz=_zone_here()).frame
    except NotFound:  # nobody asked for anything, so there is no line
        return schemas.REQUESTS.empty_table()
    is_observed = pc.and_(pc.greater_equal(frame["time"], row["since"]), pc.less_equal(frame["time"], row["until"]))
    return frame.filter(is_observed).cast(schemas.REQUESTS)


def _zone_here() -> str:
    """A local Kafka's log4j writes the time of this machine."""
    offset = datetime.now().astimezone().strftime("%z")
    return f"{offset[:3]}:{offset[3:]}"
