"""Ten thousand garbage frames against the decoders: rows or a typed error, soon, and in little memory (R10)."""

from __future__ import annotations

import random
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import kafka.errors
import pytest
from kafka.protocol.admin.client_quotas import AlterClientQuotasResponse
from kafka.protocol.admin.configs import DescribeConfigsResponse, IncrementalAlterConfigsResponse

from kadmin_nb.admin import error_codes
from kadmin_nb.admin.connections import LARGEST_ANSWER, AnswerParser
from kadmin_nb.admin.ports import ConfigOperation
from kadmin_nb.admin.wire_kinds import WireConfigs, WireQuotas
from kadmin_nb.errors import KadminError, TimedOut
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from tests.faults.proxy import framed, garbage

TOPIC, ALICE = Resource("TOPIC", "orders"), Entity.of({"user": "alice"})
RECORDED = Path(__file__).parents[1] / "admin" / "recorded" / "describe-client-quotas-4.3.1.bin"
UNREADABLE = ("CORRUPT_MESSAGE", "REQUEST_TIMED_OUT")
VERSIONS = {44: 1, 49: 1, 32: 4}


class Noise:
    """A wire whose broker answers with these bytes behind the right correlation id, in pieces."""

    def __init__(self, body: bytes, draw: random.Random) -> None:
        self.body, self.draw = body, draw

    def ask(self, request: Callable[[], object], *, doing: str, **options: object) -> object:
        try:
            return self._answer(request())
        except kafka.errors.KafkaError as exc:
            raise error_codes.translated(exc, doing) from None

    def tell(self, request: Callable[[], object], *, doing: str, **options: object) -> object:
        try:
            return self._answer(request())
        except kafka.errors.KafkaError:
            raise TimedOut("it may have happened", code="REQUEST_TIMED_OUT") from None

    def _answer(self, request: object) -> object:
        request.API_VERSION = VERSIONS.get(request.API_KEY, request.API_VERSION)
        parser = AnswerParser(client_id="test", receive_message_max_bytes=LARGEST_ANSWER)
        frame = framed(parser.send_request(request).to_bytes(4, "big") + b"\0" + self.body)
        cut = self.draw.randrange(len(frame) + 1)
        [(_, answer)] = parser.receive_bytes(frame[:cut]) + parser.receive_bytes(frame[cut:])
        return answer


def described_configs() -> bytes:
    result = DescribeConfigsResponse.DescribeConfigsResult
    entry = result.DescribeConfigsResourceResult
    synonyms = [entry.DescribeConfigsSynonym(name="log.retention.ms", value="1", source=4)]
    rows = [entry(name=f"key.{n}", value="é" * n, read_only=False, config_source=5, is_sensitive=False,
                  synonyms=synonyms, config_type=2, documentation=None) for n in range(12)]  # fmt: skip
    of_topic = result(error_code=0, error_message="", resource_type=2, resource_name="orders", configs=rows)
    return DescribeConfigsResponse(throttle_time_ms=0, results=[of_topic]).encode(version=4)


def altered_quotas() -> bytes:
    entry = AlterClientQuotasResponse.EntryData
    entries = [
        entry(error_code=0, error_message=None, entity=[entry.EntityData(entity_type="user", entity_name=name)])
        for name in ("alice", "bob", None)
    ]
    return AlterClientQuotasResponse(throttle_time_ms=0, entries=entries).encode(version=1)


def altered_configs() -> bytes:
    row = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    rows = [row(error_code=0, error_message=None, resource_type=2, resource_name=n) for n in ("orders", "other")]
    return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=rows).encode(version=1)


def describe_quotas(noise: Noise) -> object:
    return WireQuotas(noise).describe()


def describe_configs(noise: Noise) -> object:
    return WireConfigs(noise).describe([TOPIC])


def alter_quotas(noise: Noise) -> object:
    return WireQuotas(noise).alter({ALICE: {"producer_byte_rate": 1.0}})[ALICE]


def alter_configs(noise: Noise) -> object:
    return WireConfigs(noise).alter({TOPIC: [ConfigOperation("set", "retention.ms", "1")]})[TOPIC]


def outcome(call: Callable[[Noise], object], body: bytes, draw: random.Random) -> str:
    """`rows`, or the error's code; a message is one line."""
    try:
        said = call(Noise(body, draw))
    except KadminError as exc:
        return str(exc.code) if "\n" not in str(exc) else "several lines"
    return getattr(said, "code", "rows")


