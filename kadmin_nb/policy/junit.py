"""Findings as JUnit's XML, which every CI shows: a test case a rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree as xml

from .. import files
from ..errors import printable
from ..model.findings import FAILED, OK, UNKNOWN, Finding
from .facts import CLUSTER_ID


def write_report(findings: Iterable[Finding], place: Path, suite: str) -> None:
    """Write it to a file: a breach is a failure, what cannot be known an error, a warning a line of output.

    Raises
    ------
    NotFound, Invalid
        The file cannot be written.
    """
    files.write(place, document(findings, suite))


def document(findings: Iterable[Finding], suite: str) -> str:
    """The XML; control characters, which XML has no way to say, as escapes."""
    cases = [_case(list(several)) for _, several in groupby(findings, lambda f: (f.evidence.get(CLUSTER_ID), f.code))]
    failures, errors = (sum(case.find(kind) is not None for case in cases) for kind in ("failure", "error"))
    counted = {"tests": len(cases), "failures": failures, "errors": errors}
    root = xml.Element("testsuite", {"name": printable(suite), **{name: str(n) for name, n in counted.items()}})
    root.extend(cases)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _case(findings: Sequence[Finding]) -> xml.Element:
    first = findings[0]
    case = xml.Element(
        "testcase", name=printable(first.code), classname=printable(first.evidence.get(CLUSTER_ID, "policy"))
    )
    for kind, severity in (("failure", FAILED), ("error", UNKNOWN)):
        if matching := [finding for finding in findings if finding.severity == severity]:
            xml.SubElement(case, kind, message=printable(first.evidence["reason"])).text = _message_lines(matching)
            break
    else:
        if matching := [finding for finding in findings if finding.severity != OK]:
            xml.SubElement(case, "system-out").text = _message_lines(matching)
    return case


def _message_lines(findings: Iterable[Finding]) -> str:
    return "\n".join(printable(f"{finding.message} (wanted {finding.evidence['wanted']})") for finding in findings)
