"""The words that Tab offers, without asking a cluster, and the shells that it is pressed in."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from click.shell_completion import BashComplete, CompletionItem, FishComplete, ZshComplete, add_completion_class

from ..errors import KadminError
from ..hints import short_id
from ..model.client_configs import CLIENT_KEYS
from ..model.config_fallback import BROKER_KEYS
from ..model.config_values import LOGGER_LEVELS, VALUES
from ..model.entity import TYPES
from ..model.grammar import ANY, DEFAULT, Value
from ..model.quota_keys import IP_KEYS, QUOTA_KEY_NAMES, USER_CLIENT_KEYS
from ..model.resources import WORDS
from ..model.scram import MECHANISMS


def entities(before: Sequence[str]) -> list[str]:
    """The entity types that may still be named: ip alone, the others once each."""
    typed = _typed_names(before)
    if "ip" in typed:
        return []
    return [f"{kind}=" for kind in TYPES if kind not in typed and not (typed & {"user", "client-id"} and kind == "ip")]


def quota_settings(before: Sequence[str]) -> list[str]:
    """`key=` and then an entity."""
    return [*(f"{key}=" for key in quota_keys(before)), *entities(before)]


def quota_removals(before: Sequence[str]) -> list[str]:
    """`key` and then an entity."""
    return [*quota_keys(before), *entities(before)]


def quota_keys(before: Sequence[str] = ()) -> list[str]:
    """The quota keys that fit the entity, as far as one is named."""
    typed = _typed_names(before)
    keys = IP_KEYS if "ip" in typed else USER_CLIENT_KEYS if typed & {"user", "client-id"} else QUOTA_KEY_NAMES
    return [key for key in keys if key not in typed]


def resources(before: Sequence[str]) -> list[str]:
    """The resource types."""
    return [f"{word}=" for word in WORDS]


def client_entities(before: Sequence[str]) -> list[str]:
    """A user, and a client-id of it."""
    return [f"{kind}=" for kind in ("user", "client-id") if kind not in _typed_names(before)]


def scram_users(before: Sequence[str]) -> list[str]:
    """The one word that says whose credentials."""
    return ["user="]


def scram_settings(before: Sequence[str]) -> list[str]:
    """The mechanisms, each alone or with `=` and a reference, and the other words of a credential."""
    typed = _typed_names(before)
    words = [(name, sign) for name in MECHANISMS for sign in ("", "=")] + [("iterations", "="), ("user", "=")]
    return [f"{name}{sign}" for name, sign in words if name not in typed]


def scram_deletions(before: Sequence[str]) -> list[str]:
    """The mechanisms, and then whose."""
    typed = _typed_names(before)
    return [*(name for name in MECHANISMS if name not in typed), *(["user="] if "user" not in typed else [])]


def config_settings(before: Sequence[str]) -> list[str]:
    """`key=` and then on what; of clients, once a user or a key of theirs is typed."""
    if _are_of_clients(before):
        return [*client_entities(before), *(f"{key}=" for key in _client_keys(before))]
    return [*_resource_once(before), *(f"{key}=" for key in config_keys(before))]


def config_resets(before: Sequence[str]) -> list[str]:
    """`key` and then on what; of clients, once a user or a key of theirs is typed."""
    if _are_of_clients(before):
        return [*client_entities(before), *_client_keys(before)]
    return [*_resource_once(before), *config_keys(before)]


def _are_of_clients(before: Sequence[str]) -> bool:
    return not _typed_names(before).isdisjoint({"user", "client-id", *CLIENT_KEYS})


def _client_keys(before: Sequence[str]) -> list[str]:
    """The dynamic configs of clients, and the quotas that may stand beside them."""
    return [key for key in (*CLIENT_KEYS, *USER_CLIENT_KEYS) if key not in _typed_names(before)]


def config_keys(before: Sequence[str] = ()) -> list[str]:
    """The config keys of the resources that are named, of all when none is."""
    typed = _typed_names(before)
    kinds = [word for word in KEYS if word in typed] or list(KEYS)
    return sorted({key for kind in kinds for key in KEYS[kind]} - typed)


def settings(before: Sequence[str]) -> list[str]:
    """`key=` and then an entity or a resource, of either kind until one is named."""
    typed = _typed_names(before)
    quotas = [] if typed & set(WORDS) else quota_settings(before)
    return quotas + ([] if typed & set(TYPES) else config_settings(before))


def change_lines(before: Sequence[str]) -> list[str]:
    """A verb and what it changes, or the resources that are asked about."""
    return settings(before) if before else [*_VERBS, *resources(before)]


_VERBS = ("set", "remove", "reset", "append", "subtract")


def profiles() -> Sequence[str]:
    """The profiles of `kadmin-nb.toml`."""
    from ..profiles import profile_names

    try:
        return profile_names()
    except KadminError:
        return ()


def plans() -> Iterable[str]:
    """The plans that were begun from here, by the beginning of their id, and the files that may be one."""
    from ..paths import journal_dir
    from ..plans.journal.store import Journals

    with suppress(KadminError, OSError):
        yield from sorted(short_id(plan_id) for plan_id in Journals(journal_dir()).ids())
    with suppress(OSError):
        yield from sorted(path.name for path in Path().glob("*.json"))


def runbooks() -> Iterable[str]:
    """The runbooks that come with kadmin_nb, and the notebooks in this folder."""
    from ..runbooks import catalogue

    with suppress(KadminError, OSError):
        yield from (runbook.name for runbook in catalogue.runbooks())
        yield from sorted(path.name for path in Path().glob("*.ipynb"))


def parameters(runbook: str) -> Iterable[str]:
    """`name=` for each parameter of a runbook."""
    from ..runbooks import catalogue

    with suppress(KadminError, OSError):
        yield from (f"{parameter.name}=" for parameter in catalogue.find(runbook).parameters)


def fixed_values(name: str, before: Sequence[str]) -> Sequence[Value]:
    """The values of a config that has few, or the special values of an entity type."""
    if name in TYPES:
        return (DEFAULT, ANY)
    if "broker-logger" in _typed_names(before):
        return LOGGER_LEVELS
    return VALUES.get(name, ())


def _resource_once(before: Sequence[str]) -> list[str]:
    return [] if _typed_names(before) & set(WORDS) else resources(before)


def _typed_names(words: Iterable[str]) -> set[str]:
    return {word.split("=", 1)[0].rstrip("~") for word in words}


KEYS: dict[str, tuple[str, ...]] = {
    "topic": (
        *BROKER_KEYS["TOPIC"],
        "errors.deadletterqueue.group.enable",
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "remote.storage.enable",
    ),
    "broker": (
        *BROKER_KEYS["TOPIC"].values(),
        "background.threads",
        "config.providers",
        "cordoned.log.dirs",
        "errors.deadletterqueue.auto.create.topics.enable",
        "errors.deadletterqueue.topic.name.prefix",
        "follower.fetch.last.tiered.offset.enable",
        "group.consumer.assignment.interval.ms",
        "group.coordinator.cached.buffer.max.bytes",
        "group.share.assignment.interval.ms",
        "group.streams.assignment.interval.ms",
        "listener.security.protocol.map",
        "listeners",
        "log.cleaner.backoff.ms",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.buffer.size",
        "log.cleaner.io.max.bytes.per.second",
        "log.cleaner.threads",
        "max.connection.creation.rate",
        "max.connections",
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
        "metric.reporters",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
        "principal.builder.class",
        "producer.id.expiration.ms",
        "remote.fetch.max.wait.ms",
        "remote.list.offsets.request.timeout.ms",
        "remote.log.index.file.cache.total.size.bytes",
        "remote.log.manager.copier.thread.pool.size",
        "remote.log.manager.copy.max.bytes.per.second",
        "remote.log.manager.expiration.thread.pool.size",
        "remote.log.manager.fetch.max.bytes.per.second",
        "remote.log.manager.follower.thread.pool.size",
        "remote.log.reader.threads",
        "sasl.enabled.mechanisms",
        "sasl.jaas.config",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.principal.to.local.rules",
        "sasl.kerberos.service.name",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.mechanism.inter.broker.protocol",
        "share.coordinator.cached.buffer.max.bytes",
        "ssl.cipher.suites",
        "ssl.client.auth",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.engine.factory.class",
        "ssl.key.password",
        "ssl.keymanager.algorithm",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
        "transaction.partition.verification.enable",
    ),
    "group": (
        *BROKER_KEYS["GROUP"],
        "errors.deadletterqueue.copy.record.enable",
        "errors.deadletterqueue.topic.name",
        "share.auto.offset.reset",
        "share.isolation.level",
        "share.renew.acknowledge.enable",
    ),
    "client-metrics": (
        "interval.ms",
        "match",
        "metrics",
    ),
}
"""The config keys of Kafka 4.4.0 that can be altered, by the word of their resource type; the broker decides.

