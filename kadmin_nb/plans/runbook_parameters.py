"""A plan as the parameters of a runbook, and the lines that run it."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import files, paths
from ..errors import UsageError
from ..hints import short_id
from . import formats
from .kinds import CONFIGS, by_kind

if TYPE_CHECKING:
    from .plan import Plan

OF_CONFIGS, OF_ALL = "change_configs", "change_quotas"
"""The runbook that takes lines about configs alone, and the one that takes any."""


@dataclass(frozen=True)
class RunbookParameters:
    """The parameters with which a runbook makes the changes of a plan, and no others. The file leaves `apply` false."""

    runbook: str
    name: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """The name of their file."""
        return f"{self.name}.json"

    def text(self) -> str:
        """The content of their file."""
        return _json_for_yaml(self.values)

    def save(self, folder: Path) -> Path:
        """Write the file, whole or not at all; the same again changes nothing."""
        place = folder / self.file
        files.write(place, self.text())
        return place

    def lines(self) -> Sequence[str]:
        """The lines that make the changes: each begins where the file is."""
        notebook = paths.runbook(self.runbook)
        file, output = shlex.quote(self.file), shlex.quote(f"{self.name}.ipynb")
        return [
            f"kadmin-nb runbook run {self.runbook} -f {file} -p apply=true",
            f"papermill {shlex.quote(str(notebook))} {output} -k python3 -f {file} -p apply true",
        ]

    def job_parameters(self) -> dict[str, str]:
        """The parameters of a Databricks job, each as text, that makes the changes."""
        values = {**self.values, "apply": True}
        return {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}

    def __str__(self) -> str:
        job = f"# job parameters of a task with {self.runbook} on Databricks"
        return "\n".join([*self.lines(), "", job, _json_for_yaml(self.job_parameters())])


def runbook_parameters(
    plan: Plan, cluster: str, *, allow: Collection[str] = (), policies: Sequence[object] = ()
) -> RunbookParameters:
    """The parameters of `change_configs` for a plan of configs alone, of `change_quotas` for any other.

    Parameters
    ----------
    cluster
        The word by which another process reaches the plan's cluster.
    allow
        The dangerous keys that are meant.
    policies
        The policy that the plan must keep, if any.

    Raises
    ------
    UsageError
        A change that no line can say, a key that only `--allow-unknown` lets through, several policies, or one
        that is not a file.
    """
    groups = by_kind(plan.changes)
    unknown = next((key for kind, mine in groups.items() for key in kind.unknown_keys(mine)), None)
    if unknown is not None:
        raise UsageError(f"a runbook takes no unknown key: {unknown}", hint="plan -f FILE takes it.")
    if len(policies) > 1 or not all(isinstance(policy, str | os.PathLike) for policy in policies):
        raise UsageError("a runbook takes one policy, which is a file", hint="Write the rules into one file.")
    runbook = OF_CONFIGS if [*groups] == [CONFIGS] else OF_ALL
    values = {
        "cluster": cluster,
        "changes": formats.change_lines(plan.changes),
        "reason": plan.reason or "",
        "apply": False,
        "allow": list(dict.fromkeys(allow)),
        "policy": str(Path(str(policies[0])).absolute()) if policies else "",
        "cluster_id": plan.cluster_id,
        "changes_id": plan.changes_id,
        "limit": len(plan),
    }
    return RunbookParameters(runbook, f"{runbook}-{short_id(plan.id)}", values)


def _json_for_yaml(values: Mapping[str, Any]) -> str:
    """JSON that papermill, which reads it as YAML, reads alike; it is safe to show."""
    text = json.dumps(values, indent=1, ensure_ascii=False)
    # what does not print is an escape, of which both have the short ones alone
    escaped = (c if c.isprintable() or c == "\n" or ord(c) > 0xFFFF else f"\\u{ord(c):04x}" for c in text)
    return "".join(escaped) + "\n"
