"""IAM logins of Amazon MSK: the files of its Java library, and tokens of its signer, made without a network."""

from __future__ import annotations

import base64
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

import kadmin_nb as kn
from kadmin_nb.admin import bearer_tokens
from kadmin_nb.errors import AuthenticationFailed, Unsupported, UsageError
from kadmin_nb.model.connection_settings import AwsSigner
from kadmin_nb.profiles import settings_for

MSK = "software.amazon.msk.auth.iam"
BROKERS = "b-1.demo.abc.c2.kafka.eu-west-1.amazonaws.com:9098,b-2.demo.abc.c2.kafka.eu-west-1.amazonaws.com:9098"
FILES = {
    "AWS_MSK_IAM": {
        "sasl.mechanism": "AWS_MSK_IAM",
        "sasl.jaas.config": f"{MSK}.IAMLoginModule required;",
        "sasl.client.callback.handler.class": f"{MSK}.IAMClientCallbackHandler",
    },
    "OAUTHBEARER": {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
        "sasl.login.callback.handler.class": f"{MSK}.IAMOAuthBearerLoginCallbackHandler",
        "sasl.client.callback.handler.class": f"{MSK}.IAMOAuthBearerLoginCallbackHandler",
    },
}
TLS = {"security.protocol": "SASL_SSL"}


@pytest.fixture
def aws(monkeypatch, tmp_path):
    """Credentials that are nobody's, and nothing else that AWS would ask."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "xK9canary7Qz")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    bearer_tokens.tokens_of.cache_clear()


@pytest.mark.parametrize("properties", FILES.values(), ids=FILES)
def test_a_token_of_the_signer_goes_to_the_broker(aws, properties):
    """The file of our Java jobs for Amazon MSK was refused, by the name of a class."""
    settings = settings_for(BROKERS, TLS | properties)
    assert (settings.mechanism, settings.token_login.source) == ("OAUTHBEARER", AwsSigner("eu-west-1"))
    assert settings.ignored == ()
    text = bearer_tokens.tokens_of(settings.token_login).token().text.reveal()
    url = urlsplit(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode())
    query = parse_qs(url.query)
    assert (url.hostname, query["Action"]) == ("kafka.eu-west-1.amazonaws.com", ["kafka-cluster:Connect"])
    assert query["X-Amz-Credential"][0].startswith("AKIAEXAMPLE/")
    assert query["X-Amz-Expires"] == ["900"]


@pytest.mark.secure
def test_the_mechanism_is_given_the_token(aws, secure_kafka, monkeypatch):
    """It was signed, and then the broker was asked in a mechanism that only AWS's Java library speaks."""
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    properties = FILES["AWS_MSK_IAM"] | {"security.protocol": "SASL_PLAINTEXT"}
    with pytest.raises(AuthenticationFailed, match="invalid_token") as caught:  # this one checks another kind of token
        kn.connect(secure_kafka.bootstrap, properties=properties)
    assert "AWS in eu-west-1" in caught.value.hint


def test_without_the_extra_a_line_names_it(aws, monkeypatch):
    """`ModuleNotFoundError: aws_msk_iam_sasl_signer`, and no word of how to get it."""
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", None)
    login = settings_for(BROKERS, TLS | FILES["AWS_MSK_IAM"]).token_login
    with pytest.raises(Unsupported) as caught:
        bearer_tokens.tokens_of(login).token()
    assert caught.value.hint == "pip install 'kadmin_nb[msk]'"


def test_a_machine_without_credentials(aws, monkeypatch):
    """`'NoneType' object has no attribute 'access_key'`."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    login = settings_for(BROKERS, TLS | FILES["AWS_MSK_IAM"]).token_login
    with pytest.raises(AuthenticationFailed, match="no token of AWS in eu-west-1: no credentials") as caught:
        bearer_tokens.tokens_of(login).token()
    assert "aws sts get-caller-identity" in str(caught.value)


def test_a_profile_and_a_role(aws):
    """The role stood in the file, and we logged in as somebody else."""
    options = 'awsProfileName="ops" awsRoleArn="arn:aws:iam::1:role/quotas"'
    text = f"{MSK}.IAMLoginModule required {options};"
    login = settings_for(BROKERS, TLS | FILES["AWS_MSK_IAM"] | {"sasl.jaas.config": text}).token_login
    assert login.source == AwsSigner("eu-west-1", "ops", "arn:aws:iam::1:role/quotas")


ROLE = "arn:aws:iam::123456789012:role/quota-admin"
ANSWER = b"""<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>
<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""


@pytest.fixture
def sts(monkeypatch):
    """The requests to a server that gives credentials of any role: the form, and who signed for which region."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            requests.append((form, self.headers["Authorization"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(ANSWER)))
            self.end_headers()
            self.wfile.write(ANSWER)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://127.0.0.1:{server.server_port}")
    yield requests
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("options", "session", "region"),
    [
        ('awsRoleSessionName="quota-admin" awsStsRegion="eu-central-1"', "quota-admin", "eu-central-1"),
        ('awsStsRegion="eu-central-1"', "MSKSASLDefaultSession", "eu-central-1"),
        ('awsRoleSessionName="quota-admin"', "quota-admin", "us-east-2"),
    ],
)
def test_the_session_and_the_region_of_a_role(aws, sts, monkeypatch, options, session, region):
    """The readme of Amazon's library has both beside awsRoleArn: `sets an option that is not supported`."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-2")
    text = f'{MSK}.IAMLoginModule required awsRoleArn="{ROLE}" {options};'
    login = settings_for(BROKERS, TLS | FILES["AWS_MSK_IAM"] | {"sasl.jaas.config": text}).token_login
    token = bearer_tokens.tokens_of(login).token().text.reveal()
    query = parse_qs(urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()).query)
    assert query["X-Amz-Credential"][0].startswith("ASIAROLE/")
    ((form, signed),) = sts
    assert (form["RoleArn"], form["RoleSessionName"]) == ([ROLE], [session])
    assert f"/{region}/sts/aws4_request" in signed


def test_an_option_of_the_module_is_named(aws):
    """`sets an option that is not supported`, of five that are there."""
    text = f'{MSK}.IAMLoginModule required awsRoleARN="{ROLE}" awsDebugCreds="true";'
    settings = settings_for(BROKERS, TLS | FILES["AWS_MSK_IAM"] | {"sasl.jaas.config": text})
    assert settings.ignored == ("awsDebugCreds in sasl.jaas.config", "awsRoleARN in sasl.jaas.config")


def test_the_classes_under_the_names_that_databricks_gives_them(aws):
    """On Databricks the library is shadedmskiam.software.amazon.msk…, and was refused by that name."""
    shaded = {key: value.replace(MSK, f"shadedmskiam.{MSK}") for key, value in FILES["AWS_MSK_IAM"].items()}
    assert settings_for(BROKERS, TLS | shaded).token_login.source == AwsSigner("eu-west-1")


def test_a_region_that_nothing_names(aws):
    """Behind our own DNS names the signer had no region, and told nobody."""
    with pytest.raises(UsageError, match="the region of AWS is not known") as caught:
        settings_for("kafka.example.com:9098", TLS | FILES["AWS_MSK_IAM"])
    assert "AWS_REGION" in caught.value.hint
