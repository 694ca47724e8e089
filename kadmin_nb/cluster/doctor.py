"""`doctor`: a connection step by step, from the settings to our rights, and what fixes the step that fails.

Nothing is changed, nothing hangs, and no secret stands in the answer.
"""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from pathlib import Path

from cryptography import x509

from ..admin import contact
from ..admin.bearer_tokens import tokens_of
from ..admin.ports import Broker
from ..client_configs.kafka import LiveKafka
from ..client_configs.setup import checks_of
from ..errors import AuthenticationFailed, KadminError
from ..frames import schemas
from ..frames.answer import Findings
from ..hints import terminal
from ..model.connection_settings import Settings
from ..model.figures import milliseconds, utc
from ..model.findings import ABSENT, FAILED, OK, SKIPPED, UNKNOWN, WARNING, Finding
from ..paths import journal_dir
from ..version import VERSION
from .observation import LEFT_ON, left_on
from .permissions import permissions

_SOON = 30
"""Days before its end from which a certificate gets a warning."""


class DoctorAnswer(Findings):
    """CHECKS. The exit status is 1 where one failed, or what it asks is not known."""

    schema = schemas.CHECKS

    def _title(self) -> str:
        """The finding in a sentence."""
        states = [check.severity for check in self.findings]
        failed, unseen = states.count(FAILED), states.count(SKIPPED) + states.count(UNKNOWN)
        none = "No check that was made failed" if unseen else "No check failed"
        finding = f"{failed} of {len(self)} checks failed" if failed else none
        parts = {"could not be made": unseen, "with a warning": states.count(WARNING)}
        return ", ".join([finding, *(f"{count} {words}" for words, count in parts.items() if count)]) + "."

    def _complaint(self) -> str:
        """Nothing: the title says it, and the rows."""
        return ""

    def _error(self, row: dict[str, object]) -> KadminError:
        fix = row["fix"]
        return KadminError(f"{row['check']} of {row['subject']}: {row['note']}", hint=None if fix is None else f"{fix}")


def doctor(
    target: str | None = None, *, properties: Mapping[str, str] | None = None, timeout: float | None = None
) -> DoctorAnswer:
    """CHECKS of a connection, from its settings to our rights, the installation and the journal.

    It raises nothing where a step fails: the row says what failed and what fixes it. Nothing is changed, and no secret
    stands in the answer.

    Parameters
    ----------
    target, properties
        As of `connect`.
    timeout
        The time limit in seconds of each step; default: `default.api.timeout.ms` of the properties, or 5.
    """
    from ..profiles import settings_for

    return examine(lambda: settings_for(target, properties), timeout)


STEP_TIMEOUT = 5.0
"""Seconds that a step may take where nobody says."""


def examine(settings_of: Callable[[], Settings], timeout: float | None = None) -> DoctorAnswer:
    """CHECKS of the connection with these settings, which may fail to be read."""
    versions = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    installation = Finding("installation", OK, versions, f"kadmin_nb {VERSION}")
    checks = [installation, *_connection(settings_of, timeout), _journal_check(), *_extra_checks()]
    cluster_id = next((check.target for check in checks if check.code == "cluster" and check.severity == OK), "")
    return DoctorAnswer(checks, str(cluster_id))


def _attempt(check: str, subject: str, look: Callable[[], str]) -> Finding:
    """The check that `look` makes: it gives what was seen, or raises."""
    try:
        return Finding(check, OK, look(), subject)
    except KadminError as error:
        return _failed_check(check, subject, error)


def _failed_check(check: str, subject: str, error: KadminError) -> Finding:
    error.syntax = terminal
    return Finding(check, FAILED, str(error), subject, fix=error.hint)


def _skipped(check: str, subject: str, because: str) -> Finding:
    return Finding(check, SKIPPED, f"not tried: {because}", subject)


def _connection(settings_of: Callable[[], Settings], longest: float | None) -> Iterator[Finding]:
    try:
        settings = settings_of()
    except KadminError as error:
        yield _failed_check("settings", "the target", error)
        yield _skipped("connection", "the cluster", "there are no settings")
        return
    timeout = longest or settings.timeout or STEP_TIMEOUT
    yield _settings_check(settings)
    if settings.uses_tls and settings.pem.certificate_file:
        fix = "Get a new certificate for this client, and name its store in ssl.keystore.location."
        yield _dated("our certificate", settings.source, lambda: contact.own_certificate(settings), fix)
    addresses = settings.bootstrap.split(",")
    tasks = [partial(_address_checks, address, settings, timeout) for address in addresses]
    answers = zip(addresses, contact.side_by_side(tasks, _STEPS * timeout), strict=True)
    made = [one for address, found in answers for one in found or [_unanswered("port", address, timeout)]]
    yield from made
    yield from _cluster_checks(settings, timeout) if _is_reached(made, settings) else _without_cluster(_UNREACHED)


