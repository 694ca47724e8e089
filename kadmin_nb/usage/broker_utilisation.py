"""The brokers' own measure of utilisation (KIP-1373), beside ours: a difference is a finding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..frames import schemas
from ..frames.answer import Findings
from ..frames.relational import in_arrow
from ..model import figures
from ..model.findings import WARNING, Finding, Row
from ..model.grammar import format_word
from ..model.quota_keys import readable, rounded
from .limits_used import utilisation
from .metrics import RATES, WINDOW, bucket_rates, metric_columns, quota_samples

UTILIZATION = "quota-utilization"
"""What a bucket uses of its limit, in percent, as newer brokers measure it; NaN without a limit."""

DIFFERS = "utilisation-differs"
NOISE, NOISE_SHARE = 2.0, 0.1
"""Percentage points, and the share of the figure, by which two readings of one rate may differ."""

Place = tuple[int, str, str, str]
"""A bucket on a broker: broker, key, user and client-id, "" where a name is not part of the bucket."""

_KEYS_BY_TYPE = {kind: key for (kind, _), key in RATES.items()}


class UtilisationDifferences(Findings):
    """UTILISATION_DIFFERENCES; `measured` has the brokers' own figures, in percent, by `Place`."""

    schema = schemas.UTILISATION_DIFFERENCES

    def __init__(self, findings: Iterable[Finding], measured: Mapping[Place, float | None]) -> None:
        super().__init__(findings)
        self.measured = measured

    def _title(self) -> str:
        if not self.measured:
            return "these brokers do not measure utilisation themselves (KIP-1373)"
        return f"{len(self):,} of {len(self.measured):,} buckets differ from what their broker measures"


def utilisation_differences(metrics: Any, quotas: Any) -> UtilisationDifferences:
    """UTILISATION_DIFFERENCES: buckets whose broker measures another use of the limit than we do (KIP-1373).

    The broker's rate and the limit by Kafka's rules give our figure, its metric `quota-utilization` its own, both of
    the newest sample. Where they differ, the broker enforces another limit than the one that is stored.

    Parameters
    ----------
    metrics
        METRICS, as for `usage_from_metrics`.
    quotas
        QUOTAS, as anything that `resolve` takes.

    Raises
    ------
    UsageError, Invalid
        As `usage_from_metrics` and `utilisation`.
    """
    samples = _newest(quota_samples(in_arrow(metric_columns(metrics), task="Spark reads the metrics")))
    theirs = samples.filter(pc.equal(samples["name"], UTILIZATION))
    measured = {
        (row["broker"], _KEYS_BY_TYPE[row["type"]], row["user"], row["client_id"]): _number(row["value"])
        for row in theirs.to_pylist()
        if row["type"] in _KEYS_BY_TYPE
    }
    ours = in_arrow(utilisation(bucket_rates(samples, WINDOW), quotas), task="Spark compares the limits").to_pylist()
    whose = {place: row for row in ours if (place := _bucket_of(row)) in measured}
    differing = [(place, row) for place, row in whose.items() if _differs(row, measured[place])]
    found = [_difference(place, row, measured[place]) for place, row in differing]
    return UtilisationDifferences(found, {place: measured[place] for place in whose})


def _newest(samples: pa.Table) -> pa.Table:
    """The samples of each broker's last time."""
    last = samples.group_by(["broker"]).aggregate([("time", "max")])
    joined = samples.join(last, ["broker"])
    return joined.filter(pc.equal(joined["time"], joined["time_max"])).select(samples.column_names)


def _bucket_of(row: Row) -> Place:
    names = ("user", "client_id") if row["limit"] is None else ("bucket_user", "bucket_client_id")
    return (row["broker"], row["key"], *(row[name] or "" for name in names))


def _differs(row: Row, measured: float | None) -> bool:
    """True for more than what two readings of a rate in motion differ by."""
    ours = row["utilisation"]
    if ours is None or measured is None:
        return ours is not measured
    return bool(abs(ours - measured) > max(NOISE, NOISE_SHARE * max(ours, measured)))


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _difference(place: Place, row: Row, theirs: float | None) -> Finding:
    broker, key, user, client_id = place
    ours = row["utilisation"]
    enforced = row["peak"] / theirs * 100 if row["peak"] and theirs else None
    told = "knows no limit" if theirs is None else f"measures {figures.percent(theirs)}"
    meant = "" if enforced is None else f", as of a limit of {rounded(key, enforced)}"
    stored = "no limit applies" if row["limit"] is None else f"its limit is {readable(key, row['limit'])}"
    used = "" if ours is None else f", {figures.percent(ours)} used"
    message = f"broker {broker} {told}{meant}, where {stored}{used}"
    evidence = {"broker": broker, "level": row["level"], "limit": row["limit"], "utilisation": ours}
    bucket = " ".join(format_word(kind, name) for kind, name in (("user", user), ("client-id", client_id)) if name)
    return Finding(
        DIFFERS, WARNING, message, bucket, key, evidence={**evidence, "measured": theirs, "enforced": enforced}
    )
