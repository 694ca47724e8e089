"""Answer: what every reading verb returns, one Arrow table and three ways out of it; findings are one with edits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from copy import copy
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ExitState, KadminError, NotKnowable, PartlyFailed, UsageError, kind_of
from ..hints import did_you_mean
from ..model import rights
from ..model.changes import Edit
from ..model.findings import FAILED, UNKNOWN, Finding
from ..model.resources import Resource
from ..model.scram import ScramUser
from . import schemas
from .blocks import NOTEBOOK, Page
from .display import Display
from .frame import Frame
from .schemas import notes_of, stamped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sized

    import pandas
    import pyspark.sql

    from .blocks import Block


class Tabular(Display, ABC):
    """A value with rows: as Arrow, pandas or Spark, with the same columns and types."""

    __slots__ = ()

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """The Arrow table; its schema metadata has the cluster and the time, if it came from one."""

    def to_pandas(self) -> pandas.DataFrame:
        """A plain DataFrame with the same columns."""
        from .given_frames import to_pandas

        return to_pandas(self.to_arrow())

    def to_spark(self, spark: pyspark.sql.SparkSession | None = None) -> pyspark.sql.DataFrame:
        """A Spark DataFrame in `spark`, the active session, or a local one.

        Raises
        ------
        Unsupported
            pyspark is not installed.
        """
        from .spark import to_spark

        return to_spark(self.to_arrow(), spark)


class Answer(Tabular):
    """A frame that came from a cluster: show it, iterate over its rows, or convert it to Arrow, pandas or Spark.

    Rows that failed stay in it with their error: *forbidden* never looks like *empty*. Arrow's libraries take it as it
    is. `pandas.DataFrame(answer)` goes through its rows, and has no columns where there are none: `to_pandas()` has.

    Examples
    --------
    >>> answer = cluster.quotas.describe(user="alice")  # doctest: +SKIP
    >>> [(row["key"], row["value"]) for row in answer]  # doctest: +SKIP
    >>> answer.columns, len(answer), answer["value"]  # doctest: +SKIP
    >>> polars.DataFrame(answer)  # doctest: +SKIP
    """

    _is_frame = True
    """True if a notebook has it as a DataFrame that shows it; False where its own verbs are worth more."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def to_arrow(self) -> pa.Table:
        """The Arrow table; `kadmin.cluster_id` and `kadmin.taken_at` are in its schema metadata."""
        return self._table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self._table.column_names)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Its rows, a dictionary each."""
        return (row for batch in self._table.to_batches() for row in batch.to_pylist())

    def __getitem__(self, column: str) -> pa.ChunkedArray:
        """The Arrow column of that name.

        Raises
        ------
        UsageError
            It has no such column; the nearest is given.
        """
        if column not in self.columns:
            has = f"It has {', '.join(self.columns)}."
            raise UsageError(f"no column {column!r}", hint=did_you_mean(str(column), self.columns, has))
        return self._table[column]

    def head(self, rows: int = 5) -> Answer:
        """The first rows, as an answer."""
        return Answer(self._table.slice(0, rows))

    @property
    def ok(self) -> bool:
        """True if no row failed."""
        return not len(self.failed)

    @property
    def failed(self) -> Self:
        """The rows that failed."""
        return type(self)(self._table.filter(self._failing()))

    def raise_for_errors(self) -> Self:
        """Itself when nothing failed.

        Raises
        ------
        NotAuthorized, NotFound, Invalid
            The one row that failed.
        PartlyFailed
            Several did.
        """
        bad = self.failed._table.to_pylist()
        if len(bad) == 1 and len(self) == 1:
            raise self._error(bad[0])
        if bad:
            first = self._error(bad[0])
            raise PartlyFailed(
                f"{len(bad)} of {len(self)} rows failed; the first: {first}", outcomes=self, hint=first.hint
            )
        return self

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what could not be read, shown below it."""
        return notes_of(self._table)

    @property
    def differing(self) -> Sized:
        """The rows that are a change or a difference."""
        return self

    def _exit_state(self, detailed: bool = False) -> ExitState:
        if not self.ok:
            return ExitState.FAILED
        return ExitState.DIFFERENCES if detailed and len(self.differing) else ExitState.DONE

    def _failing(self) -> pa.Array:
        """Whether each row failed."""
        has_errors = "error" in self._table.column_names
        return pc.is_valid(self._table["error"]) if has_errors else pa.repeat(False, len(self))

    def _error(self, row: dict[str, Any]) -> KadminError:
        code, words = row["error"], row.get("message") or ""
        return kind_of(code)(
            f"{code} for {self._whose(row)}: {words}", code=code, hint=_missing_right(row) or self.hint
        )

    def _whose(self, row: dict[str, Any]) -> str:
        if "resource_type" in row:
            return f"{row['resource_type']} {row['resource_name']}"
        if "mechanism" in row:
            return str(ScramUser(row["user"]))
        return str(row.get("resource", row.get("plan_id")))

    def _in_cell(self) -> Any:
        if not self._is_frame:
            return self
        from .answer_frame import AnswerFrame

        return AnswerFrame(self)

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self._table]

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return self.notes

    def _title(self) -> str:
        from .views import view_of

        return view_of(self._table).title(self._table)

    def _short_form(self) -> str:
        from .views import counted_nouns

        return super()._short_form() or counted_nouns(len(self), "row", "rows")