CALLS = {
    "DescribeClientQuotas": (describe_quotas, lambda: RECORDED.read_bytes()),
    "DescribeConfigs": (describe_configs, described_configs),
    "AlterClientQuotas": (alter_quotas, altered_quotas),
    "IncrementalAlterConfigs": (alter_configs, altered_configs),
}


def spoilt(good: bytes, draw: random.Random) -> bytes:
    """One of the ways in which an answer is none: other bytes, fewer, more, a lie about a size, plain noise."""
    place = draw.randrange(len(good))
    return draw.choice([
        lambda: garbage(good, draw),
        lambda: good[:place],
        lambda: good + draw.randbytes(draw.randrange(1, 50)),
        lambda: good[:place] + b"\xff" * draw.randrange(1, 300) + good[place:],
        lambda: good[:place] + b"\xff\xff\xff\xff\x0f" + good[place + 5 :],
        lambda: good[:place] + good[draw.randrange(len(good)) :],
        lambda: draw.randbytes(draw.randrange(3000)),
    ])()  # fmt: skip


@contextmanager
def of_little_memory() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("count", [400, pytest.param(2500, marks=pytest.mark.long)])
@pytest.mark.parametrize(("call", "good"), CALLS.values(), ids=CALLS)
def test_hundreds_of_garbage_answers(call, good, count):
    """A garbled answer hung the kernel, filled its memory, or came out as a Python error nobody could read.

    The memory of one answer in ten is traced, which makes it several times slower.
    """
    draw, answer, ends, slowest = random.Random(4), good(), Counter(), 0.0
    call(Noise(answer, draw))
    for number in range(count):
        body, started = spoilt(answer, draw), time.process_time()
        with of_little_memory() if number % 10 == 0 else nullcontext():
            ends[outcome(call, body, draw)] += 1
        slowest = max(slowest, time.process_time() - started)
    assert ends["CORRUPT_MESSAGE"] + ends["REQUEST_TIMED_OUT"] > 0.6 * count
    assert ends["several lines"] + ends["None"] == 0
    assert slowest < 2.0


@pytest.mark.parametrize(("call", "good"), CALLS.values(), ids=CALLS)
def test_a_megabyte_of_one_byte_is_read_in_no_time(call, good):
    """A megabyte of 0xff is one number to a decoder that does not count, and took it minutes."""
    for byte in (b"\xff", b"\x80", b"\x7f", b"\1", b"\0"):
        started = time.process_time()
        said = [outcome(call, head + byte * 1_000_000, random.Random(1)) for head in (b"", good()[:5])]
        assert time.process_time() - started < 5.0
        assert byte < b"\x80" or set(said) <= set(UNREADABLE)


@pytest.mark.parametrize(("call", "good"), CALLS.values(), ids=CALLS)
def test_every_answer_cut_off_anywhere_is_refused(call, good):
    """Half of the rows were taken for all of them."""
    answer, draw = good(), random.Random(2)
    for end in range(0, len(answer), max(1, len(answer) // 300)):
        assert outcome(call, answer[:end], draw) in UNREADABLE


def test_frames_are_found_however_they_are_cut():
    """Two answers in one read, and the second was lost."""
    draw = random.Random(3)
    for _ in range(50):
        parser = AnswerParser(client_id="test", receive_message_max_bytes=LARGEST_ANSWER)
        noise, stream, sent = Noise(b"", draw), b"", []
        for _ in range(5):
            request = _describe_request()
            request.API_VERSION = VERSIONS[32]
            sent.append(parser.send_request(request))
            stream += framed(sent[-1].to_bytes(4, "big") + b"\0" + described_configs())
        pieces, answers = [], []
        while stream:
            size = noise.draw.choice([1, 3, 4, 50, 1000, len(stream)])
            pieces, stream = [*pieces, stream[:size]], stream[size:]
        for piece in pieces:
            answers += parser.receive_bytes(piece)
        assert [number for number, _ in answers] == sent
        assert {len(answer.results[0].configs) for _, answer in answers} == {12}


def _describe_request() -> object:
    from kafka.protocol.admin.configs import DescribeConfigsRequest

    kind = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(resources=[kind(resource_type=2, resource_name="orders", configuration_keys=None)])
