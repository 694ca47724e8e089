"""The keys that count are Kafka's own, and the dangerous ones are refused by name."""

from __future__ import annotations

import re
import zipfile

import pytest

from kadmin_nb.errors import Unsupported
from kadmin_nb.local import find_jars
from kadmin_nb.profiles import settings_for
from kadmin_nb.profiles.java_properties import CLASSES, REFUSED, USED
from tests.admin.versions import EVERY_DAY


@pytest.mark.parametrize(
    "key",
    [*sorted(REFUSED), "config.providers.file.class", "config.providers.env.param.x",
     "sasl.oauthbearer.assertion.file", "sasl.oauthbearer.assertion.private.key.passphrase", *CLASSES],
)  # fmt: skip
def test_a_key_that_matters_and_is_not_honoured_is_refused_by_name(client, key):
    """CVE-2025-27817, CVE-2024-31141: what a client file can make a client do."""
    with pytest.raises(Unsupported, match=re.escape(key)):
        settings_for(client(f"bootstrap.servers=a:1\n{key}=x\n"))


_HOMES = [
    f"org/apache/kafka/clients/{name}.class"
    for name in ("CommonClientConfigs", "admin/AdminClientConfig", "producer/ProducerConfig", "consumer/ConsumerConfig")
]
_HOMES += [f"org/apache/kafka/common/config/{name}.class" for name in ("SaslConfigs", "SslConfigs", "SecurityConfig")]


@pytest.fixture(scope="module")
def client_jars():
    """Of each version; looked up before a test moves the user's home, and the cache with it."""
    jars = [jar for version in EVERY_DAY for jar in find_jars(version).jars]
    return [jar for jar in jars if jar.name.startswith("kafka-clients-")]


@pytest.mark.broker
def test_the_keys_are_those_in_kafkas_own_classes(client_jars):
    """Kafka 4.4 has a key that you have never heard of."""
    words = set().union(*map(_words, client_jars))
    assert {*USED, *REFUSED} - words <= {"sasl.oauthbearer.assertion"}
    assert {word for word in words if word.endswith(".class") and word.startswith(("sasl.", "ssl."))} <= {
        *CLASSES, *REFUSED, "sasl.server.callback.handler.class"
    }  # fmt: skip


def _words(jar):
    """The lower-case dotted constants of the configuration classes."""
    with zipfile.ZipFile(jar) as archive:
        content = b"".join(archive.read(name) for name in _HOMES)
    found = re.finditer(rb"\x01\x00(.)([a-z0-9.]+)", content, re.DOTALL)
    return {match[2][: match[1][0]].decode() for match in found if len(match[2]) >= match[1][0]}
