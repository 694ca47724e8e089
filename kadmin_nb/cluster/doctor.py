"""`doctor`: a connection step by step, from the settings to our rights, and what fixes the step that fails.

Nothing is changed, nothing hangs, and no secret stands in the answer.
"""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from importlib import metadata

from ..admin import contact
from ..admin.ports import Broker, serving
from ..client_configs.kafka import LiveKafka
from ..errors import AuthenticationFailed, KadminError, NotAuthorized
from ..frames import schemas
from ..frames.answer import Findings
from ..frames.views import counted_nouns
from ..hints import Option, terminal
from ..model.connection_settings import Settings
from ..model.figures import milliseconds
from ..model.findings import ABSENT, FAILED, OK, SKIPPED, UNKNOWN, WARNING, Finding
from ..model.quota_keys import CALLBACK
from ..version import VERSION
from .observation import LEFT_ON, left_on
from .permissions import permissions
from .resolving import broker_rows, own_rules, unread


class DoctorAnswer(Findings):
    """CHECKS. The exit status is 1 where one failed, or what it asks is not known."""

    schema = schemas.CHECKS
    _shows_failures = True

    def _title(self) -> str:
        """The finding in a sentence."""
        states = [check.severity for check in self.findings]
        failed, unseen = states.count(FAILED), states.count(SKIPPED) + states.count(UNKNOWN)
        made = len(states) - unseen - states.count(ABSENT)
        none = "No check that was made failed" if unseen else "No check failed"
        parts = [f"{failed} of {made} checks failed" if failed else none, *["others could not be made"] * bool(unseen)]
        warned = states.count(WARNING)
        return ", ".join([*parts, *[f"{warned} with a warning"] * bool(warned)]) + "."

    def _error(self, row: dict[str, object]) -> KadminError:
        fix = row["fix"]
        subject = f" of {row['subject']}" if row["subject"] else ""
        return KadminError(f"{row['check']}{subject}: {row['note']}", hint=None if fix is None else f"{fix}")


def doctor(
    target: str | None = None, *, properties: Mapping[str, str] | None = None, timeout: float | None = None
) -> DoctorAnswer:
    """CHECKS of a connection, from its settings to our rights, and the installation.

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
    versions = f"kadmin_nb {VERSION}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    installation = Finding("installation", OK, versions)
    checks = [*_connection(settings_of, timeout), installation, *_missing_extras()]
    cluster_id = next((check.evidence["cluster_id"] for check in checks if "cluster_id" in check.evidence), "")
    return DoctorAnswer(sorted(checks, key=lambda check: _ORDER.index(check.severity)), str(cluster_id))


_ORDER = (FAILED, UNKNOWN, WARNING, OK, SKIPPED, ABSENT)
"""What failed comes first."""


def _failed_check(check: str, subject: str | None, error: KadminError) -> Finding:
    error.syntax = terminal
    return Finding(check, FAILED, str(error), subject, fix=error.hint)


def _skipped(because: str, *checks: str) -> Finding:
    untried = [*checks, "brokers", "version", "quotas", "clock", "rights"]
    return Finding("not tried", SKIPPED, f"{', '.join(untried)}: {because}")


def _connection(settings_of: Callable[[], Settings], longest: float | None) -> Iterator[Finding]:
    try:
        settings = settings_of()
    except KadminError as error:
        yield _failed_check("settings", None, error)
        yield _skipped("there are no settings", "connection")
        return
    yield _settings_check(settings)
    timeout = longest or settings.timeout or STEP_TIMEOUT
    try:
        kafka = LiveKafka(replace(settings, timeout=timeout))
    except KadminError as error:
        step = "login" if isinstance(error, AuthenticationFailed) else "connection"
        yield _failed_check(step, None, error)
        yield _skipped(f"the check of {step} failed")
        return
    with closing(kafka):
        yield from _all_of("brokers", _broker_checks(kafka, settings, timeout))
        version = Finding("version", OK, f"Kafka {kafka.version} (from its API versions), cluster {kafka.id}")
        yield version.with_(cluster_id=kafka.id)
        yield from _all_of("quotas", _quota_check(kafka))
        yield _clock_check(kafka, timeout)
        yield from _all_of("rights", _rights_checks(kafka, settings))
        yield from _all_of("observation", _observation_check(kafka))


def _settings_check(settings: Settings) -> Finding:
    ignored = f"; without effect here: {', '.join(settings.ignored)}" if settings.ignored else ""
    return Finding("settings", OK, f"{settings.security_protocol} to {settings.bootstrap} ({settings.source}){ignored}")


def _all_of(check: str, checks: Iterable[Finding]) -> Iterator[Finding]:
    """These checks of a cluster; at what could not be read they end. A right that lacks is a check of its own."""
    try:
        yield from checks
    except KadminError as error:
        if check == "rights" or not isinstance(error, NotAuthorized):
            yield _failed_check(check, None, error)


def _observation_check(kafka: LiveKafka) -> Iterator[Finding]:
    """Request loggers that an observation from here left on when it was killed."""
    yield from (Finding("observation", WARNING, LEFT_ON, fix=line) for line in left_on(kafka))


def _quota_check(kafka: LiveKafka) -> Iterator[Finding]:
    """The number of quotas, and whether brokers decide by them."""
    brokers = serving(kafka)
    quotas = kafka.quotas.describe()
    rows = broker_rows(kafka, brokers, (CALLBACK,), synonyms=False)
    missing = unread(brokers, rows)
    entities = counted_nouns(len(quotas["entity"].unique()), "entity", "entities")
    count = f"{counted_nouns(len(quotas), 'quota', 'quotas')} of {entities}" if len(quotas) else "no quotas"
    if others := own_rules(rows):
        fix = f"Ask the owner of that class which limits apply; {terminal(_ASSUMED)} answers by Kafka's own rules."
        yield Finding("quotas", WARNING, f"{count}; {'; '.join(others)}", fix=fix)
        return
    seen = f"{len(brokers) - len(missing)} of {len(brokers)} brokers"
    check = Finding("quotas", OK, f"{count}; no custom quota callback on {seen}")
    yield replace(check, severity=WARNING, fix=_AGAIN) if missing else check


_ASSUMED = Option("assume_default")
_TICK = 0.001  # the controller tells milliseconds
_CLOCK_OFF = 5.0
"""Seconds between two clocks from which usage, leases and tokens are judged wrongly."""


def _clock_check(kafka: LiveKafka, timeout: float) -> Finding:
    """This machine's time beside the active controller's, to within the time of the question."""
    before = time.time()
    theirs = kafka.client_registry.brokers_clock(time.monotonic() + timeout) / 1000
    after = time.time()
    if not theirs:
        return Finding("clock", SKIPPED, "the active controller's time is not known", fix=_TELLS_TIME)
    ahead, within = (before + after) / 2 - theirs, (after - before) / 2 + _TICK
    way = f"{milliseconds(round(abs(ahead) * 1000))} {'ahead of' if ahead > 0 else 'behind'}"
    way = way if abs(ahead) > within else "as"
    note = f"{way} the active controller, to within {milliseconds(round(within * 1000))}"
    is_off = abs(ahead) >= _CLOCK_OFF
    fix = "Synchronise both clocks: usage, leases and tokens go by them."
    return Finding("clock", WARNING if is_off else OK, note, fix=fix if is_off else None)


_TELLS_TIME = "KRaft brokers tell it to those with DESCRIBE on the cluster"


def _broker_checks(kafka: LiveKafka, settings: Settings, timeout: float) -> Iterator[Finding]:
    """The connection, and each registered broker that does not answer at the address that it advertises."""
    brokers = kafka.brokers()
    tasks = [partial(_broker_check, kafka, broker, timeout) for broker in brokers]
    answers = zip(brokers, contact.side_by_side(tasks, _STEPS * timeout), strict=True)
    late = f"not finished within {_STEPS * timeout:g} s"
    checks = [check or Finding("broker", FAILED, late, _named(broker), fix=_AGAIN) for broker, check in answers]
    wrong = [check for check in checks if check.severity != OK]
    yield from wrong
    how = ", ".join(filter(None, (settings.security_protocol, settings.mechanism, settings.principal)))
    yield Finding("connection", OK, f"{len(checks) - len(wrong)} of {len(checks)} brokers answer; {how}")


_STEPS = 4
"""More than the bounded steps of a broker's check: each of them is over by then."""


