"""USAGE of an observation: what the brokers' request logs tell of just the time that was observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from .. import usage
from ..client_configs.kafka import LiveKafka
from ..errors import NotFound, NotKnowable
from ..frames import schemas
from ..usage.near_and_top import TopAnswer
from .observation import ObservationAnswer, are_known, beginning


def refuse_unknown_logs(kafka: LiveKafka) -> None:
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
    """TOP of the time that was observed, as far as the logs of all brokers have it."""
    rows = [row for row in observed.to_arrow().to_pylist() if row["logs"] is not None]
    until = max(row["until"] for row in rows)
    since = max(_logged_since(row) for row in rows)
    frame = pa.concat_tables([schemas.REQUESTS.empty(), *(_requests_of(row, since) for row in rows)])
    return usage.top(usage.usage(frame), keys=keys, most=most, time=(since, until)).warned(observed.warnings)


def _logged_since(row: Mapping[str, Any]) -> datetime:
    """The moment from which on a broker's log has all requests: later than its level was set where files were lost."""
    since, until = cast("tuple[datetime, datetime]", (row["since"], row["until"]))
    if row["complete"]:
        return since
    return max(since, beginning(Path(row["logs"][0]))) if row["logs"] else until


def _requests_of(row: Mapping[str, Any], since: datetime) -> pa.Table:
    """REQUESTS of one broker."""
    if not row["logs"]:
        return schemas.REQUESTS.empty()
    try:
        frame = usage.requests(row["logs"], broker=row["broker"], tz=_zone_here()).frame
    except NotFound:  # nobody asked for anything, so there is no line
        return schemas.REQUESTS.empty()
    is_observed = pc.and_(pc.greater_equal(frame["time"], since), pc.less_equal(frame["time"], row["until"]))
    return frame.filter(is_observed).cast(schemas.REQUESTS.schema)


def _zone_here() -> str:
    """A local Kafka's log4j writes the time of this machine."""
    offset = datetime.now().astimezone().strftime("%z")
    return f"{offset[:3]}:{offset[3:]}"
