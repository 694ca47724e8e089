"""What all tests share: one local Kafka a session, and names that no other test uses."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from hypothesis import HealthCheck, settings

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from tests.browser.presence import ABSENT as NO_BROWSER
from tests.browser.presence import chromium
from tests.prometheus.installed import ABSENT as NO_PROMETHEUS
from tests.prometheus.installed import prometheus
from tests.side_by_side import Groups, rank_of
from tests.spark_archive import submit_options
from tests.tried import Tried
from tests.waiting import eventually

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")  # how long an example takes says how busy the machine is, not what the code does
os.environ.setdefault("KADMIN_CONFIG", os.devnull)
_state = tempfile.TemporaryDirectory(prefix="kadmin-nb-tests-")
os.environ["KADMIN_STATE"] = _state.name  # journals and local Kafkas of the tests, and of nobody else
os.environ.setdefault("SPARK_SUBMIT_OPTS", submit_options())
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # jsonschema builds its 38 parsers: seconds
_children = str(Path(__file__).with_name("children"))  # the same in the processes that tests start
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [_children, os.environ.get("PYTHONPATH")]))
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job is started with it ignored


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tried", metavar="FILE", type=Path, help="keep in it the versions that tests passed on")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Tried(config.option.tried))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes half an hour, or further Kafkas, runs only where `-m` names it; what takes minutes begins first."""
    for marker in ("long", "versions"):
        if marker not in config.option.markexpr:
            config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker(marker)])
            items[:] = [item for item in items if not item.get_closest_marker(marker)]
    _leave_out_what_needs_tools(config, items)
    slow_files = {item.path for item in items if any(marker.name in SLOW for marker in item.iter_markers())}
    items.sort(key=lambda item: (rank_of(item.nodeid), item.path not in slow_files))


TOOLS = {"browser": (chromium, NO_BROWSER), "prometheus": (prometheus, NO_PROMETHEUS)}
"""The folders of tests that need something of the machine: what finds it, and the line where it is not there."""


def _leave_out_what_needs_tools(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without its tool a folder's tests do not run; the last lines say so, and where `CI` is set the run fails."""
    for folder, (tool, _) in TOOLS.items():
        of_folder = [item for item in items if item.nodeid.startswith(f"tests/{folder}/")]
        if of_folder and tool() is None:
            config.hook.pytest_deselected(items=of_folder)
            items[:] = [item for item in items if item not in of_folder]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for line in _lacking(config):
        terminalreporter.write_line(line, yellow=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _lacking(session.config) and os.environ.get("CI"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _lacking(config: pytest.Config) -> list[str]:
    """A line for each tool without which tests of a whole run, or of its folder, cannot run."""
    if "slow" in config.option.markexpr:
        return []
    asked = {Path(word.partition("::")[0]).name for word in config.args}
    return [line for folder, (tool, line) in TOOLS.items() if asked & {"tests", folder} and tool() is None]


SLOW = ("broker", "secure", "slow", "spark")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Side by side: files stay whole, and all that shares a Spark session or other Kafkas stays in one process."""
    config.option.loadscopereorder = False  # the order of the collection is the better one
    return Groups(config, log)


@pytest.fixture(scope="session")
def kafka() -> Iterator[LocalKafka]:
    """A real Kafka of one node, without authorisation."""
    with kn.local.start() as running:
        yield running


@pytest.fixture(scope="session")
def cluster(kafka: LocalKafka) -> Iterator[kn.Cluster]:
    """A connection to it."""
    with kafka.connect() as connected:
        yield connected


@pytest.fixture(scope="module")
def three() -> Iterator[LocalKafka]:
    """Three nodes that notice soon when one is gone; of a file's own, which may kill them."""
    soon = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "400"}
    with kn.local.start(nodes=3, extra=soon) as running:
        yield running


@pytest.fixture(scope="session")
def secure_kafka() -> Iterator[LocalKafka]:
    """A real Kafka with SASL and the standard authorizer; `connect()` is the super user.

    OAUTHBEARER is one of its mechanisms: it takes tokens that nobody signed, and looks at their claims alone.
    """
    with kn.local.start(secure=True, extra=UNSECURED_OAUTHBEARER) as running:
        yield running


UNSECURED_OAUTHBEARER = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config":
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
}  # fmt: skip


_numbers = itertools.count(1)


@pytest.fixture
def unique(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Names that no other test uses: `unique("user")` gives `user-17`."""
    return lambda stem="name": f"{stem}-{next(_numbers)}"


@pytest.fixture(scope="session")
def make_topic(cluster: kn.Cluster) -> Callable[[LocalKafka, str], str]:
    """Makes a topic, and waits until it can be described."""

    def make(kafka: LocalKafka, name: str) -> str:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic(name, 1, 1)], operation_timeout=30)[name].result()
        eventually(lambda: cluster.configs.describe(topic=name).ok, True)
        return name

    return make


@pytest.fixture
def topic(kafka: LocalKafka, make_topic, unique) -> str:
    return make_topic(kafka, unique("topic"))


@pytest.fixture
def full_topic(kafka: LocalKafka, topic: str) -> str:
    """A topic with a record: only there is a shorter retention dangerous."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    producer.produce(topic, b"a record")
    assert producer.flush(30) == 0
    return topic
