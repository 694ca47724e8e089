"""Tokens of OAUTHBEARER logins: fetched within a bound, used until most of their life is over, and shown to nobody."""

from __future__ import annotations

import base64
import binascii
import functools
import http.client
import json
import re
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from .. import documents, files, web
from ..errors import AuthenticationFailed, ConnectionFailed, Invalid, KadminError, NotFound, TimedOut, Unsupported
from ..model import figures
from ..model.connection_settings import TOKEN_TIMEOUT, AwsSigner, TokenEndpoint, TokenFile, TokenLogin, UnsecuredToken
from ..secrets import Secret

MOST_BYTES = 1 << 16
"""Bytes of a token server's answer, and of a token's file."""

_RENEWED_AT = 0.8
"""The part of its life after which a token is renewed: `sasl.login.refresh.window.factor` of Java."""

_UNKNOWN_LIFETIME = 300.0
"""Seconds that a token is used for where neither it nor its server tells."""

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_JWT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Token:
    """A token, when we got it, and when it expires, in seconds since 1970."""

    text: Secret
    since: float
    expires: float

    def is_fresh(self, now: float) -> bool:
        """True until most of its life is over."""
        return now < self.since + _RENEWED_AT * (self.expires - self.since)


class TokenCache:
    """The token of one login, shared by all its connections."""

    def __init__(self, login: TokenLogin) -> None:
        self.login = login
        self._token: Token | None = None
        self._lock = threading.Lock()

    def token(self, within: float | None = None) -> Token:
        """A valid token: the one we have, or a new one where most of its life is over.

        Raises
        ------
        AuthenticationFailed, NotFound
            The token server refuses us, or answers without a token; the token has expired; its file is not there.
        ConnectionFailed, TimedOut
            The token server cannot be reached, or takes longer than `within` seconds.
        """
        source = self.login.source
        seconds = min(within or TOKEN_TIMEOUT, getattr(source, "timeout", TOKEN_TIMEOUT))
        if not self._lock.acquire(timeout=seconds):
            raise _too_late(source, seconds)
        try:
            return self._renewed(seconds)
        finally:
            self._lock.release()

    def _renewed(self, seconds: float) -> Token:
        """A new token; where none can be had, the one we have, as long as it is valid."""
        now = time.time()
        if self._token and self._token.is_fresh(now):
            return self._token
        try:
            self._token = _fetched(self.login, seconds, now)
        except KadminError:
            if self._token is None or now >= self._token.expires:
                raise
        return self._token

    def forget(self) -> None:
        """Drop the token: a broker has refused it, and the next call fetches another."""
        self._token = None


@functools.lru_cache(maxsize=64)
def tokens_of(login: TokenLogin) -> TokenCache:
    """The one cache of this login."""
    return TokenCache(login)


def _fetched(login: TokenLogin, seconds: float, now: float) -> Token:
    source = login.source
    text, expires = _FETCHERS[type(source)](source, seconds, now)
    if expires <= now:
        raise AuthenticationFailed(
            f"the token of {source} expired at {figures.utc(expires)}",
            code="SASL_AUTHENTICATION_FAILED",
            hint="Renew it where it comes from; check the clocks of this machine and of the token server.",
        )
    return Token(Secret(text), now, expires)


def _token_of_endpoint(source: TokenEndpoint, seconds: float, now: float) -> tuple[str, float]:
    try:
        answer = web.answer_to(_request(source), seconds, MOST_BYTES, _tls(source))
        return _token_in(answer, source, now)
    except TimeoutError:
        raise _too_late(source, seconds) from None
    except web.TooLong:
        raise _strange(source, f"answers more than {MOST_BYTES:,} bytes") from None
    except urllib.error.HTTPError as error:
        raise _refused(source, error) from None
    except (OSError, http.client.HTTPException) as error:
        raise _unreachable(source, error, seconds) from None


def _request(source: TokenEndpoint) -> urllib.request.Request:
    pair = (source.client_id, source.client_secret.reveal())
    parts = map(urllib.parse.quote_plus, pair) if source.encodes_credentials else pair
    form = {"grant_type": "client_credentials"} | ({"scope": source.scope} if source.scope else {})
    headers = {
        "Accept": "application/json",
        "Authorization": f"Basic {base64.b64encode(':'.join(parts).encode()).decode()}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    return urllib.request.Request(source.url, urllib.parse.urlencode(form).encode(), headers)


def _tls(source: TokenEndpoint) -> ssl.SSLContext | None:
    if not source.url.startswith("https:"):
        return None
    context = ssl.create_default_context(cafile=source.pem.ca_file if source.only_ca_file else None)
    if source.pem.ca_file and not source.only_ca_file:
        context.load_verify_locations(source.pem.ca_file)
    source.pem.show_certificate(context)
    return context


def _token_in(answer: bytes, source: TokenEndpoint, now: float) -> tuple[str, float]:
    """The token, and when it expires; nothing of the answer is repeated, since a token may stand in it."""
    try:
        document = documents.from_json(answer.decode())
        text = document["access_token"]
        lifetime = float(document.get("expires_in", _UNKNOWN_LIFETIME))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise _strange(source, "answers without an access_token") from None
    if not isinstance(text, str) or not _TOKEN.fullmatch(text):
        raise _strange(source, "answers with an access_token that is not a token")
    return text, _expiry(text, now + lifetime)


def _expiry(text: str, otherwise: float) -> float:
    """The `exp` of a JWT; another time where it has none, or the token is not a JWT."""
    claims = _claims(text)
    expires = claims.get("exp") if claims else None
    return float(expires) if isinstance(expires, int | float) else otherwise


def _claims(text: str) -> dict[str, Any] | None:
    """The claims of a JWT, unchecked: the broker checks them."""
    if not _JWT.fullmatch(text):
        return None
    part = text.split(".")[1]
    try:
        claims = documents.from_json(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)).decode())
    except (binascii.Error, ValueError):
        return None
    return claims if isinstance(claims, dict) else None


