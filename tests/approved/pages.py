"""The lines that a page shows as typed, and what they print now, in place of what the page says that they print."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.approved.transcript import Transcript

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A block of typed lines: `$ kadmin-nb …` of a terminal, `%kquota …` of a notebook; under each what it prints."""
TYPED = re.compile(r"^(?:\$ kadmin-nb .*|%k\w+ .*|%load_ext .*)$", re.MULTILINE)
ADDRESS = "localhost:9092"
"""The Kafka, as a page names it."""
_PLAN = re.compile(r"[Pp]lan ([0-9a-f]{8})\b")


def retyped(page: str, transcript: Transcript) -> str:
    """The page with what its lines print when they are typed anew, in their order; plans have the ids of then."""
    ids: dict[str, str] = {}

    def block(match: re.Match[str]) -> str:
        return (
            "```console\n" + "".join(_answered(line, said, transcript, ids) for line, said in _lines(match[1])) + "```"
        )

    return BLOCK.sub(block, page)


def _lines(block: str) -> Iterator[tuple[str, str]]:
    starts = [match.span() for match in TYPED.finditer(block)]
    for (start, end), after in zip(starts, [*(start for start, _ in starts[1:]), len(block)], strict=True):
        yield block[start:end], block[end + 1 : after]


def _answered(line: str, said: str, transcript: Transcript, ids: dict[str, str]) -> str:
    for old, new in ids.items():
        line = line.replace(old, new)
    typed = line.removeprefix("$ kadmin-nb ").replace(ADDRESS, transcript.bootstrap)
    answer = transcript.answer(typed).replace(f"{transcript.desk}/", "").replace(transcript.bootstrap, ADDRESS)
    ids.update(zip(_PLAN.findall(said), _PLAN.findall(answer), strict=False))
    gap = "\n" if said == "\n" or said.endswith("\n\n") else ""
    return f"{line}\n{answer}\n{gap}" if answer else f"{line}\n{gap}"
