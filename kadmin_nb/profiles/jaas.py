"""JAAS text: one login module that is known, and its options.

No other module is passed over: some have been a way into somebody's JVM (CVE-2023-25194, CVE-2025-27818), and a tool
that skips what it does not know would hide it.
The words are those of Java's StreamTokenizer as Kafka's JaasConfig sets it up. No error repeats the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..errors import KadminError, Unsupported, UsageError
from ..model.java_text import trimmed
from ..secrets import Secret
from .entries import Login

PACKAGE = "org.apache.kafka.common.security"
MODULES = {
    f"{PACKAGE}.plain.PlainLoginModule": "PLAIN",
    f"{PACKAGE}.scram.ScramLoginModule": "SCRAM",
    f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule": "OAUTHBEARER",
    "software.amazon.msk.auth.iam.IAMLoginModule": "AWS_MSK_IAM",
    "com.sun.security.auth.module.Krb5LoginModule": "GSSAPI",
}
"""The mechanisms by the classes of their login modules."""


@dataclass(frozen=True, slots=True)
class LoginModule:
    """A login module by the kind of mechanism that it is for; `at` says in errors where it stands."""

    kind: str
    options: Mapping[str, str] = field(repr=False)
    at: str


_WORD = r"[A-Za-z_$\u00a0-\U0010ffff][A-Za-z0-9_$.\-\u00a0-\U0010ffff]*"
_TOKEN = re.compile(
    r"[\0-\x20]*(?:"
    rf"(?P<word>{_WORD})"
    r"|\"(?P<double>(?:[^\"\\\r\n]|\\[^\r\n])*)\""
    r"|'(?P<single>(?:[^'\\\r\n]|\\[^\r\n])*)'"
    r"|(?P<sign>[=;]))"
)
_CLASS_NAME = re.compile(r"(?:[a-z_][A-Za-z0-9_]*\.)+[A-Z][A-Za-z0-9_$]*")


def parse(text: str, where: str) -> LoginModule:
    """The login module that `text` names, with its options; `where` says in errors where the text stands.

    Raises
    ------
    Unsupported
        Another login module, named; a second one.
    UsageError
        Not one login module with its flag and options, closed by a semicolon.
    """
    at = f"{where}: sasl.jaas.config"
    tokens = _tokens(trimmed(text), at)
    kind = _module_kind(next(tokens, _END), at)
    flag = next(tokens, _END)
    if flag[0] != "word" or flag[1].lower() != "required":
        raise _malformed(at, "the word after the login module is not 'required'")
    options = _options(tokens, at)
    _ends(next(tokens, _END), at)
    return LoginModule(kind, options, at)


Token = tuple[str, str]
"""Its kind, `word`, `quoted`, `sign` or `end`, and its text."""

_END = ("end", "")


def _tokens(text: str, at: str) -> Iterator[Token]:
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if not match:
            raise _malformed(at, "a quote is open, or something stands there that must be in quotes")
        place = match.end()
        yield _token(match)


def _token(match: re.Match[str]) -> Token:
    kind = str(match.lastgroup)
    if kind in ("double", "single"):
        return "quoted", _ESCAPE.sub(_unescaped, match[kind])
    return kind, match[kind]


_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_NAMED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    return chr(int(escape, 8)) if escape[0] in "01234567" else _NAMED.get(escape, escape)


def _module_kind(module: Token, at: str) -> str:
    name = module[1]
    if name in MODULES:
        return MODULES[name]
    if not _CLASS_NAME.fullmatch(name):
        raise _malformed(at, "it does not begin with the class name of a login module")
    raise _refused_module(name, at)


def _refused_module(name: str, at: str) -> KadminError:
    supported = ", ".join(module.rpartition(".")[2] for module in MODULES)
    return Unsupported(f"{at} names {name}, which is refused", hint=f"Supported are {supported}; no class is loaded.")


def _options(tokens: Iterator[Token], at: str) -> dict[str, str]:
    """The options before the semicolon; the last of equal names wins."""
    options: dict[str, str] = {}
    while (token := next(tokens, _END))[0] == "word":
        sign, value = next(tokens, _END), next(tokens, _END)
        if sign != ("sign", "=") or value[0] not in ("word", "quoted"):
            raise _malformed(at, 'an option is not written name="value"')
        options[token[1]] = value[1]
    if token != ("sign", ";"):
        raise _malformed(at, "it does not end in ';'")
    return options


def _ends(token: Token, at: str) -> None:
    """Nothing after the semicolon, above all no second login module."""
    kind, name = token
    if name.endswith("LoginModule") and _CLASS_NAME.fullmatch(name):
        raise Unsupported(f"{at} goes on to {name}: a second login module is refused")
    if kind != "end":
        raise _malformed(at, "something stands after the ';'")


def password_login(module: LoginModule) -> Login:
    """The user and the password of a module for PLAIN or SCRAM.

    Raises
    ------
    Unsupported
        Another option.
    UsageError
        No user, or no password.
    """
    options = module.options
    if options.keys() - {"username", "password"}:
        option_name = "tokenauth" if "tokenauth" in options else "an option other than username and password"
        hint = "Delegation tokens and a server's options are not read."
        raise Unsupported(f"{module.at} sets {option_name}, which is refused", hint=hint)
    missing = [name for name in ("username", "password") if not options.get(name)]
    if missing:
        raise UsageError(f"{module.at} gives no {' and no '.join(missing)}")
    return Login(options["username"], Secret(options["password"]))


def _malformed(at: str, problem: str) -> UsageError:
    return UsageError(
        f"{at} is not read: {problem}",
        hint='Write: CLASS required OPTION="…" OPTION="…"; with \\ before " and \\ in a value.',
    )
