"""What `admin` uses of kafka-python that nobody promised to keep. When one of these fails, read its sentence first."""

from __future__ import annotations

import ast
import inspect
import re
from importlib.metadata import requires, version
from pathlib import Path
from types import SimpleNamespace

import kafka.errors
import pytest
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.sasl.scram import ScramClient
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaTCPTransport
from kafka.protocol.admin.client_quotas import DescribeClientQuotasResponse
from kafka.protocol.admin.configs import DescribeConfigsResponse
from kafka.protocol.api_header import RequestHeader
from kafka.protocol.parser import KafkaProtocol

import kadmin_nb.admin

ROOM = Path(kadmin_nb.admin.__file__).parent


def test_the_minor_version_is_pinned():
    """A patch of 3.0 may be taken; 3.1 needs this file to be read again, then the pin moved."""
    assert re.match(r"3\.0\.", version("kafka-python"))
    pins = [r for r in requires("kadmin_nb") or [] if r.startswith("kafka-python")] if _is_installed() else []
    assert all("<3.1" in pin for pin in pins)


def _is_installed() -> bool:
    try:
        return bool(version("kadmin_nb"))
    except Exception:
        return False


@pytest.mark.slow
def test_one_file_touches_the_inner_modules():
    """Whoever else needs `kafka.net` asks `admin.connections`."""
    users = set()
    for file in ROOM.parent.rglob("*.py"):
        tree = ast.parse(file.read_text())
        modules = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and not n.level]
        modules += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
        if any(m.startswith("kafka.net") for m in modules):
            users.add(file.name)
    assert users == {"connections.py"}


MEMBERS = {
    "the thread is started, stopped and closed by us": (
        NetworkSelector,
        ["start", "run_forever", "wakeup", "close", "call_at"],
    ),
    "brokers are reached through the manager": (
        KafkaConnectionManager,
        ["bootstrap_async", "get_connection", "least_loaded_node", "wait_for", "call_soon", "close"],
    ),
    "our bootstrap, of all addresses side by side, takes the place of the library's": (
        KafkaConnectionManager,
        ["_do_bootstrap", "connection_delay"],
    ),
    "what came before the end of a connection is read": (KafkaTCPTransport, ["_sock_recv"]),
    "a connection says when it is ready, and sends": (KafkaConnection, ["init_future", "send_request", "pause"]),
    "our parser takes the place of the library's when a connection is made": (KafkaConnection, ["connection_made"]),
    "the parser hands over bytes, and knows the largest answer": (
        KafkaProtocol,
        ["receive_bytes", "_validate_frame_size"],
    ),
    "the header names that class": (RequestHeader, ["get_response_class"]),
    "the answer's header is read apart from its body": (DescribeClientQuotasResponse, ["parse_header", "decode"]),
}


@pytest.mark.parametrize(("owner", "names"), MEMBERS.values(), ids=MEMBERS)
def test_a_member_is_there(owner, names):
    """Without it `admin.wire` or `admin.wire_kinds` cannot work."""
    assert [name for name in names if not hasattr(owner, name)] == []


def test_what_is_set_on_instances_is_there():
    """Attributes that only objects have: the thread, the metadata, the marks of a throttled connection."""
    net = NetworkSelector()
    manager = KafkaConnectionManager(net, bootstrap_servers="localhost:1")
    try:
        assert net._io_thread is None
        assert manager._conns == {}
        for name in (
            "bootstrap_brokers",
            "start_refresh_loop",
            "brokers",
            "broker_metadata",
            "metadata_request",
            "update_metadata",
        ):
            assert callable(getattr(manager.cluster, name))
        connection = KafkaConnection(net)
        assert (connection.paused, connection.connected) == (set(), False)
    finally:
        manager.close()
        net.close()


def test_a_connection_reads_with_our_parser():
    """With the library's own, a garbled answer is waited for until the time-out, and a length takes its memory."""
    from kadmin_nb.admin.connections import AnswerParser, Connection, Manager

    net = NetworkSelector()
    manager = Manager(net, bootstrap_servers="localhost:1")
    try:
        connection = manager.get_connection("bootstrap-0")
        assert type(connection) is Connection
        connection.connection_made(
            SimpleNamespace(get_protocol=lambda: connection, resume_reading=lambda: None, _sock_recv=None)
        )
        assert type(connection.parser) is AnswerParser
        assert not connection.parser.in_flight_requests
        connection.transport = None
    finally:
        manager.close()
        net.close()


def test_settings_keep_their_names():
    """A renamed option is silently ignored by the library: a password or the TLS context would not arrive."""
    from kadmin_nb.admin.connections import config
    from kadmin_nb.model.connection_settings import Settings

    assert set(config(Settings("h:1"), 1.0)) <= set(KafkaConnectionManager.DEFAULT_CONFIG)


def test_the_calls_take_what_we_give():
    """A parameter that was renamed fails only when it is first used."""
    assert "request_timeout_ms" in inspect.signature(KafkaConnection.send_request).parameters
    assert list(inspect.signature(KafkaConnectionManager.wait_for).parameters) == ["self", "future", "timeout_ms"]
    assert next(iter(inspect.signature(NetworkSelector.stop).parameters.values()), None) is not None
    assert "timeout_ms" in inspect.signature(NetworkSelector.stop).parameters


def test_a_request_that_keeps_its_answer_as_bytes():
    """The fast decoder lives on a request whose header names our class, and on a fixed version."""
    from kadmin_nb.admin.wire_kinds import _configs_request, _quotas_request, _RawAnswer

    for request, api, latest in (
        (_quotas_request((), False), 48, 1),
        (_configs_request([], None, synonyms=True, documentation=False), 32, 4),
    ):
        request.with_header(correlation_id=1, client_id="x")
        assert request.header.get_response_class() is _RawAnswer
        assert (request.API_KEY, request.API_VERSION, max(request.valid_versions)) == (api, latest, latest)


def test_one_entry_of_a_config_answer_is_read_alone():
    """The decoder of configs has the library read the entries that differ, each at its place in the frame."""
    result = DescribeConfigsResponse.DescribeConfigsResult
    assert callable(result.DescribeConfigsResourceResult._struct.array_of.compiled_decode_from)


def test_the_library_still_forgets_the_escapes_of_scram_names():
    """When it learns them, `admin.connections._username` must stop, or `a=b` logs in as `a=3Db`."""
    client = ScramClient("a=b,c", "secret", "SCRAM-SHA-512")
    assert b"n=a=b,c," in client.first_message()


ERRORS = [
    "KafkaError",
    "KafkaTimeoutError",
    "RequestTimedOutError",
    "KafkaConnectionError",
    "NodeNotReadyError",
    "UnknownBrokerIdError",
    "IncompatibleBrokerVersion",
    "UnsupportedVersionError",
    "KafkaProtocolError",
    "InvalidReceiveError",
    "SaslAuthenticationFailedError",
    "UnsupportedSaslMechanismError",
]


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_still_a_kafka_error(name):
    """`admin.codes` translates KafkaError; one that is none would reach the notebook raw."""
    assert issubclass(getattr(kafka.errors, name), kafka.errors.KafkaError)


def test_error_names_come_from_the_library():
    """Rows carry Kafka's names of errors, read from the library's table."""
    assert kafka.errors.kafka_errors[31].message == "CLUSTER_AUTHORIZATION_FAILED"
