"""`cluster.configs`: what is set, and where each value comes from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import starmap
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from ..admin.ports import serving
from ..client_configs.kafka import LiveKafka
from ..errors import KadminError, UsageError
from ..frames.answer import Answer
from ..frames.schemas import stamped
from ..model.config_values import near_key
from ..model.grammar import DEFAULT, LEFT_OUT, matcher, selector
from ..model.resources import OWN_SOURCE, THROTTLE_RATES, WORDS, Resource, Source
from . import near_names

if TYPE_CHECKING:
    from .audits import ConfigFindings
    from .brakes import BrakesAnswer


class Configs:
    """The configs of a cluster's resources (KIP-133)."""

    def __init__(self, kafka: LiveKafka) -> None:
        self._kafka = kafka

    def describe(
        self,
        *,
        topic: object = LEFT_OUT,
        broker: object = LEFT_OUT,
        broker_logger: object = LEFT_OUT,
        client_metrics: object = LEFT_OUT,
        group: object = LEFT_OUT,
        keys: Sequence[str] | None = None,
        only_set: bool = False,
        documentation: bool = False,
    ) -> Answer:
        """CONFIGS of these resources, sorted; a resource that cannot be read is one row with a null key and an error.

        Parameters
        ----------
        topic, broker, broker_logger, client_metrics, group
            A name, `kn.ANY` or `kn.Pattern("orders-*")`, for `broker` also a number, and `kn.DEFAULT` for the
            cluster-wide default; a list of them is their union. Several types may be given in one call.
        keys
            Only these config keys.
        only_set
            Only configs that are set on the resource itself, by an alter; not inherited ones.
        documentation
            Also fetch Kafka's description of each key.

        Raises
        ------
        UsageError
            A key that no such resource has; the hint has the nearest one.
        """
        resources = self.select(topic, broker, broker_logger, client_metrics, group)
        table = self._kafka.configs.describe(resources, keys, documentation=documentation)
        if keys is not None:
            self._refuse_unknown(set(keys) - set(table["key"].to_pylist()), resources)
        table = table.filter(_is_set(table)) if only_set else table
        return Answer(stamped(table, self._kafka.id))

    def audit(self) -> ConfigFindings:
        """FINDINGS: configs of brokers, topics, groups and client-metrics that need a look.

        `finding` is `leftover` (a replication throttle, and no reassignment is running), `throttle` (the same, and
        nobody may tell whether one is), `differs` (a broker beside its peers; what is so by nature is left out,
        `kadmin_nb.advice.config_rules.BY_NATURE`), `repeats` (set to what the level below says already), `default`
        (set to Kafka's built-in default) or `unread`. `.only("repeats")` chooses, and
        `stage.add(found.edits())` stages the lines that fix them. Nothing is changed, no sensitive value shown.

        Raises
        ------
        NotAuthorized
            DESCRIBE_CONFIGS on the cluster is missing.
        """
        from .audits import config_audit

        return config_audit(self._kafka)

    def why(self, *, topic: object = None, broker: object = None) -> BrakesAnswer:
        """BRAKES: the limits that slow a topic or a broker now, each with its culprit and what lifts it.

        For a topic: replicas that are throttled. For a broker: rates of replication, a custom callback.

        Raises
        ------
        UsageError
            Neither of them, or several.
        NotFound, NotAuthorized
            It is not there, or its configs or partitions may not be seen.
        """
        from .brakes import of_config

        named = {"topic": topic, "broker": broker}
        names = [(word, part) for word, name in named.items() if name is not None for part in selector(word, name)]
        if len(names) != 1 or not isinstance(names[0][1], str):
            raise UsageError("one topic or broker is required", hint="For example topic=orders, or broker=2.")
        return of_config(self._kafka, Resource.of(*names[0]))

    def select(
        self, topic: object, broker: object, broker_logger: object, client_metrics: object, group: object
    ) -> list[Resource]:
        """The resources that these arguments of `describe` name, if the cluster lists them.

        Raises
        ------
        UsageError
            There are none.
        """
        named = {
            "topic": topic,
            "broker": broker,
            "broker-logger": broker_logger,
            "client-metrics": client_metrics,
            "group": group,
        }
        what = {word: value for word, value in named.items() if value is not LEFT_OUT}
        if not what:
            raise UsageError("a resource is required", hint=f"One of {', '.join(f'{w}=…' for w in WORDS)}.")
        return [resource for word, value in what.items() for resource in self._resources(word, value)]

    def names(self, word: str) -> list[str]:
        """The names of all resources of a type, such as `topic`; serving brokers, and groups without configs, too.

        Raises
        ------
        UsageError
            There is no such type.
        """
        if word not in WORDS:
            raise UsageError(f"unknown config resource {word}", hint=f"It is one of {', '.join(WORDS)}.")
        others = self._kafka.groups() if word == "group" else ()
        return sorted({*self._all(word), *others})

    def near_miss(self, answer: Answer) -> str | None:
        """A hint if `describe` found nothing: the nearest topic, or the ids of the brokers."""
        rows = (row for row in answer.failed.to_arrow().to_pylist() if row["error"] in near_names.NOT_FOUND)
        missing = (Resource(row["resource_type"], row["resource_name"]) for row in rows)
        return next((near.hint for near in near_names.resources(self._kafka, missing).values()), None)

    def _refuse_unknown(self, missing: Collection[str], resources: Sequence[Resource]) -> None:
        """Refuse keys that the answer lacks, if none of the resources lists them when it is asked for all.

        A broker lists throttles, and keys of a listener, only while they are set.
        """
        strange = sorted(key for key in missing if key not in THROTTLE_RATES and not key.startswith("listener.name."))
        listed = self._listed(resources) if strange else set()
        if listed and (key := next((key for key in strange if key not in listed), None)):
            types = sorted({resource.type for resource in resources})
            kinds = " or ".join(kind.lower().replace("_", "-") for kind in types)
            near = next(filter(None, (near_key(kind, key, listed) for kind in types)), None)
            raise UsageError(f"{key} is not a config key of a {kinds}", hint=near and f"Did you mean {near}?")

    def _listed(self, resources: Sequence[Resource]) -> set[str]:
        """All keys of one resource of each type; none where they cannot be read. The cluster-wide default lists only
        what is set, a broker all."""
        try:
            any_broker = str(min(broker.id for broker in serving(self._kafka)))
            whole = {r.type: any_broker if r.is_default_broker else r.name for r in resources}
            listed = self._kafka.configs.describe(starmap(Resource, whole.items()), synonyms=False)
        except KadminError:
            return set()
        return set() if listed["key"].null_count else set(listed["key"].to_pylist())

    def _all(self, word: str) -> Iterable[str]:
        """The names of one type; of groups those that have configs."""
        if word == "group":
            return (resource.name for resource in self._kafka.configs.resources(["GROUP"]))
        return near_names.LISTERS[word](self._kafka)

    def _resources(self, word: str, value: object) -> list[Resource]:
        chosen = selector(word, value)
        asked = [part for part in chosen if isinstance(part, str) or part is DEFAULT]
        listed = [] if len(asked) == len(chosen) else filter(matcher(chosen), self._all(word))
        return [Resource.of(word, name) for name in dict.fromkeys([*asked, *listed])]


def _is_set(table: pa.Table) -> pa.Array:
    """A flag for each row: its value is set on the resource itself, or it could not be read."""
    types, sources = table["resource_type"].cast(pa.string()), table["source"].cast(pa.string())
    of_types = pa.array(OWN_SOURCE.values(), pa.string()).take(
        pc.index_in(types, pa.array(OWN_SOURCE, pa.string())).combine_chunks()
    )
    of_all = pc.and_(pc.equal(types, "BROKER"), pc.equal(table["resource_name"], ""))
    own = pc.if_else(of_all, pa.scalar(Source.ALL_BROKERS, pa.string()), of_types)
    return pc.or_(pc.is_null(table["key"]), pc.fill_null(pc.equal(sources, own), False))
