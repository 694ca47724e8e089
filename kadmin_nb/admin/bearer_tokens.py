"""Tokens of OAUTHBEARER logins: fetched within a bound, used until most of their life is over, and shown to nobody."""

from __future__ import annotations

import base64
import binascii
import functools
import http.client
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
from ..errors import AuthenticationFailed, ConnectionFailed, Invalid, KadminError, TimedOut, Unsupported
from ..model import figures
from ..model.connection_settings import AwsSigner, TokenEndpoint, TokenFile, TokenLogin
from ..secrets import Secret

MOST_BYTES = 1 << 16
"""Bytes of a token server's answer, and of a token's file."""

_RENEWED_AT = 0.8
"""The part of its life after which a token is renewed: `sasl.login.refresh.window.factor` of Java."""

TOKEN_TIMEOUT = 10.0
"""Seconds that a token may take."""

_UNKNOWN_LIFETIME = 300.0
"""Seconds that a token is used for where neither it nor its server tells."""

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_JWT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Token:
    """A token, when it is to be renewed, and when it expires, in seconds since 1970."""

    text: Secret
    renewed: float
    expires: float


class TokenCache:
    """The token of one login, shared by all its connections."""

    def __init__(self, login: TokenLogin) -> None:
        self.login = login
        self._token: Token | None = None
        self._lock = threading.Lock()

    def token(self, within: float | None = None) -> Token:
        """A valid token: the one we have, or a new one where most of its life is over and one can be had.

        Raises
        ------
        AuthenticationFailed, NotFound
            The token server refuses us, or answers without a token; the token has expired; its file is not there.
        ConnectionFailed, TimedOut
            The token server cannot be reached, or takes longer than `within` seconds.
        """
        source = self.login.source
        seconds = min(within or TOKEN_TIMEOUT, TOKEN_TIMEOUT)
        if not self._lock.acquire(timeout=seconds):
            raise _too_late(source, seconds)
        token, now = self._token, time.time()
        try:
            if token is None or now >= token.renewed:
                token = self._token = _fetched(self.login, seconds, now)
        except KadminError:
            if token is None or now >= token.expires:
                raise
        finally:
            self._lock.release()
        return token

    def forget(self) -> None:
        """Drop the token: a broker has refused it, and the next call fetches another."""
        self._token = None


@functools.lru_cache(maxsize=64)
def tokens_of(login: TokenLogin) -> TokenCache:
    """The one cache of this login."""
    return TokenCache(login)


def _fetched(login: TokenLogin, seconds: float, now: float) -> Token:
    source = login.source
    try:
        text, expires = _FETCHERS[type(source)](source, seconds, now)
    except TimeoutError:
        raise _too_late(source, seconds) from None
    if expires <= now:
        raise _no_token(source, f"it expired at {figures.utc(expires)}, by this machine's clock")
    return Token(Secret(text), now + _RENEWED_AT * (expires - now), expires)


def _token_of_endpoint(source: TokenEndpoint, seconds: float, now: float) -> tuple[str, float]:
    """The token of an answer; a refusal is told by its status, as some servers repeat what they were sent."""
    try:
        context = ssl.create_default_context()
        if source.ca_file:
            context.load_verify_locations(source.ca_file)
        answer = web.answer_to(_request(source), seconds, MOST_BYTES, context)
        document = documents.from_json(answer.decode())
        text = document["access_token"]
        lifetime = float(document.get("expires_in", _UNKNOWN_LIFETIME))
    except urllib.error.HTTPError as error:
        error.close()
        raise _no_token(source, f"HTTP {error.code} {http.client.responses.get(error.code, '')}") from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            raise reason from None
        words = getattr(reason, "verify_message", None) or getattr(reason, "strerror", None) or type(reason).__name__
        raise _no_token(source, f"no connection: {words}", ConnectionFailed) from None
    except (web.TooLong, ValueError, TypeError, KeyError, AttributeError):
        raise _no_token(source, "its answer has no access_token, or is too long") from None
    if not isinstance(text, str) or not _TOKEN.fullmatch(text):
        raise _no_token(source, "its access_token is not a token")
    return text, _expiry(text, now + lifetime)


def _request(source: TokenEndpoint) -> urllib.request.Request:
    pair = f"{source.client_id}:{source.client_secret.reveal()}"
    form = {"grant_type": "client_credentials"} | ({"scope": source.scope} if source.scope else {})
    headers = {
        "Accept": "application/json",
        "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    return urllib.request.Request(source.url, urllib.parse.urlencode(form).encode(), headers)


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
        raise _no_token(source, "the file does not hold a token (a JWT)")
    return text, _expiry(text, now + _UNKNOWN_LIFETIME)


def _signed_by_aws(source: AwsSigner, seconds: float, _now: float) -> tuple[str, float]:
    """A token of the signer of Amazon MSK; of its errors only the class is told, as their texts are not ours."""
    try:
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider as provider
    except ImportError:
        raise Unsupported(
            "AWS_MSK_IAM needs the signer of Amazon MSK, which is not installed", hint="pip install 'kadmin_nb[msk]'"
        ) from None
    if source.role:
        sign = partial(provider.generate_auth_token_from_credentials_provider, source.region, _role(source))
    elif source.profile:
        sign = partial(provider.generate_auth_token_from_profile, source.region, source.profile)
    else:
        sign = partial(provider.generate_auth_token, source.region)
    try:
        text, expires_ms = web.result_of(sign, seconds)
    except TimeoutError:
        raise
    except Exception as error:
        why = f"no credentials, {type(error).__name__}; aws sts get-caller-identity shows those of this machine"
        raise _no_token(source, why) from None
    return text, expires_ms / 1000


def _role(source: AwsSigner) -> Any:
    """The credentials of a role, asked for in the region that the file names: the signer takes no region."""
    from aws_msk_iam_sasl_signer.MSKAuthTokenProvider import DEFAULT_STS_SESSION_NAME
    from boto3 import client
    from botocore.credentials import CredentialProvider, Credentials

    class Role(CredentialProvider):  # type: ignore[misc]  # botocore has no types
        def load(self) -> Credentials:
            sts = client("sts", region_name=source.sts_region)
            session = source.session or DEFAULT_STS_SESSION_NAME
            answer = sts.assume_role(RoleArn=source.role, RoleSessionName=session)["Credentials"]
            return Credentials(answer["AccessKeyId"], answer["SecretAccessKey"], answer["SessionToken"])

    return Role()


_FETCHERS: dict[type, Callable[[Any, float, float], tuple[str, float]]] = {
    TokenEndpoint: _token_of_endpoint,
    TokenFile: _token_of_file,
    AwsSigner: _signed_by_aws,
}


def _no_token(source: object, why: str, kind: type[KadminError] = AuthenticationFailed) -> KadminError:
    """The error of a source that gives no token. Its answer is not repeated: what it was sent may stand there."""
    hint = f"Check {source}: its address and certificate, and the id, the secret and the scope that it is asked with."
    code = "SASL_AUTHENTICATION_FAILED" if kind is AuthenticationFailed else "NETWORK_EXCEPTION"
    return kind(f"no token of {source}: {why}", code=code, hint=hint)


def _too_late(source: object, seconds: float) -> TimedOut:
    hint = f"Try {source} with curl, from this machine."
    return TimedOut(f"no token of {source} within {figures.seconds(seconds)}", code="REQUEST_TIMED_OUT", hint=hint)
