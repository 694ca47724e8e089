"""JAAS text: one login module that is known, its options, Java's quoting; all else is refused by its name."""

from __future__ import annotations

import time

import pytest

from kadmin_nb.errors import KadminError, Unsupported, UsageError
from kadmin_nb.profiles.jaas import MODULES, parse
from kadmin_nb.secrets import Secret

PLAIN, SCRAM, *_ = MODULES
WHERE = "client.properties"


@pytest.mark.parametrize(
    ("options", "user", "password"),
    [
        ('username="alice" password="secret"', "alice", "secret"),
        ("username='alice' password='se\"cret'", "alice", 'se"cret'),
        ('username=alice password="secret-1.$_"', "alice", "secret-1.$_"),
        ('password="p"\n\t username = "u"', "u", "p"),
        (r'username="DOMAIN\\alice" password="a\"b\\c"', r"DOMAIN\alice", r'a"b\c'),
        ('username="u" password="//not/*a*/comment;#"', "u", "//not/*a*/comment;#"),
        ('username="ève" password="пароль 😀"', "ève", "пароль 😀"),
        ('username="a" username="b" password="p"', "b", "p"),
        ('username="eve=1,2" password="env:NOT_A_REFERENCE"', "eve=1,2", "env:NOT_A_REFERENCE"),
    ],
)
def test_user_and_password_as_java_reads_them(options, user, password):
    """Each expectation is what Kafka 4.3.1's own JaasConfig answers."""
    login = parse(f"{SCRAM} required {options};", WHERE).password_login()
    assert (login.username, login.password) == (user, Secret(password))


@pytest.mark.parametrize(("module", "kind"), MODULES.items())
@pytest.mark.parametrize("flag", ["required", "REQUIRED"])
def test_the_modules_of_the_mechanisms_are_read(module, kind, flag):
    """PLAIN, SCRAM, OAUTHBEARER."""
    assert parse(f'\n {module} {flag}\n username="u" password="p"; ', WHERE).kind == kind


@pytest.mark.parametrize(
    "name",
    [
        "com.sun.security.auth.module.JndiLoginModule",
        "com.sun.security.auth.module.LdapLoginModule",
        "com.sun.security.auth.module.Krb5LoginModule2",
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule2",
        "org.apache.kafka.common.security.plain.PlainLoginModule2",
        "org.evil.PlainLoginModule",
        "software.amazon.msk.auth.iam.IAMLoginModule2",
    ],
)
def test_every_other_module_is_refused_by_name(name):
    """CVE-2023-25194: a login module is code that a file chooses."""
    for text in (f'{name} required user.provider.url="ldap://x" password="p";', f'{name} "', name):
        with pytest.raises(Unsupported, match=f"sasl.jaas.config names {name}, which is refused"):
            parse(text, WHERE)


def test_a_second_module_is_refused():
    """Java runs them all."""
    with pytest.raises(UsageError, match="not one ';' at the end"):
        parse(
            f'{PLAIN} required username="u" password="p"; com.sun.security.auth.module.JndiLoginModule required;', WHERE
        )


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        (f'{PLAIN} required username="u" password="p"', UsageError, "not one ';' at the end"),
        (f'{PLAIN} required username="u" password="p"; more', UsageError, "not one ';' at the end"),
        (f'{PLAIN} required username="u" password="p";;', UsageError, "not one ';' at the end"),
        (f'{PLAIN} required username="u" password=p@ss;', UsageError, "password must be in quotes"),
        (f'{PLAIN} required username="u" password=1234;', UsageError, "not one ';' at the end"),
        (f'{PLAIN} required username="u" password="p;', UsageError, "not one ';' at the end"),
        (f'{PLAIN} required username="u" password="p\n";', UsageError, "not one ';' at the end"),
        (
            rf'{PLAIN} required username="DOMAIN\alice" password="p";',
            UsageError,
            "or a backslash is alone",
        ),
        (rf'{PLAIN} required username="u" password="\101";', UsageError, "or a backslash is alone"),
        (f'{PLAIN} required username="u" /* x */ password="p";', UsageError, "not one ';' at the end"),
        (f'{PLAIN} required username "u";', UsageError, "not one ';' at the end"),
        (f"{PLAIN} required username=;", UsageError, "not one ';' at the end"),
        (f"{PLAIN} required username", UsageError, "not one ';' at the end"),
        (f'{PLAIN} sufficient username="u" password="p";', UsageError, "is not 'required'"),
        (f'{PLAIN} username="u" password="p";', UsageError, "is not 'required'"),
        (f'{PLAIN} "required" username="u" password="p";', UsageError, "is not 'required'"),
        (PLAIN, UsageError, "is not 'required'"),
        (f"{PLAIN} required;", UsageError, "gives no username and no password"),
        (f'{PLAIN} required username="u";', UsageError, "gives no password"),
        (f'{PLAIN} required username="u" password="";', UsageError, "gives no password"),
        (f'{SCRAM} required username="u" password="p" tokenauth="true";', Unsupported, "sets tokenauth"),
        (f'{PLAIN} required username="u" password=my pass="x";', UsageError, "password must be in quotes"),
        ("{}", UsageError, "class name of a login module"),
        ("PlainLoginModule required;", UsageError, "class name of a login module"),
        ("", UsageError, "class name of a login module"),
    ],
)
def test_malformed_text_says_what_is_wrong(text, error, says):
    """Not a stack trace, and not my password."""
    with pytest.raises(error) as caught:
        parse(text, WHERE).password_login()
    assert says in str(caught.value)
    assert str(caught.value).startswith(f"{WHERE}: sasl.jaas.config")


@pytest.mark.parametrize("piece", ['a="b" ', ";", "'", '"\\', " ", "a=", "$" * 9])
def test_a_long_text_takes_bounded_time(piece):
    """A text made to hang us."""
    started = time.process_time()
    with pytest.raises(KadminError):
        parse(f"{PLAIN} required {piece * (250_000 // len(piece))}", WHERE)
    assert time.process_time() - started < 5
