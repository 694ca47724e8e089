"""What slows a client, by requests that are in Spark: the same as by those in this process."""

from __future__ import annotations

import pytest

from kadmin_nb.cluster.why import why
from kadmin_nb.frames import schemas
from kadmin_nb.frames.spark import to_spark
from tests.cluster.test_partial_usage import SCENES
from tests.double import FakeKafka

pytestmark = pytest.mark.spark


@pytest.mark.long
@pytest.mark.parametrize("name", ["a quota", "a neighbour"])
def test_requests_in_spark_tell_the_same(spark, name: str) -> None:
    """`quota why` of a table of requests ended in *exprs should not be empty*, where bytes were throttled."""
    scene, kafka = SCENES[name], FakeKafka(3)
    for (entity, key), value in scene.quotas.items():
        kafka.quotas.alter({entity: {key: value}})
    kafka.cluster.pass_(1)
    table = schemas.table(schemas.REQUESTS, scene.rows)
    here, there = (
        why(kafka, "alice", scene.client_id, keys=None, usage=given).brakes.findings
        for given in (table, to_spark(table, spark))
    )
    assert [(one.code, one.message) for one in here] == [(one.code, one.message) for one in there]
    assert scene.code in [one.code for one in there]
