"""POLICY as JUnit's XML, which every CI shows: a test case a rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree as xml

import pyarrow as pa

from .. import files
from ..errors import printable
from ..model.rows import Row
from .facts import CLUSTER_ID
from .rules import BROKEN, KEPT, REFUSE, UNKNOWN


def write_report(table: pa.Table, place: Path, suite: str) -> None:
    """Write it to a file: a breach is a failure, what cannot be known an error, a warning a line of output.

    Raises
    ------
    NotFound, Invalid
        The file cannot be written.
    """
    files.write(place, document(table, suite))


def document(table: pa.Table, suite: str) -> str:
    """The XML; control characters, which XML has no way to say, as escapes."""
    cases = [_case(list(rows)) for _, rows in groupby(table.to_pylist(), lambda r: (r.get(CLUSTER_ID), r["rule"]))]
    failures, errors = (sum(case.find(kind) is not None for case in cases) for kind in ("failure", "error"))
    counted = {"tests": len(cases), "failures": failures, "errors": errors}
    root = xml.Element("testsuite", {"name": printable(suite), **{name: str(n) for name, n in counted.items()}})
    root.extend(cases)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _case(rows: Sequence[Row]) -> xml.Element:
    first = rows[0]
    case = xml.Element(
        "testcase", name=printable(first["rule"]), classname=printable(first.get(CLUSTER_ID) or "policy")
    )
    refusing = [row for row in rows if row["severity"] == REFUSE]
    for kind, states in (("failure", {BROKEN}), ("error", {UNKNOWN})):
        if matching := [row for row in refusing if row["state"] in states]:
            xml.SubElement(case, kind, message=printable(first["reason"])).text = _message_lines(matching)
            break
    else:
        if matching := [row for row in rows if row["state"] != KEPT]:
            xml.SubElement(case, "system-out").text = _message_lines(matching)
    return case


def _message_lines(rows: Iterable[Row]) -> str:
    return "\n".join(printable(f"{row['message']} (wanted {row['wanted']})") for row in rows)
