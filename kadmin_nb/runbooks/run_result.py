"""The record of a run that is over, as people read it: what came of it, its checks or rows, and what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import errors
from ..errors import KadminError, NeedsLook, printable
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Page
from ..frames.display import Display
from ..hints import Option, Runbook
from ..model.figures import utc
from ..model.findings import OK
from ..plans.advice import REASON
from .report_checks import LOOK, NOT_LOOKED
from .run_record import APPLIED, FAILED, FINISHED, PLANNED, SHORT_ID, WITHOUT_A_WORD

if TYPE_CHECKING:
    import pyarrow as pa

    from ..frames.blocks import Block


def next_step(record: Mapping[str, Any]) -> str:
    """One sentence by the record of a run; empty where nothing was planned, or the runbook cannot apply it."""
    if record["state"] != PLANNED or "apply" not in record["parameters"]:
        return ""
    if obstacle := _obstacle(record):
        return obstacle
    instead = [*_parameters_instead(record)]
    in_place = f", and in place of yours {' '.join(instead)}" if instead else ""
    return f"To apply it, run it again with {' '.join(_parameters(record))}{in_place}"


def _obstacle(record: Mapping[str, Any]) -> str:
    """The cause for which no parameter applies what was planned."""
    if (expires := record.get("expires")) and expires < record["written"]:
        return f"It expired {utc(expires)}: plan again, unless it was started before that"
    if _lacks_reason(record) and REASON.name not in record["parameters"]:
        return "It is dangerous, and can only be applied with a reason: plan again with one"
    return ""


def _parameters(record: Mapping[str, Any]) -> Iterator[str]:
    """The parameters that have to be given besides those of the run before."""
    yield "-p apply=true"
    if "changes_id" in record["parameters"]:
        yield f"-p changes_id={record['changes_id'][:SHORT_ID]}"
    if not record["parameters"].get("allow"):
        yield from _allowing(record)
    if _lacks_reason(record):
        yield Runbook(record["parameters"])(REASON) or ""


def _parameters_instead(record: Mapping[str, Any]) -> Iterator[str]:
    """Those that take the place of others: none may be given twice, and the plan of the run before was saved."""
    if record["parameters"].get("allow"):
        yield from _allowing(record)
    if record["parameters"].get("save"):
        yield "-p save="


def _allowing(record: Mapping[str, Any]) -> Iterator[str]:
    if allowed := _keys_to_allow(record):
        yield Runbook(record["parameters"])(Option("allow", allowed)) or ""


def _keys_to_allow(record: Mapping[str, Any]) -> list[str]:
    """The value of `allow` that lets every danger through; empty where the run had it, or has no such parameter."""
    given, keys = record["parameters"].get("allow"), [danger["key"] for danger in record.get("dangers", ())]
    return [] if given is None or {*keys} <= {*given} else list(dict.fromkeys([*given, *keys]))


def _lacks_reason(record: Mapping[str, Any]) -> bool:
    return bool(record.get("dangers")) and not record.get("reason")


def error_class(name: str) -> type[KadminError] | None:
    """Our class of that name; None where the error is somebody else's."""
    kind = getattr(errors, name, None)
    return kind if isinstance(kind, type) and issubclass(kind, KadminError) else None


_CHANGE = ("row", "op", "resource", "key", "old", "after")


