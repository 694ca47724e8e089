"""Whatever is wrong in a file is one line that names the file, the line and the column; nothing is changed."""

from __future__ import annotations

import json
import re
import textwrap
import time
from pathlib import Path

import jsonschema
import pytest
import yaml

import kadmin_nb as kn
from tests.declared.snapshots import held

BEGIN = "kadmin: 1\n"
ALICE = f"{BEGIN}quotas:\n  user=alice:\n"
ORDERS = f"{BEGIN}configs:\n  topic=orders:\n"

WRONG: dict[str, tuple[str, str, str]] = {
    "nothing": ("", "it is empty", "kn.state.export(cluster.snapshot()) writes one"),
    "comments alone": ("# later\n", "it is empty", "kn.state.export(cluster.snapshot()) writes one"),
    "a list": ("- a\n", "line 1, column 1: a file of quotas and configs is a mapping, not a list", ""),
    "some other file": ("spec: {}\n", "line 1, column 1: kadmin: 1 is required", "kadmin: 1"),
    "a newer file": ("kadmin: 2\n", "line 1, column 9: format 2 is not known to this version", ""),
    "a word": (f"{BEGIN}quota: {{}}\n", "line 2, column 1: unknown key quota", "Did you mean quotas?"),
    "a key twice": (
        f"{ALICE}    producer_byte_rate: 1\n    producer_byte_rate: 2\n",
        "line 5, column 5: producer_byte_rate occurs twice, first in line 4",
        "",
    ),
    "a section twice": (f"{BEGIN}quotas: {{}}\nquotas: {{}}\n", "line 3, column 1: quotas occurs twice", ""),
    "an entity in two spellings": (
        f"{BEGIN}quotas:\n  user=a client-id=b: {{}}\n  client-id=b user='a': {{}}\n",
        "line 4, column 3: client-id=b user='a' is the same as user=a client-id=b in line 3",
        "",
    ),
    "a broker in two spellings": (
        f"{BEGIN}configs:\n  broker=1: {{}}\n  broker=01: {{}}\n",
        "line 4, column 3: broker=01 is the same as broker=1 in line 3",
        "",
    ),
    "a tab": (f"{BEGIN}quotas:\n\tuser=alice: {{}}\n", "line 3, column 1: invalid YAML: found character", "spaces"),
    "a tab after spaces": (
        f"{ALICE}  \tproducer_byte_rate: 1\n",
        "line 4, column 3: invalid YAML: found character",
        "spaces",
    ),
    "a wrong unit": (f"{ALICE}    producer_byte_rate: 5ms\n", "line 4, column 25: ms does not fit", "MiB"),
    "another key's unit": (f"{ALICE}    request_percentage: 5MB/s\n", "line 4, column 25: MB/s does not fit", "%"),
    "no number": (f"{ALICE}    producer_byte_rate: fast\n", "line 4, column 25: producer_byte_rate=fast is not", ""),
    "a quota of zero": (f"{ALICE}    producer_byte_rate: 0\n", "line 4, column 25: producer_byte_rate cannot be 0", ""),
    "no value": (f"{ALICE}    producer_byte_rate:\n", "line 4, column 24: producer_byte_rate has no value", "--prune"),
    "null": (f"{ORDERS}    retention.ms: null\n", "line 4, column 19: retention.ms has no value", '"null"'),
    "an empty section": (f"{BEGIN}quotas:\n", "line 2, column 8: quotas has no value", "{} for none"),
    "a list of values": (
        f"{ORDERS}    cleanup.policy: [compact]\n",
        "line 4, column 21: cleanup.policy is one text",
        "",
    ),
    "a key without a name": (f'{ORDERS}    "": 1\n', "line 4, column 5: a key without a name", ""),
    "an alias": (f"{BEGIN}quotas: &q\n  user=a: {{}}\nconfigs: *q\n", "line 2, column 9: anchors and aliases", ""),
    "a bomb of aliases": ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "line 1, column 4: anchors and aliases", ""),
    "Python's tag": (
        f"{BEGIN}quotas: !!python/object/apply:os.system [id]\n",
        "line 2, column 9: the tag tag:yaml.org,2002:python/object/apply:os.system is not read",
        "text",
    ),
    "a merge key": (f"{BEGIN}quotas:\n  <<: {{}}\n", "line 3, column 3: << does not name an entity", ""),
    "a mapping for a key": (f"{BEGIN}? [a]\n: b\n", "line 2, column 3: a key is a text, not a mapping or a list", ""),
    "two documents": (f"{BEGIN}---\n{BEGIN}", "line 2, column 1: a second document begins", ""),
    "nested without end": ("[" * 100_000, "line 1, column 8: nested too deeply", ""),
    "a bell": (f'{BEGIN}quotas:\n  "user=\x07": {{}}\n', "line 3, column 9: the character U+0007", '"\\u0007"'),
    "a line end of Unicode": (
        f'{BEGIN}quotas:\n  "user=a\u2028b": {{}}\n',
        "line 3, column 10: the character U+2028",
        "",
    ),
    "a bare name": (f"{BEGIN}quotas:\n  alice: {{}}\n", "line 3, column 3: alice does not name an entity", ""),
    "an empty name": (f"{BEGIN}quotas:\n  user=: {{}}\n", "line 3, column 3: user= has no value", ""),
    "everybody": (f"{BEGIN}quotas:\n  user=<any>: {{}}\n", "line 3, column 3: user=<any> names more than one", ""),
    "an ip with a user": (f"{BEGIN}quotas:\n  ip=::1 user=a: {{}}\n", "line 3, column 3: ip cannot be combined", ""),
    "configs of a user": (
        f"{BEGIN}configs:\n  user=a: {{}}\n",
        "line 3, column 3: unknown config resource user",
        "topic",
    ),
    "a broker by name": (f"{BEGIN}configs:\n  broker=x: {{}}\n", "line 3, column 3: broker=x is not a broker", ""),
    "two topics": (
        f"{BEGIN}configs:\n  topic=a topic=b: {{}}\n",
        "line 3, column 3: topic=a topic=b does not name one",
        "",
    ),
    "a kind": (f"{BEGIN}kinds: [topics]\n", "line 2, column 9: unknown kind topics", "Did you mean topic?"),
    "a time without a zone": (
        f"{BEGIN}taken_at: 2026-11-21\n",
        "line 2, column 11: 2026-11-21 has no time zone",
        "Z",
    ),
    "half": (f"{BEGIN}complete: perhaps\n", "line 2, column 11: complete is true or false", ""),
    "no YAML": (f"{BEGIN}quotas: [a\n", "line 3, column 1: invalid YAML", ""),
    "no JSON": ('{"kadmin": 1,\n]', "line 2, column 1: invalid YAML", ""),
    "JSON without end": ('{"a":' * 100_000, "line 1, column 36: nested too deeply", ""),
    "JSON with a key twice": (
        '{"kadmin": 1,\n "kadmin": 1}',
        "line 2, column 2: kadmin occurs twice, first in line 1",
        "",
    ),
    "JSON's true": (
        '{"kadmin": 1, "quotas": {"user=a":\n {"producer_byte_rate": true}}}',
        "line 2, column 25: producer_byte_rate=true is not a number",
        "",
    ),
    "half a pair": ('{"kadmin": 1, "quotas": {"user=\\ud800": {}}}', "line 1, column 34: invalid YAML", ""),
}