def _token_of_file(source: TokenFile, _seconds: float, now: float) -> tuple[str, float]:
    """Only a JWT is sent to a broker: a settings file may name any file."""
    try:
        text = files.read_text(Path(source.path), "the token's file", MOST_BYTES).strip()
    except Invalid:
        text = ""
    if _claims(text) is None:
        raise AuthenticationFailed(f"{source} does not hold a token (a JWT)", code="SASL_AUTHENTICATION_FAILED")
    return text, _expiry(text, now + _UNKNOWN_LIFETIME)


def _unsigned(source: UnsecuredToken, _seconds: float, now: float) -> tuple[str, float]:
    expires = now + source.lifetime
    claims = {**dict(source.claims), "iat": now, "exp": expires}
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (_NO_KEY, claims))
    return f"{'.'.join(parts)}.", expires


def _signed_by_aws(source: AwsSigner, seconds: float, _now: float) -> tuple[str, float]:
    """A token of the signer of Amazon MSK; of its errors only the class is told, as their texts are not ours."""
    try:
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider as provider
    except ImportError:
        raise Unsupported(
            "AWS_MSK_IAM needs the signer of Amazon MSK, which is not installed", hint="pip install 'kadmin_nb[msk]'"
        ) from None
    if source.role and source.sts_region:
        sign = partial(provider.generate_auth_token_from_credentials_provider, source.region, _role_in_region(source))
    elif source.role:
        session = (source.session,) if source.session else ()
        sign = partial(provider.generate_auth_token_from_role_arn, source.region, source.role, *session)
    elif source.profile:
        sign = partial(provider.generate_auth_token_from_profile, source.region, source.profile)
    else:
        sign = partial(provider.generate_auth_token, source.region)
    try:
        text, expires_ms = web.result_of(sign, seconds)
    except TimeoutError:
        raise _too_late(source, seconds) from None
    except Exception as error:
        raise AuthenticationFailed(
            f"{source} gives no credentials, with {type(error).__name__}",
            code="SASL_AUTHENTICATION_FAILED",
            hint="aws sts get-caller-identity shows which credentials this machine has.",
        ) from None
    return text, expires_ms / 1000


def _role_in_region(source: AwsSigner) -> Any:
    """The source of a role's credentials, asked for in the region that the file names: the signer takes no region."""
    from aws_msk_iam_sasl_signer.MSKAuthTokenProvider import DEFAULT_STS_SESSION_NAME
    from boto3 import client
    from botocore.credentials import CredentialProvider, Credentials

    class RoleInRegion(CredentialProvider):  # type: ignore[misc]  # botocore has no types
        def load(self) -> Credentials:
            sts = client("sts", region_name=source.sts_region)
            session = source.session or DEFAULT_STS_SESSION_NAME
            answer = sts.assume_role(RoleArn=source.role, RoleSessionName=session)["Credentials"]
            return Credentials(answer["AccessKeyId"], answer["SecretAccessKey"], answer["SessionToken"])

    return RoleInRegion()


_NO_KEY = {"alg": "none"}
_FETCHERS: dict[type, Callable[[Any, float, float], tuple[str, float]]] = {
    TokenEndpoint: _token_of_endpoint,
    TokenFile: _token_of_file,
    UnsecuredToken: _unsigned,
    AwsSigner: _signed_by_aws,
}


def _too_late(source: object, seconds: float) -> TimedOut:
    return TimedOut(
        f"{source} gives no token within {figures.seconds(seconds)}",
        code="REQUEST_TIMED_OUT",
        hint="Try its address with curl; sasl.login.connect.timeout.ms and sasl.login.read.timeout.ms bound it.",
    )


def _refused(source: TokenEndpoint, error: urllib.error.HTTPError) -> KadminError:
    """A refusal by its status alone; the words of some servers repeat what they were sent."""
    with error:
        status = f"HTTP {error.code} {http.client.responses.get(error.code, '')}".strip()
    if error.code in (400, 401, 403):
        return AuthenticationFailed(
            f"the token server {source} refuses this client: {status}",
            code="SASL_AUTHENTICATION_FAILED",
            hint=f"Check id, secret and scope of the client {source.client_id}.",
        )
    if error.code == 404:
        return NotFound(f"the token server {source} has no such page: {status}", hint=_URL)
    return ConnectionFailed(f"the token server {source} answers with {status}", hint=_URL)


_URL = "Check sasl.oauthbearer.token.endpoint.url."


def _strange(source: TokenEndpoint, problem: str) -> AuthenticationFailed:
    return AuthenticationFailed(f"the token server {source} {problem}", code="SASL_AUTHENTICATION_FAILED", hint=_URL)


def _unreachable(source: TokenEndpoint, error: Exception, seconds: float) -> KadminError:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, TimeoutError):
        return _too_late(source, seconds)
    if isinstance(reason, ssl.SSLCertVerificationError):
        return ConnectionFailed(
            f"the certificate of the token server {source} is refused: {reason.verify_message.rstrip('.')}",
            code="SSL_HANDSHAKE_FAILED",
            hint="Set ssl.truststore.location to a store with its authority, in the file or in sasl.jaas.config.",
        )
    words = reason.strerror if isinstance(reason, OSError) and reason.strerror else type(reason).__name__
    return ConnectionFailed(f"the token server {source} cannot be reached: {words}", hint=_URL)
