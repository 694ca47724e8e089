"""A canary in every place where a secret may stand, or may slip to; no error, text or traceback sings it."""

from __future__ import annotations

import pickle
import traceback

import pytest

from kadmin_nb.errors import KadminError
from kadmin_nb.profiles import settings_for

CANARY = "xK9canary7Qz"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
TLS = "bootstrap.servers=a:1\nsecurity.protocol=SSL\n"
START = "bootstrap.servers=a:1\nsecurity.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"

TEXTS = [
    f'{SCRAM} required username="u" password="{CANARY}"',
    f'{SCRAM} required username="u" password="{CANARY};',
    f'{SCRAM} required username="u" password={CANARY}@x;',
    f'{SCRAM} required username="u" password=@{CANARY};',
    f'{SCRAM} required username="u" password="{CANARY}" {CANARY};',
    f'{SCRAM} required username="u" password=pass {CANARY}="x";',
    f'{SCRAM} required username="u" password="{CANARY}"; {CANARY}',
    f'{SCRAM} required username="u" password="{CANARY}" tokenauth=true;',
    f'{SCRAM} required username="" password="{CANARY}";',
    f'{SCRAM} username="u" password="{CANARY}";',
    f"{SCRAM} {CANARY};",
    f'com.evil.LoginModule required password="{CANARY}";',
    f'com.evil.LoginModule required "{CANARY}',
    f"{CANARY} required;",
    f'"{CANARY}"',
    CANARY,
]
FILES = [
    *(f"{START}sasl.jaas.config={text}\n" for text in TEXTS),
    f'{START}sasl.jaas.config={SCRAM} required \n  username="u"\n  password="{CANARY}";\n',
    f'{START}sasl.jaas.config={SCRAM} required \n  "{CANARY}";\n',
    f"{START}{CANARY}\n",
    f"{START}{CANARY}/+==\n",
    f"{START}password={CANARY}\n",
    f"{START}sasl.password={CANARY}\n",
    f"{START}sasl.jaas.confg={CANARY}\n",
    f"{START}sasl.oauthbearer.client.credentials.client.secret={CANARY}\n",
    f"{START}sasl.jaas.config={CANARY}\\u12\n",
    f"{START}sasl.mechanism={CANARY}\n",
    f"{START}security.protocol={CANARY}\n",
    f"bootstrap.servers=u:{CANARY}@a:1\n",
    f"{TLS}ssl.endpoint.identification.algorithm={CANARY}\n",
    f"{TLS}ssl.truststore.type={CANARY}\nssl.truststore.location=x\n",
    f"{TLS}ssl.truststore.type=JKS\nssl.truststore.location=x\nssl.truststore.password={CANARY}\n",
    f"{TLS}ssl.keystore.type=PEM\nssl.keystore.certificate.chain=x\nssl.keystore.key={CANARY}\n",
    f"{TLS}ssl.keystore.type=PEM\nssl.keystore.key=-----BEGIN PRIVATE KEY-----\n{CANARY}\n",
    f"{START}ssl.key.password={CANARY}\nsasl.jaas.config=x\n",
]


def _sings(text: str) -> bool:
    return CANARY in text or CANARY[2:-2] in text


def _all_of(error: BaseException) -> str:
    """What a notebook, a log or a crash reporter that dumps variables would keep."""
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    shown = error._render_traceback_() if isinstance(error, KadminError) else []
    return "\n".join([str(error), repr(error), repr(vars(error)), *report.format(), *shown])


def _complaint(*arguments) -> BaseException:
    """The error that these arguments of `settings_for` lead to."""
    try:
        settings_for(*arguments)
    except KadminError as error:
        return error
    raise AssertionError("nothing was wrong with it")


@pytest.mark.parametrize("content", FILES, ids=range(len(FILES)))
def test_a_broken_file_keeps_its_secrets(client, content):
    """The stack trace in the shared notebook has my password."""
    path = client(content)
    del content
    assert not _sings(_all_of(_complaint(path)))


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_broken_property_keeps_its_secrets(text):
    """The same over --property."""
    error = _complaint("a:1", {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": text})
    assert not _sings("".join(traceback.format_exception(error)) + repr(vars(error)))


@pytest.mark.parametrize(
    "target", [f"kafka://u:{CANARY}@a:1", f"u:{CANARY}@a:9092", f"https://a/{CANARY}"]
)  # fmt: skip
def test_a_url_with_a_login_is_not_repeated(target):
    """I pasted the URL of the other tool."""
    assert not _sings(str(_complaint(target)))


@pytest.mark.parametrize("line", [f'password = "{CANARY}"', f'password = "{CANARY}', f'password = ["{CANARY}"]',
                                  f'sasl.jaas.config = "{CANARY}"', f"password = {CANARY}"])  # fmt: skip
def test_a_literal_in_the_profiles_is_not_repeated(profiles, line):
    """It told everybody what it refused."""
    profiles(f'[profiles.x]\nbootstrap = "a:1"\nusername = "u"\n{line}\n')
    assert not _sings("".join(traceback.format_exception(_complaint("x"))))


def test_settings_print_and_travel_without_the_secret(client, monkeypatch):
    """repr(cluster) in a shared notebook; a pickle to the workers."""
    found = settings_for(
        client(
            f'{START}ssl.key.password={CANARY}\nsasl.jaas.config={SCRAM} required username="u" password="{CANARY}";\n'
        )
    )
    assert found.password is not None
    assert found.password.reveal() == CANARY
    assert not _sings(f"{found!r} {found}")
    with pytest.raises(TypeError, match="a secret is not pickled"):
        pickle.dumps(found)


def test_a_secret_behind_a_reference_is_not_in_the_error_that_follows(profiles, monkeypatch, here):
    """The reference is good; what it holds is broken JAAS."""
    monkeypatch.setenv("JAAS", f"{SCRAM} required {CANARY}")
    profiles('[profiles.x]\nbootstrap = "a:1"\nsasl.jaas.config = "env:JAAS"\n')
    assert not _sings(_all_of(_complaint("x")))
