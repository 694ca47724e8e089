"""OAUTHBEARER: tokens of a server, of a file, and unsigned ones; a failure is one line, soon, without a secret."""

from __future__ import annotations

import json
import time

import pytest

import kadmin_nb as kn
from kadmin_nb.admin import bearer_tokens
from kadmin_nb.errors import AuthenticationFailed, ConnectionFailed, KadminError, TimedOut, Unsupported, UsageError
from kadmin_nb.model.connection_settings import TokenEndpoint, TokenFile
from kadmin_nb.profiles import settings_for
from kadmin_nb.secrets import Secret
from tests.self_signed import self_signed
from tests.token_server import jws, token_server
from tests.waiting import eventually

KAFKA = "org.apache.kafka.common.security.oauthbearer"
MODULE = f"{KAFKA}.OAuthBearerLoginModule"
CANARY = "xK9canary7Qz"
URL = "sasl.oauthbearer.token.endpoint.url"


def jaas(**options: object) -> str:
    return " ".join([MODULE, "required", *(f'{name}="{value}"' for name, value in options.items())]) + ";"


def oauth(url: str = "", **more: str) -> dict[str, str]:
    """Properties of a client that gets its tokens there; keys with `_` for `.`."""
    login = {URL: url, "sasl.jaas.config": jaas(clientId="quota-admin", clientSecret=CANARY, scope="kafka.admin")}
    java = {key.replace("_", "."): value for key, value in more.items()}
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"} | (login if url else {}) | java


def login_of(properties: dict[str, str]):
    return settings_for("a:1", properties).token_login


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> str:
    return self_signed(tmp_path_factory.mktemp("tokens"), 60, "localhost")


@pytest.mark.secure
def test_client_credentials_over_tls(secure_kafka, certificate, monkeypatch):
    """Our Java clients log in with a token of Keycloak; this tool could not."""
    with token_server(lambda: (200, {"access_token": jws(), "expires_in": 3600}), certificate) as server:
        monkeypatch.setenv("SSL_CERT_FILE", certificate)
        properties = oauth(server.url)
        properties["sasl.login.callback.handler.class"] = f"{KAFKA}.OAuthBearerLoginCallbackHandler"
        with kn.connect(secure_kafka.bootstrap, properties=properties) as cluster:
            assert [broker.id for broker in cluster.port.brokers()] == [1]
        assert kn.doctor(secure_kafka.bootstrap, properties=properties).ok
    asked = ("quota-admin:" + CANARY, {"grant_type": "client_credentials", "scope": "kafka.admin"})
    assert server.requests == [asked]


@pytest.mark.secure
def test_a_token_of_a_file(secure_kafka, tmp_path):
    """A sidecar renews our token in a file, as FileJwtRetriever reads it."""
    file = tmp_path / "token"
    file.write_text(jws() + "\n")
    retriever = {"sasl.oauthbearer.jwt.retriever.class": f"{KAFKA}.FileJwtRetriever"}
    with kn.connect(secure_kafka.bootstrap, properties=oauth(file.as_uri()) | retriever) as cluster:
        assert [broker.id for broker in cluster.port.brokers()] == [1]


@pytest.mark.secure
def test_a_session_goes_on_with_new_tokens(secure_kafka):
    """The notebook was open over lunch, and every call failed after that."""
    with (
        token_server(lambda: (200, {"access_token": jws(lifetime=1.5)})) as server,
        kn.connect(secure_kafka.bootstrap, properties=oauth(server.url)) as cluster,
    ):
        connection = next(iter(cluster.port.wire._manager._conns.values()))
        eventually(lambda: len(server.requests) >= 3, True)
        assert [broker.id for broker in cluster.port.brokers()] == [1]
        assert connection.connected


BAD_SERVERS = {
    "wrong secret": ((401, {"error": f"invalid_client {CANARY}"}), AuthenticationFailed, "HTTP 401 Unauthorized"),
    "silence": (None, TimedOut, " within 0.6 s"),
    "a huge answer": ((200, b" " * 100_000), AuthenticationFailed, "has no access_token, or is too long"),
    "no token": ((200, {"token": CANARY}), AuthenticationFailed, "has no access_token, or is too long"),
    "no JSON": ((200, b"<html>" + CANARY.encode()), AuthenticationFailed, "has no access_token, or is too long"),
    "not a token": ((200, {"access_token": f"{CANARY}\u0001auth=x"}), AuthenticationFailed, "is not a token"),
    "an expired token": ((200, {"access_token": jws(lifetime=-60)}), AuthenticationFailed, " expired at "),
    "elsewhere": ((302, {}), AuthenticationFailed, "HTTP 302 Found"),
}


@pytest.mark.secure
@pytest.mark.parametrize(("answer", "kind", "words"), BAD_SERVERS.values(), ids=BAD_SERVERS)
def test_a_token_server_that_gives_none(secure_kafka, monkeypatch, answer, kind, words):
    """`Failed to authenticate`, it said, and neither why nor who."""
    monkeypatch.setattr(bearer_tokens, "TOKEN_TIMEOUT", 0.6)
    started = time.monotonic()
    with token_server(answer) as server:
        properties = oauth(server.url)
        with pytest.raises(kind) as caught:
            kn.connect(secure_kafka.bootstrap, properties=properties)
        page = kn.doctor(secure_kafka.bootstrap, properties=properties)
    assert time.monotonic() - started < 25
    assert words in str(caught.value)
    assert server.url in str(caught.value)
    assert caught.value.hint
    (failed,) = page.failed.to_arrow().to_pylist()
    assert failed["check"] in ("login", "connection")
    assert words in failed["note"]
    shown = [*caught.value.lines(), page.as_text(), page.as_html(), json.dumps(page.to_arrow().to_pylist())]
    assert not [text for text in shown if CANARY in text]
    assert "\n" not in str(caught.value)


