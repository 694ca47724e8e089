"""Kafka's own DumpLogSegments, and what it prints of a metadata log, record by record."""

from __future__ import annotations

import json
import os
import re
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kadmin_nb.jars import Release
from kadmin_nb.java import find_java
from kadmin_nb.local.jars import find_jars

TOOLS = {"4.3.1": Release("Kafka-tools", "4.3.1", (("org.apache.kafka", "kafka-tools", "4.3.1"),), "1 MB", False)}
"""Where the tool is a module of its own, which a broker does not need."""


class Dumped(NamedTuple):
    """A record as the tool prints it; control records have no type."""

    file: str
    offset: int
    time: int
    epoch: int
    type: int | None
    version: int | None
    data: Any


def dumped(version: str, files: Sequence[Path]) -> list[Dumped]:
    """What the tool of that version prints of these files."""
    kafka = find_jars(version)
    jars = [*kafka.jars, *(TOOLS[version].jars() if version in TOOLS else ())]
    tool = f"{'org.apache.kafka' if version in TOOLS else 'kafka'}.tools.DumpLogSegments"
    command = [
        str(find_java().command),
        "-Xmx256m",
        "-XX:TieredStopAtLevel=1",
        "-Dfile.encoding=UTF-8",
        "-Dstdout.encoding=UTF-8",
        "-cp",
        os.pathsep.join(map(str, jars)),
    ]
    words = ["--cluster-metadata-decoder", "--files", ",".join(map(str, files))]
    ran = subprocess.run([*command, tool, *words], capture_output=True, encoding="utf-8", timeout=120, check=True)
    return [*_records(ran.stdout.split("\n"), _types(kafka.jars))]


_BATCH = re.compile(r"baseOffset: .* partitionLeaderEpoch: (\d+) ")
_RECORD = re.compile(r"\| offset: (\d+) CreateTime: (\d+) .*?headerKeys: \[\] (?:payload: (.*)|\w+)")


def _records(lines: Sequence[str], types: dict[str, int]) -> Iterator[Dumped]:
    file, epoch = "", 0
    for line in lines:
        if line.startswith("Dumping "):
            file = Path(line).name
        elif batch := _BATCH.match(line):
            epoch = int(batch[1])
        elif record := _RECORD.match(line):
            content = json.loads(record[3]) if record[3] else {}
            kind = types[content["type"]] if content else None
            at = file, int(record[1]), int(record[2]), epoch
            yield Dumped(*at, kind, content.get("version"), content.get("data"))


def _types(jars: Sequence[Path]) -> dict[str, int]:
    """The numbers of the types that Kafka declares: CLIENT_QUOTA_RECORD is 14."""
    with zipfile.ZipFile(next(jar for jar in jars if jar.name.startswith("kafka-metadata-"))) as jar:
        names = [name for name in jar.namelist() if re.fullmatch(r"common/metadata/\w+\.json", name)]
        declared = [json.loads(re.sub(r"(?m)^\s*//.*$", "", jar.read(name).decode())) for name in names]
    return {re.sub(r"(?<!^)(?=[A-Z])", "_", d["name"]).upper(): d["apiKey"] for d in declared}