def _named(broker: Broker) -> str:
    return f"{broker.id} at {broker.host}:{broker.port}"


def _broker_check(kafka: LiveKafka, broker: Broker, timeout: float) -> Finding:
    subject = _named(broker)
    if broker.is_fenced:
        fix = f"Start broker {broker.id} again, or unregister it (kafka-cluster.sh unregister --id {broker.id})."
        return Finding("broker", WARNING, "registered, and fenced: it is down or starting", subject, fix=fix)
    try:
        contact.ip_addresses(broker.host, broker.port, timeout)
        contact.connected(broker.host, broker.port, timeout).close()
        kafka.reach(broker, timeout)
    except KadminError as error:
        check = _failed_check("broker", subject, error)
        advice = f"advertised.listeners of broker {broker.id} must name an address that this machine can reach."
        return replace(check, fix=f"{check.fix} {advice}" if check.fix else advice)
    return Finding("broker", OK, "answers", subject)


def _rights_checks(kafka: LiveKafka, settings: Settings) -> Iterator[Finding]:
    """Each right that is missing, or not known; those that are granted together."""
    rows = permissions(kafka, settings, ()).to_arrow().to_pylist()
    for row in rows:
        right = f"{row['operation']} on {row['resource']}"
        if row["allowed"] is None:
            yield Finding.not_known("rights", f"{row['action']}: {row['note']}", _AGAIN, right)
        elif not row["allowed"]:
            yield Finding("rights", FAILED, f"missing: you cannot {row['action']}", right, fix=row["grant"])
    if granted := [row["action"] for row in rows if row["allowed"]]:
        yield Finding("rights", OK, f"you can {', '.join(granted)}")


_AGAIN = "Check again when the brokers answer, or with a longer time limit."


_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)[^;]*;.*extra == ['\"]([a-z]+)['\"]")
_ALL = "all"


def _missing_extras() -> Iterator[Finding]:
    """The check of the extras of our own package, where some are not installed."""
    requirements = map(_REQUIREMENT.match, metadata.requires("kadmin_nb") or ())
    absent = [one for one in requirements if one and one[2] != _ALL and not _is_installed(one[1])]
    if absent:
        packages, extras = (sorted({one[part] for one in absent}) for part in (1, 2))
        how = f"pip install 'kadmin_nb[{','.join(extras)}]'"
        yield Finding("optional", ABSENT, f"not installed: {', '.join(packages)} ({how})")


def _is_installed(package: str) -> bool:
    try:
        return bool(metadata.version(package))
    except metadata.PackageNotFoundError:
        return False