A test compares them with a real broker's.
"""


_BREAKS = "=:"
"""The characters of `$COMP_WORDBREAKS` that our words contain: bash cuts there, and replaces the last piece alone.

click's own scripts take names apart: bash's at backslashes and patterns of files, fish's at commas; zsh's puts a space
after `key=`.
"""


_BASH_SCRIPT = """\
%(complete_func)s() {
    local candidate
    COMPREPLY=()
    while IFS= read -r candidate; do
        [[ -n $candidate ]] && COMPREPLY+=("$candidate")
    done < <(COMP_WORDS="$(IFS=$'\\n'; echo "${COMP_WORDS[*]}")" COMP_CWORD=$COMP_CWORD \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *= ]]; then compopt -o nospace; fi
}
complete -o nosort -o bashdefault -F %(complete_func)s %(prog_name)s
"""

_ZSH_SCRIPT = """\
%(complete_func)s() {
    local -a candidates unfinished
    candidates=("${(@f)$(COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT - 1)) \\
        %(complete_var)s=zsh_complete %(prog_name)s 2>/dev/null)}")
    unfinished=(${(M)candidates:#*=})
    candidates=(${candidates:#*=})
    (( $#unfinished )) && compadd -U -S '' -V unsorted -a unfinished
    (( $#candidates )) && compadd -U -V unsorted -a candidates
}
compdef %(complete_func)s %(prog_name)s
"""

_FISH_SCRIPT = """\
function %(complete_func)s
    env %(complete_var)s=fish_complete COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) \\
        %(prog_name)s 2>/dev/null
end
complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)"
"""


class Fish(FishComplete):
    """click's completion of fish, a candidate a line; fish quotes it."""

    source_template = _FISH_SCRIPT

    def format_completion(self, item: CompletionItem) -> str:
        return str(item.value)


class Zsh(ZshComplete):
    """click's completion of zsh, a candidate a line; zsh quotes it, and nothing follows a sign."""

    source_template = _ZSH_SCRIPT

    def format_completion(self, item: CompletionItem) -> str:
        return str(item.value)


class Bash(BashComplete):
    """click's completion of bash, on the words as they were typed."""

    source_template = _BASH_SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        pieces = os.environ["COMP_WORDS"].split("\n")[: int(os.environ["COMP_CWORD"]) + 1]
        _, *args, incomplete = glued(pieces)
        self._replaced = re.sub(rf"[^{_BREAKS}]*$", "", incomplete)
        return args, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """The candidate, less what bash does not replace, as the shell reads it."""
        return shlex.quote(item.value.removeprefix(self._replaced))


def glued(pieces: Iterable[str]) -> list[str]:
    """Words out of the pieces that bash makes of them.

    Examples
    --------
    >>> glued(["quota", "describe", "user", "=", "al"])
    ['quota', 'describe', 'user=al']
    """
    words: list[str] = []
    for piece in pieces:
        if words and (_is_break(piece) or _is_break(words[-1][-1:])):
            words[-1] += piece
        else:
            words.append(piece)
    return words


def _is_break(text: str) -> bool:
    return bool(text) and set(text) <= {*_BREAKS}


def register() -> None:
    """Let click complete by them."""
    for shell in (Bash, Fish, Zsh):
        add_completion_class(shell)
