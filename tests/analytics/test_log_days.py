"""Days of request logs, by the clocks that their files are named by."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.model import config_units as times
from kadmin_nb.usage import covered

LOS_ANGELES, AUCKLAND = "America/Los_Angeles", "Pacific/Auckland"
FOUR_O_CLOCK = datetime(2026, 11, 26, 4, tzinfo=UTC)
"""When the daily job runs."""


class _AtFour(datetime):
    @classmethod
    def now(cls, tz=None):
        return FOUR_O_CLOCK.astimezone(tz)


def window(broker: int, start: datetime, minutes: int = 1) -> dict[str, object]:
    return {"broker": broker, "window_start": start, "window_end": start + timedelta(minutes=minutes)}


@pytest.mark.parametrize(
    ("tz", "wanted"),
    [
        (None, (date(2026, 11, 25), "2026-11-25 00:00", "2026-11-26 00:00", date(2026, 11, 25))),
        (LOS_ANGELES, (date(2026, 11, 24), "2026-11-24 08:00", "2026-11-25 08:00", date(2026, 11, 25))),
        (AUCKLAND, (date(2026, 11, 25), "2026-11-24 11:00", "2026-11-25 11:00", date(2026, 11, 25))),
        ("+05:30", (date(2026, 11, 25), "2026-11-24 18:30", "2026-11-25 18:30", date(2026, 11, 25))),
    ],
)
def test_yesterday_is_over_where_the_brokers_are(monkeypatch, tz, wanted) -> None:
    """At four o'clock UTC it was eight in the evening there: the job read the day, and its last four hours never."""
    monkeypatch.setattr(times, "datetime", _AtFour)
    day = kn.usage.log_day("yesterday", tz)
    assert (day.date, f"{day.since:%Y-%m-%d %H:%M}", f"{day.until:%Y-%m-%d %H:%M}", day.last_day) == wanted
    assert day.until <= FOUR_O_CLOCK


@pytest.mark.parametrize(("day", "hours"), [("2026-03-08", 23), ("2026-11-01", 25)])
def test_a_day_on_which_clocks_are_put_has_its_hours(day: str, hours: int) -> None:
    """Each year one hour was missing in all logs, and one was there twice."""
    on = kn.usage.log_day(day, LOS_ANGELES)
    assert on.until - on.since == timedelta(hours=hours)


@pytest.mark.parametrize(
    ("tz", "wanted"),
    [
        (None, [("2026-11-20", 1440, 3)]),
        (LOS_ANGELES, [("2026-11-20", 1440, 2), ("2026-11-21", 480, 1)]),
        (AUCKLAND, [("2026-11-19", 1440, 2), ("2026-11-20", 660, 1)]),
    ],
)
def test_utilisation_of_a_day_of_logs_counts_what_could_be_read(tz, wanted) -> None:
    """West and east of Greenwich the last day was mostly idle, and no limit was ever near on it."""
    day = kn.usage.log_day("2026-11-20", tz)
    used = {"user": "alice", "client_id": "app", "key": "producer_byte_rate", "value": 900.0, "source": "test"}
    rows = [{**used, **window(1, day.since + timedelta(hours=hour))} for hour in (1, 12, 23)]
    usage = schemas.table(schemas.USAGE, rows)
    limits = [{"entity": "user=alice", "level": "USER", "user": "alice", "key": "producer_byte_rate", "value": 1000.0}]
    days = (day.last_day - timedelta(days=1), day.last_day)
    quotas = schemas.table(schemas.QUOTAS, limits)
    found = kn.usage.utilisation_daily(usage, quotas, watched=day.until, days=days).to_pylist()
    told = sorted((str(row["day"]), row["windows"], row["windows_seen"]) for row in found)
    assert told == wanted


@pytest.mark.parametrize(
    ("day", "tz", "says"),
    [("21.11.2026", None, "21.11.2026 is not a day"), ("yesterday", "Mars/Olympus", "Mars/Olympus is not a time zone")],
)
def test_what_is_no_day_and_no_zone_is_named(day: str, tz: str | None, says: str) -> None:
    """ValueError: Invalid isoformat string."""
    with pytest.raises(kn.UsageError, match=says):
        covered.log_day(day, tz)