_UNREACHED = "no address can be reached"


def _is_reached(checks: Iterable[Finding], settings: Settings) -> bool:
    """True if the last step of any address succeeded."""
    last = "TLS" if settings.uses_tls else "port"
    return any(check.code == last and check.severity in (OK, WARNING) for check in checks)


def _settings_check(settings: Settings) -> Finding:
    ignored = f"; without effect here: {', '.join(settings.ignored)}" if settings.ignored else ""
    return Finding("settings", OK, f"{settings.security_protocol} to {settings.bootstrap}{ignored}", settings.source)


_STEPS = 6
"""More than the bounded steps of one address: each of them is over by then."""


def _address_checks(address: str, settings: Settings, timeout: float) -> list[Finding]:
    """The steps of one address, in their order; none is made after one that failed."""
    host, port = contact.split_address(address)
    steps: dict[str, Callable[[], Finding]] = {
        "name": lambda: _attempt("name", address, lambda: ", ".join(contact.ip_addresses(host, port, timeout))),
        "port": lambda: _attempt("port", address, lambda: _opened(host, port, timeout)),
    }
    if settings.uses_tls:
        renewal = "The broker's operators have to renew its certificate."
        presented = partial(contact.presented_certificate, settings, host, port, timeout)
        steps["certificate"] = partial(_dated, "certificate", address, presented, renewal)
        steps["TLS"] = lambda: _session(address, settings, timeout)
    checks: list[Finding] = []
    for name, step in steps.items():
        failed = next((one.code for one in checks if one.severity == FAILED and one.code != "certificate"), None)
        checks.append(_skipped(name, address, f"the check of {failed} failed") if failed else step())
    return checks


def _opened(host: str, port: int, timeout: float) -> str:
    started = time.monotonic()
    contact.connected(host, port, timeout).close()
    return f"open after {milliseconds((time.monotonic() - started) * 1000)}"


def _dated(check: str, subject: str, certificate_of: Callable[[], x509.Certificate], renewal: str) -> Finding:
    """The check of a certificate by its dates; its note says whose it is, and for which hosts."""
    try:
        certificate = certificate_of()
    except KadminError as error:
        return _failed_check(check, subject, error)
    days = contact.days_until_end(certificate, datetime.now(UTC))
    hosts = f" for {', '.join(contact.names_of(certificate))}" if contact.names_of(certificate) else ""
    whose = f"{certificate.subject.rfc4514_string()}{hosts}, signed by {certificate.issuer.rfc4514_string()}"
    until = f"{certificate.not_valid_after_utc:%Y-%m-%d}"
    if days < 0:
        return Finding(check, FAILED, f"expired on {until}: {whose}", subject, fix=renewal)
    note = f"until {until} ({days} d): {whose}"
    if days < _SOON:
        return Finding(check, WARNING, note, subject, fix=renewal)
    return Finding(check, OK, note, subject)


def _session(address: str, settings: Settings, timeout: float) -> Finding:
    host, port = contact.split_address(address)
    check = _attempt("TLS", address, lambda: contact.tls_session(settings, host, port, timeout))
    if check.severity != OK or settings.check_hostname:
        return check
    fix = "Remove ssl.endpoint.identification.algorithm from the settings."
    return replace(check, severity=WARNING, message=f"{check.message}; the name of the host is not checked", fix=fix)


def _cluster_checks(settings: Settings, timeout: float) -> Iterator[Finding]:
    """The checks that need a broker that speaks with us, and first the token that it is to take."""
    if login := settings.token_login:
        token = _attempt("token", str(login.source), lambda: f"until {utc(tokens_of(login).token(timeout).expires)}")
        yield token
        if token.severity == FAILED:
            yield from _without_cluster("the check of token failed")
            return
    try:
        kafka = LiveKafka(replace(settings, timeout=timeout))
    except KadminError as error:
        step = "login" if isinstance(error, AuthenticationFailed) else "Kafka"
        yield _failed_check(step, settings.bootstrap, error)
        yield from _without_cluster(f"the check of {step} failed", after=step)
        return
    with closing(kafka):
        yield Finding("login", OK, _login_words(settings), settings.bootstrap)
        yield Finding("Kafka", OK, f"Kafka {kafka.version} (from its API versions)", settings.bootstrap)
        yield Finding("cluster", OK, "cluster id", kafka.id)
        yield from _broker_checks(kafka, timeout)
        yield from _rights_checks(kafka, settings)
        yield from checks_of(kafka)
        yield from _observation_check(kafka)


def _observation_check(kafka: LiveKafka) -> Iterator[Finding]:
    """Request loggers that an observation from here left on when it was killed."""
    try:
        lines = left_on(kafka)
    except KadminError as error:
        yield _failed_check("observation", kafka.id, error)
        return
    if lines:
        yield Finding("observation", WARNING, LEFT_ON, kafka.id, fix="\n".join(lines))