@pytest.mark.secure
def test_a_token_that_the_broker_refuses(secure_kafka):
    """The audience was wrong, and the tool asked me to check my password."""
    with token_server(lambda: (200, {"access_token": jws(exp="never"), "expires_in": 60})) as server:
        for _ in range(2):
            with pytest.raises(AuthenticationFailed, match="invalid_token") as caught:
                kn.connect(secure_kafka.bootstrap, properties=oauth(server.url))
        assert len(server.requests) == 2  # a refused token is not used again
    assert "of a token its issuer, audience and scope" in caught.value.hint


def test_a_certificate_that_we_do_not_trust(certificate):
    """The token server was another's, and was sent our secret."""
    with (
        token_server((200, {"access_token": jws()}), certificate) as server,
        pytest.raises(ConnectionFailed, match=r"no token of https://localhost.*self-signed certificate") as caught,
    ):
        bearer_tokens.tokens_of(login_of(oauth(server.url))).token()
    assert server.requests == []
    assert "certificate" in caught.value.hint


@pytest.mark.parametrize(
    ("content", "words"),
    [("root:x:0:0:root:/root:/bin/bash\n", "does not hold a token"), (jws(lifetime=-60), " expired at ")],
    ids=["another file", "expired"],
)
def test_a_file_without_a_good_token(tmp_path, content, words):
    """CVE-2025-27817: a settings file of somebody else's sent /etc/passwd to his broker."""
    file = tmp_path / "token"
    file.write_text(content)
    with pytest.raises(AuthenticationFailed, match=words) as caught:
        bearer_tokens.tokens_of(login_of(oauth(file.as_uri()))).token()
    assert "root:x" not in "".join(caught.value.lines())


def test_the_keys_of_kafka_4_and_the_options_of_jaas():
    """Kafka 4.1 has keys for what stood in sasl.jaas.config; both have to work, the keys first."""
    keys = {
        "sasl.oauthbearer.client.credentials.client.id": "id", "sasl.oauthbearer.scope": "s",
        "sasl.oauthbearer.client.credentials.client.secret": CANARY,
        "sasl.oauthbearer.jwt.retriever.class": f"{KAFKA}.DefaultJwtRetriever",
    }  # fmt: skip
    url = "https://idp.example.com/token"
    login = login_of(oauth(url, sasl_jaas_config=jaas(clientId="other", extension_logicalCluster="lkc-1")) | keys)
    assert login.source == TokenEndpoint(url, "id", Secret(CANARY), "s")
    assert login.extensions == (("logicalCluster", "lkc-1"),)
    assert CANARY not in repr(login)
    assert login_of(oauth("file:///var/run/a \u00fc")).source == TokenFile("/var/run/a \u00fc")
    assert login_of(oauth("file:///var/run/a%20token")).source == TokenFile("/var/run/a token")


@pytest.mark.parametrize(
    ("properties", "kind", "words"),
    [
        (oauth("http://idp.example.com/token"), Unsupported, "http://, which would send the client's secret"),
        (oauth(f"https://u:{CANARY}@idp.example.com"), UsageError, "without a login"),
        (oauth("ftp://idp.example.com"), UsageError, "is not an https:// address"),
        (oauth("file://server/token"), UsageError, "is not an https:// address"),
        (oauth(), UsageError, f"OAUTHBEARER needs {URL}"),
        (oauth("https://a/t", sasl_jaas_config=jaas(clientId="a")), UsageError, "no secret of a client"),
        (oauth("https://a/t", sasl_login_callback_handler_class="com.x.Mine"), Unsupported, "no class is loaded"),
    ],
)
def test_a_login_that_is_not_one(properties, kind, words):
    """The first call failed, half an hour after the wrong line was read."""
    with pytest.raises(KadminError) as caught:
        settings_for("a:1", properties)
    assert type(caught.value) is kind
    assert words in str(caught.value)
    assert CANARY not in "".join(caught.value.lines())


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1", "https://\u2100/", "https://a:b/", "https://a:99999/", "https://a..b/", f"https://{'a' * 64}/",
        "https://a/\u00fc", "https://a b/", "https://\udcff/", "file://[",
    ],
    ids=ascii,
)  # fmt: skip
def test_an_address_that_nobody_can_ask(url):
    """`ValueError: Invalid IPv6 URL`, and where it stood I had to guess from a stack trace."""
    with pytest.raises(UsageError, match=f"{URL} is not an https:// address"):
        settings_for("a:1", oauth(url))


def test_the_secret_stands_only_behind_a_reference(profiles, monkeypatch):
    """The client's secret was committed with the profiles."""
    key = "sasl.oauthbearer.client.credentials.client.secret"
    text = '[profiles.x]\nbootstrap = "a:1"\nsecurity.protocol = "SASL_SSL"\nsasl.mechanism = "OAUTHBEARER"\n'
    text += f'{URL} = "https://a/t"\nsasl.oauthbearer.client.credentials.client.id = "id"\n'
    profiles(f'{text}{key} = "{CANARY}"\n')
    with pytest.raises(UsageError, match="is a literal secret"):
        settings_for("x")
    monkeypatch.setenv("IDP_SECRET", CANARY)
    profiles(f'{text}{key} = "env:IDP_SECRET"\n')
    assert settings_for("x").token_login.source.client_secret.reveal() == CANARY
