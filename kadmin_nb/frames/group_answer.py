"""The answers of the clusters of a group, as one: in a frame each row has its cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from ..errors import ExitState, KadminError
from .answer import Answer
from .blocks import NOTEBOOK, Block, Page
from .views import counted_nouns


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
        return pa.table({column: pa.array([text]) for column, text in reason.items()})
    table = answer[1].to_arrow().replace_schema_metadata()
    table = table.cast(pa.schema([column.with_nullable(True) for column in table.schema]))
    for column, text in (("cluster_id", answer[0]), ("cluster", name)):
        if column not in table.column_names:
            table = table.add_column(0, column, pa.array([text] * table.num_rows, pa.string()))
    return table