def _missing_right(row: dict[str, Any]) -> str | None:
    """The hint of a config row that may not be read."""
    if "resource_type" not in row:
        return None
    return rights.hint(row["error"], rights.to_describe(Resource(row["resource_type"], row["resource_name"])))


def _target(finding: Finding) -> str | None:
    return None if finding.target is None else str(finding.target)


_COLUMNS: dict[str, Callable[[Finding], object]] = {
    **dict.fromkeys(("danger", "warning", "finding", "rule", "check", "brake"), attrgetter("code")),
    **dict.fromkeys(("resource", "entity", "subject", "culprit"), _target),
    "resource_type": attrgetter("target.type"),
    "resource_name": attrgetter("target.name"),
    "level": attrgetter("target.level"),
    "key": lambda finding: finding.key or None,
    "row": lambda finding: finding.row or None,
    **dict.fromkeys(("message", "reason", "note"), attrgetter("message")),
    "state": attrgetter("severity"),
    "fix": attrgetter("fix"),
    "allow": attrgetter("allowed_by"),
    "coverage": lambda finding: str(finding.coverage or "") or None,
    "op": lambda finding: None if finding.edit is None else finding.edit.op,
}
"""The columns that show a field of a finding; a column that is not here shows its evidence of that name."""


def row_of(finding: Finding, names: Iterable[str]) -> dict[str, object]:
    """These columns of a finding; null where it says nothing about one."""
    evidence = finding.evidence
    return {n: evidence.get(n) if n in evidence or n not in _COLUMNS else _COLUMNS[n](finding) for n in names}


def findings_table(schema: type[Frame] | pa.Schema, findings: Iterable[Finding]) -> pa.Table:
    """The view of findings with these columns."""
    return schemas.table(schema, (row_of(finding, schema.names) for finding in findings))