@dataclass(frozen=True, repr=False)
class RunResult(Display):
    """The outcome of a run, by its record."""

    record: Mapping[str, Any]

    @property
    def is_refusal(self) -> bool:
        """True where an error of ours ended it before anything was changed."""
        is_ours = error_class(self._error_type) is not None
        return is_ours and self.record.get("changed", False) is False

    @property
    def tone(self) -> str:
        """`good`, `fair` (somebody should look, or was refused), `bad`, or nothing."""
        if self._error_type == WITHOUT_A_WORD:
            return "bad"
        if self.record["state"] == FAILED:
            return "fair" if self.is_refusal else "bad"
        if self._count(LOOK):
            return "fair"
        return "good" if self.record["state"] == APPLIED or self._count(OK) else ""

    def _title(self) -> str:
        finding = "; ".join(filter(None, (self._state(), self._checks(), self._change_counts())))
        return f"{self.record['runbook']}: {finding}"

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The checks of a report; else the outcome of each row, or the rows that were planned."""
        return [table for table in (self._verdicts(), self.rows().to_arrow()) if table.num_rows]

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return filter(None, (self._reason(), next_step(self.record)))

    def rows(self) -> Answer:
        """The outcome of each row; before anything was applied, the rows that were planned."""
        if outcomes := self.record.get("outcomes"):
            return Answer(schemas.table(schemas.OUTCOMES, outcomes).select([*_CHANGE, "state", "message"]))
        return Answer(schemas.table(schemas.PLAN, self.record.get("plan", ())).select([*_CHANGE, "validated", "note"]))

    def verdict_html(self) -> str:
        """The beginning of the page of the run. Planned rows stand further down in it."""
        from ..frames.blocks import Title
        from ..frames.markup import document

        checks = [table for table in (self._verdicts(),) if table.num_rows]
        return document(Title(self._title()), *checks, *self._footer(), ", ".join(self._facts()))

    @property
    def _error_type(self) -> str:
        return str((self.record.get("error") or {}).get("type", ""))

    def _state(self) -> str:
        state = str(self.record["state"])
        if self._error_type == WITHOUT_A_WORD:
            return f"{state}, then {WITHOUT_A_WORD}"
        if self._error_type == NeedsLook.__name__:
            return FINISHED
        if state != FAILED:
            return (
                state
                if self.record.get("ok", True) is not None
                else f"{state}, and has not ended at {self.record['written']}"
            )
        if self.is_refusal:
            return "refused, nothing was changed"
        return "failed" if self.record.get("changed") is False else "failed, and the cluster may have been changed"

    def _checks(self) -> str:
        """The numbers of checks that want a look, and that were not made."""
        looks, passed_over = self._count(LOOK), self._count(NOT_LOOKED)
        made = looks + self._count(OK)
        if not made + passed_over:
            return ""
        ok = f"{made} checks are ok" if made else ""
        finding = f"{looks} of {made} checks need{'s' * (looks == 1)} a look" if looks else ok
        return ", ".join(filter(None, (finding, f"{passed_over} skipped" if passed_over else "")))

    def _change_counts(self) -> str:
        """The number of rows that were planned, or the numbers of their outcomes."""
        states = Counter(row["state"] for row in self.record.get("outcomes", ()))
        if states:
            return ", ".join(f"{count} {state}" for state, count in states.items())
        count = len(self.record.get("plan", ()))
        if self.record["state"] != PLANNED:
            return ""
        return f"{count} change{'s' * (count != 1)}, nothing was changed"

    def _verdicts(self) -> pa.Table:
        return schemas.table(schemas.VERDICTS, self.record.get("verdicts", ()))

    def _count(self, verdict: str) -> int:
        return sum(row["verdict"] == verdict for row in self.record.get("verdicts", ()))

    def _reason(self) -> str:
        """The cause that ended the run, and what to do, as one paragraph."""
        error = self.record.get("error") or {}
        if not error:
            return ""
        name = "" if self.is_refusal else f"{error['type']}: "
        message = f"{name}{error['message']}".rstrip(".")
        return printable(" ".join(filter(None, (f"{message[:1].upper()}{message[1:]}.", error.get("hint")))))

    def _facts(self) -> Iterator[str]:
        """The cluster, the time, the plan and its reason."""
        if cluster := self.record.get("cluster_id"):
            yield printable(f"cluster {cluster}")
        yield utc(self.record["written"])
        for name in ("plan", "changes"):
            if full := self.record.get(f"{name}_id"):
                yield f"{name} {full[:SHORT_ID]}"
        if reason := self.record.get("reason"):
            yield printable(f"because {reason}")
