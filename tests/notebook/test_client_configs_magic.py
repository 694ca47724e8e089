"""`%kadmin client-configs` in a notebook: the same commands, and frames as values."""

from __future__ import annotations

import pandas as pd
import pytest
from confluent_kafka.admin import AdminClient

from kadmin_nb.errors import Invalid
from tests.client_configs.raw_client import RawClient
from tests.client_configs.written_entries import make_config_topics, write_entry

pytestmark = pytest.mark.broker


def test_clients_are_frames_of_a_cell(live, kafka, name) -> None:
    """I wanted to count versions with pandas, and had a text."""
    config, user = {"bootstrap.servers": kafka.bootstrap}, name("user")
    make_config_topics(AdminClient(config))
    client = RawClient(config, user)
    client.register()
    client.say(write_entry(config, user, None, "acks", "1"), {"acks": "1"})
    registrations = live(f"%kadmin client-configs clients user={user}")
    assert isinstance(registrations, pd.DataFrame)
    assert list(registrations["version"]) == ["4.3.0"]
    assert list(live(f"%kadmin client-configs status user={user}")["state"]) == ["follows"]
    assert list(live(f"%kadmin client-configs clients user={user}")["follows"]) == [True]
    assert "<script" not in live("%kadmin client-configs init")._repr_html_()
    live.refused("%kadmin client-configs forget", Invalid)