def where_of(text: str) -> str:
    return "c.json" if text.startswith("{") else "c.yaml"


@pytest.mark.parametrize(("text", "told", "hint"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_with_its_place(text, told, hint):
    """`mapping values are not allowed here`, said the tool of a file of 4,000 lines, and `<unicode string>`."""
    with pytest.raises(kn.UsageError if "cannot be 0" not in told else kn.Invalid) as refused:
        kn.state.read(text, where_of(text))
    assert str(refused.value).startswith(f"{where_of(text)}: {told}")
    assert "\n" not in str(refused.value)
    assert hint in (refused.value.hint or "")


PASSED_BY_THE_SCHEMA = {
    "a key twice", "a section twice", "an entity in two spellings", "a broker in two spellings", "a tab",
    "a tab after spaces", "a wrong unit", "another key's unit", "an alias", "Python's tag", "two documents",
    "nothing", "comments alone", "a bell", "a line end of Unicode", "everybody", "an ip with a user",
    "a broker by name", "two topics", "a kind",
    "a time without a zone", "no YAML", "no JSON", "JSON without end", "JSON with a key twice", "half a pair",
    "nested without end", "a bomb of aliases", "a mapping for a key", "a merge key", "an empty name",
}  # fmt: skip
"""What a schema cannot say, or what is neither YAML nor JSON."""


@pytest.mark.parametrize("name", sorted({*WRONG} - PASSED_BY_THE_SCHEMA))
def test_the_schema_refuses_it_too(name):
    """The editor showed a green file, and the plan a red one."""
    text = WRONG[name][0]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(
            json.loads(text) if text.startswith("{") else yaml.safe_load(text), json.loads(kn.state.schema())
        )


@pytest.mark.parametrize(
    ("raw", "kind", "told"),
    [
        (b"kadmin: 1\n\xff\xfe\n", kn.Invalid, ": line 2: it is not UTF-8"),
        (b"#" * (64 * 2**20 + 1), kn.UsageError, " is larger than 67,108,864 bytes"),
    ],
    ids=["not UTF-8", "too large"],
)
def test_a_file_that_is_none_of_ours(raw, kind, told, tmp_path):
    """The wrong argument was read for minutes."""
    place, began = tmp_path / "c.yaml", time.monotonic()
    place.write_bytes(raw)
    with pytest.raises(kind, match=re.escape(f"{place}{told}")):
        kn.state.load(place)
    assert time.monotonic() - began < 20


def test_a_file_that_is_not_there(tmp_path: Path):
    """A slip in its name was a stack of twenty lines."""
    with pytest.raises(kn.NotFound, match="no such file"):
        kn.state.load(tmp_path / "none.yaml")
    with pytest.raises(kn.UsageError, match="is not a file"):
        kn.state.load(tmp_path)


def test_the_example_of_the_docs_is_read():
    """The first file I wrote was copied from the docs, and refused."""
    docs = (Path(__file__).parents[2] / "docs" / "declared.md").read_text(encoding="utf-8")
    [example] = re.findall(r"\n    (kadmin: 1\n(?:    .*\n|\n)*)", docs)
    declared = kn.state.read(textwrap.dedent(f"    {example}"))
    assert [(str(entry.resource), entry.value) for entry in declared.entries] == [
        ("user=alice", "5000000"),
        ("user=alice", "50"),
        ("user=<default> client-id=<default>", "1000000"),
        ("user==<default>", "1000"),
        ("topic=orders", "86400000"),
        ("topic=orders", "compact,delete"),
        ("broker=<default>", "11"),
        ("broker=<default>", "[secure]"),
        ("user=alice client-id=app", "-1"),
    ]


HELD = held({"user=alice": {"producer_byte_rate": 1e6}}, {"broker=1": {"ssl.key.password": None}})

NOT_TO_BE_PLANNED: dict[str, tuple[str, type[kn.KadminError], str, str]] = {
    "another cluster": (
        f"{BEGIN}cluster_id: staging\n",
        kn.errors.WrongCluster,
        "c.yaml is for cluster staging",
        "any_cluster=True",
    ),
    "an unknown key": (
        f"{ALICE}    producer_byte_rat: 1\n",
        kn.Invalid,
        "c.yaml: line 4, column 5: unknown quota key producer_byte_rat",
        "Did you mean producer_byte_rate? Confirm with allow_unknown=['producer_byte_rat'].",
    ),
    "an unknown type": (
        f"{BEGIN}quotas:\n  usr=alice:\n    producer_byte_rate: 1\n",
        kn.Invalid,
        "c.yaml: line 4, column 5: unknown entity type usr",
        "Did you mean user?",
    ),
    "a quota of a topic": (
        f"{BEGIN}quotas:\n  topic=a:\n    producer_byte_rate: 1\n",
        kn.Invalid,
        "c.yaml: line 4, column 5: unknown entity type topic",
        "go under configs",
    ),
    "NaN": (
        f"{ALICE}    producer_byte_rate: nan\n",
        kn.Invalid,
        "c.yaml: line 4, column 5: producer_byte_rate cannot be",
        "",
    ),
    "a number beyond all": (
        f"{ALICE}    producer_byte_rate: 1e999999999\n",
        kn.Invalid,
        "c.yaml: line 4, column 5: ",
        "",
    ),
    "a fraction": (f"{ALICE}    producer_byte_rate: 1.5\n", kn.Invalid, "c.yaml: line 4, column 5: ", ""),
    "a secret that is not there": (
        f'{BEGIN}configs:\n  broker=2:\n    ssl.key.password: "[secure]"\n',
        kn.UsageError,
        "c.yaml: line 4, column 5: ssl.key.password of broker=2 is [secure] here, and not set on the cluster",
        "env:NAME",
    ),
}


@pytest.mark.parametrize(("text", "kind", "told", "hint"), NOT_TO_BE_PLANNED.values(), ids=NOT_TO_BE_PLANNED)
def test_what_reads_well_and_cannot_be_meant(text, kind, told, hint):
    """A key with a letter missing was sent, and Kafka refused all of it without a line."""
    with pytest.raises(kind) as refused:
        kn.state.read(text, "c.yaml").difference(HELD)
    assert str(refused.value).startswith(told)
    assert hint in (refused.value.hint or "")


def test_a_secret_in_a_file_is_in_no_error():
    """The password stood in the traceback of the job."""
    for text in (
        f'{BEGIN}configs:\n  broker=1:\n    ssl.key.password: "hunter2\n',
        f"{ALICE}    ssl.key.password: hunter2\n",
        f"{BEGIN}configs:\n  broker=1:\n    ssl.key.password: [hunter2]\n",
    ):
        with pytest.raises(kn.KadminError) as refused:
            kn.state.read(text, "c.yaml").difference(HELD)
        assert "hunter2" not in repr(refused.value) + str(refused.value.hint)
    declared = kn.state.read(f"{BEGIN}configs:\n  broker=1:\n    ssl.key.password: hunter2\n")
    assert "hunter2" not in repr(declared) + repr(declared.difference(HELD))
