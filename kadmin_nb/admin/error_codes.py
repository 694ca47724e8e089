"""Kafka's error codes, and both libraries' exceptions, as our errors. The one place that translates."""

from __future__ import annotations

import kafka.errors

from .. import errors
from ..model import rights
from ..model.changes import Refusal

_OWN_WORDS = {
    f"{kind.upper()}_AUTHORIZATION_FAILED": f"{kind} authorization failed." for kind in ("Cluster", "Topic", "Group")
} | {"UNKNOWN_TOPIC_OR_PARTITION": "No such topic."}
_LONGEST_MESSAGE = 400
UNNAMED = Refusal("REQUEST_TIMED_OUT", "the answer does not mention it: the change may have been made")
"""The error of a row that was requested and not answered."""


def name_of(code: int) -> str:
    """Kafka's name of an error code: `CLUSTER_AUTHORIZATION_FAILED` for 31, `UNKNOWN_<n>` if we do not know it."""
    if code == -1:
        return "UNKNOWN_SERVER_ERROR"
    error_class = kafka.errors.kafka_errors.get(code)
    return getattr(error_class, "message", None) or f"UNKNOWN_{code}"


def refusal(code: int, message: str | None) -> Refusal | None:
    """A row's answer; None when it succeeded. Null texts get the code's own words, request dumps are dropped."""
    if code == 0:
        return None
    name = name_of(code)
    # some brokers send a Java object as the message for want of a right
    is_dump = message is not None and (len(message) > _LONGEST_MESSAGE or message.startswith("Request Request("))
    return Refusal(name, (None if is_dump else message) or _OWN_WORDS.get(name))


def error(refused: Refusal, doing: str, needed: rights.Right | None = None) -> errors.KadminError:
    """The exception that says so: `CODE while doing: the broker's words`; `needed` is the right that it takes."""
    words = f": {refused.message}" if refused.message else ""
    return errors.kind_of(refused.code)(
        f"{refused.code} while {doing}{words}", code=refused.code, hint=rights.hint(refused.code, needed)
    )


def raise_for_error(code: int, message: str | None, doing: str, needed: rights.Right | None = None) -> None:
    """Raise when a whole request was refused; `needed` is the right that it takes."""
    if refused := refusal(code, message):
        raise error(refused, doing, needed)


def translated(exc: BaseException, doing: str) -> errors.KadminError:
    """kafka-python's exception as ours."""
    if isinstance(exc, errors.KadminError):
        return exc
    if isinstance(exc, kafka.errors.SaslAuthenticationFailedError | kafka.errors.UnsupportedSaslMechanismError):
        return errors.AuthenticationFailed(f"{exc} while {doing}", code="SASL_AUTHENTICATION_FAILED")
    if isinstance(exc, kafka.errors.RequestTimedOutError | kafka.errors.KafkaTimeoutError):
        return errors.TimedOut(f"no answer in time while {doing}", code="REQUEST_TIMED_OUT")
    if isinstance(exc, kafka.errors.UnknownBrokerIdError):
        return errors.NotFound(
            f"broker {exc.args[0] if exc.args else '?'} is not in the cluster, while {doing}",
            code="BROKER_ID_NOT_REGISTERED",
        )
    if isinstance(exc, kafka.errors.IncompatibleBrokerVersion | kafka.errors.UnsupportedVersionError):
        return errors.Unsupported(f"this broker does not support it, while {doing}: {exc}", code="UNSUPPORTED_VERSION")
    if isinstance(exc, kafka.errors.KafkaProtocolError | kafka.errors.InvalidReceiveError):
        return errors.Unsupported(f"the answer cannot be read, while {doing}: {exc}", code="CORRUPT_MESSAGE")
    return errors.ConnectionFailed(f"the connection failed while {doing}: {exc}", code="NETWORK_EXCEPTION")