def _without_cluster(because: str, after: str = "") -> Iterator[Finding]:
    for check, subject in (("login", "the broker"), ("Kafka", "its version"), ("brokers", "all"), ("rights", "all")):
        if check != after:
            yield _skipped(check, subject, because)


def _login_words(settings: Settings) -> str:
    if settings.token_login:
        return f"{settings.mechanism} with a token of {settings.token_login.source}"
    if settings.kerberos_service:
        return f"{settings.mechanism} with a ticket for {settings.kerberos_service}"
    if settings.uses_sasl:
        return f"{settings.mechanism} as {settings.username}"
    return "by our certificate" if settings.pem.certificate_file else "not required"


def _broker_checks(kafka: LiveKafka, timeout: float) -> Iterator[Finding]:
    """Each registered broker at the address that it advertises, side by side."""
    try:
        brokers = kafka.brokers()
    except KadminError as error:
        yield _failed_check("brokers", "all", error)
        return
    tasks = [partial(_broker_check, kafka, broker, timeout) for broker in brokers]
    answers = contact.side_by_side(tasks, _STEPS * timeout)
    for broker, check in zip(brokers, answers, strict=True):
        yield check or _unanswered("broker", _named(broker), timeout)


def _named(broker: Broker) -> str:
    return f"{broker.id} at {broker.host}:{broker.port}"


def _unanswered(check: str, subject: str, timeout: float) -> Finding:
    """The check of an address whose steps were not over in their time, all together."""
    fix = "Check again when this machine has less to do, or with a longer time limit."
    return Finding(check, FAILED, f"not finished within {_STEPS * timeout:g} s", subject, fix=fix)


def _broker_check(kafka: LiveKafka, broker: Broker, timeout: float) -> Finding:
    subject = _named(broker)
    if broker.is_fenced:
        fix = f"Start broker {broker.id} again, or unregister it (kafka-cluster.sh unregister --id {broker.id})."
        return Finding("broker", WARNING, "registered, and fenced: it is down or starting", subject, fix=fix)

    def answered() -> str:
        contact.ip_addresses(broker.host, broker.port, timeout)
        contact.connected(broker.host, broker.port, timeout).close()
        started = time.monotonic()
        kafka.reach(broker, timeout)
        return f"answers after {milliseconds((time.monotonic() - started) * 1000)}"

    check = _attempt("broker", subject, answered)
    advice = f"advertised.listeners of broker {broker.id} must name an address that this machine can reach."
    return replace(check, fix=f"{check.fix} {advice}" if check.fix else advice) if check.severity == FAILED else check


def _rights_checks(kafka: LiveKafka, settings: Settings) -> Iterator[Finding]:
    try:
        rows = permissions(kafka, settings, (), ()).to_arrow().to_pylist()
    except KadminError as error:
        yield _failed_check("rights", "all", error)
        return
    for row in rows:
        right = f"{row['operation']} on {row['resource']}"
        if row["allowed"] is None:
            yield Finding.not_known("right", f"{row['action']}: {row['note']}", _AGAIN, right)
            continue
        state, words = (OK, "granted: you can") if row["allowed"] else (FAILED, "missing: you cannot")
        yield Finding("right", state, f"{words} {row['action']}", right, fix=row["grant"])


_AGAIN = "Check again when the brokers answer, or with a longer time limit."


def _journal_check() -> Finding:
    """The folder of journals: without one nothing can be applied."""
    check = _attempt("journal", "its folder", lambda: str(journal_dir()))
    folder = Path(check.message)
    nearest = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    if check.severity == FAILED or os.access(nearest, os.W_OK | os.X_OK):
        return check
    fix = "Set KADMIN_STATE=/a/folder to a folder that you can write to."
    return replace(check, severity=FAILED, message=f"{check.message} cannot be written", fix=fix)


_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)[^;]*;.*extra == ['\"]([a-z]+)['\"]")
_ALL = "all"


def _extra_checks() -> Iterator[Finding]:
    """Each extra of our own package, and the packages of it that are there."""
    packages: dict[str, list[str]] = {}
    for requirement in metadata.requires("kadmin_nb") or ():
        if (match := _REQUIREMENT.match(requirement)) and match[2] != _ALL:
            packages.setdefault(match[2], []).append(match[1])
    for extra, names in packages.items():
        yield _extra_check(extra, dict.fromkeys(names))


def _extra_check(extra: str, names: Iterable[str]) -> Finding:
    versions = {name: _installed_version(name) for name in names}
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        fix = f"pip install 'kadmin_nb[{extra}]'"
        return Finding("extra", ABSENT, f"not installed: {', '.join(missing)}", extra, fix=fix)
    return Finding("extra", OK, ", ".join(f"{name} {version}" for name, version in versions.items()), extra)


def _installed_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
