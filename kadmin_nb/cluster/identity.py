"""Our name, as others know us: the platform, or the broker that let us in. Never what a parameter says."""

from __future__ import annotations

from .. import databricks
from ..frames.spark import active_session
from ..model.connection_settings import Settings
from ..plans.author import PLATFORM


def user_in_words(settings: Settings) -> str | None:
    """`databricks:alice@example.com` there, else `User:alice` for a login that the broker checked; else None.

    What a broker calls the owner of a certificate is its own affair, and Kafka has no request that asks.
    """
    if databricks.is_here() and (user := _platform_user()):
        return f"{PLATFORM}{user}"
    return settings.principal


def _platform_user() -> str | None:
    session = active_session()
    return None if session is None else str(session.sql("SELECT current_user()").first()[0])  # type: ignore[index]