class Findings(Answer):
    """Findings of rules, as the frame with the columns of `schema`; one that failed or could not be judged fails."""

    schema: type[Frame] | pa.Schema
    failing: Collection[str] = (FAILED, UNKNOWN)
    """The severities that fail."""

    def __init__(
        self, findings: Iterable[Finding], cluster_id: str | None = None, marks: Mapping[str, str] | None = None
    ) -> None:
        self.findings = tuple(findings)
        table = findings_table(self.schema, self.findings)
        super().__init__(table if cluster_id is None else stamped(table, cluster_id, marks))

    def of(self, findings: Iterable[Finding]) -> Self:
        """The same answer with these of its findings."""
        answer = copy(self)
        answer.findings = tuple(findings)
        answer._table = findings_table(self._table.schema, answer.findings)
        return answer

    @property
    def failed(self) -> Self:
        """The findings that fail."""
        return self.of(finding for finding in self.findings if finding.severity in self.failing)

    def raise_for_errors(self) -> Self:
        """Itself when nothing failed, and everything could be judged.

        Raises
        ------
        PartlyFailed
            Some failed.
        NotKnowable
            None failed, and some could not be judged.
        """
        failed = self.failed
        wrong = self.of(finding for finding in failed.findings if finding.severity != UNKNOWN)
        if len(wrong) == len(failed) or all(row.get("error") for row in failed._table.to_pylist()):
            return super().raise_for_errors()  # where a broker refused, or did not answer, its own error says more
        first = self._error((wrong if len(wrong) else failed)._table.to_pylist()[0])
        if len(wrong):
            count = f"{len(wrong)} of {len(self)} rows failed, {len(failed) - len(wrong)} more not known"
            raise PartlyFailed(f"{count}; the first: {first}", outcomes=self, hint=first.hint)
        count = f"{len(failed)} of {len(self)} are not known"
        raise NotKnowable(f"{count}; the first: {first}", outcomes=self, hint=first.hint)

    def edits(self) -> list[Edit]:
        """The edits that fix them, for `stage.add`; a finding without one is passed over."""
        return [edit for finding in self.findings for edit in (finding.edit, *finding.further) if edit]


class GroupAnswer(Answer):
    """One frame of several clusters, which leads with `cluster` and `cluster_id`; a cluster that could not be asked is
    one row with its `error` and `message`. It is shown cluster by cluster, with notes and warnings.
    """

    _is_frame = False

    def __init__(self, answers: Mapping[str, tuple[str, Answer] | KadminError]) -> None:
        self._answers = answers
        tables = [_table_of(name, answer) for name, answer in answers.items()]
        super().__init__(pa.concat_tables(tables, promote_options="permissive").unify_dictionaries())

    @property
    def failed(self) -> Answer:  # type: ignore[override]  # some of its rows are not one answer for each cluster
        """The rows that failed: clusters that could not be asked, and what an answer has of its own."""
        return Answer(self._table.filter(self._failing()))

    def _whose(self, row: dict[str, Any]) -> str:
        return str(row["cluster"])

    def _title(self) -> str:
        from .views import counted_nouns

        failed = sum(isinstance(answer, KadminError) for answer in self._answers.values())
        asked = counted_nouns(len(self._answers), "cluster", "clusters")
        return f"{asked}; {failed} could not be asked" if failed else asked

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        for name, answer in self._answers.items():
            if isinstance(answer, KadminError):
                yield f"{name}: {answer}"
                continue
            yield f"{name}: {answer[1]._title()}"
            yield from answer[1]._content(page)
            yield from answer[1]._footer(page)

    def _exit_state(self, detailed: bool = False) -> ExitState:
        """Failed where a cluster was not asked, or its answer failed; else what any of the answers tells."""
        states = {answer[1]._exit_state(detailed) for answer in self._answers.values() if isinstance(answer, tuple)}
        told = (state for state in (ExitState.FAILED, ExitState.DIFFERENCES) if state in states)
        return next(told, ExitState.DONE) if self.ok else ExitState.FAILED


def _table_of(name: str, answer: tuple[str, Answer] | KadminError) -> pa.Table:
    """The rows of one cluster, its names before them; columns of any of them may be null."""
    if isinstance(answer, KadminError):
        reason = {"cluster": name, "error": answer.code or type(answer).__name__, "message": str(answer)}
        return pa.Table.from_pylist([reason])
    table = answer[1].to_arrow().replace_schema_metadata()
    table = table.cast(pa.schema([column.with_nullable(True) for column in table.schema]))
    for column, text in (("cluster_id", answer[0]), ("cluster", name)):
        if column not in table.column_names:
            table = table.add_column(0, column, pa.array([text] * table.num_rows, pa.string()))
    return table
