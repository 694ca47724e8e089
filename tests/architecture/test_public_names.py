"""What a value offers after a dot is what its user calls; the rest begins with an underscore."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import pytest

import kadmin_nb as kn

SHOWN = {"as_html", "as_text", "hint", "raise_for_errors"}
FRAMES = SHOWN | {"to_arrow", "to_pandas", "to_spark"}
PRINTED = FRAMES | {"to_markdown"}

PUBLIC = {
    kn.Answer: FRAMES | {"columns", "differing", "failed", "head", "notes", "ok"},
    kn.Cluster: {
        "apply",
        "brokers",
        "client_configs",
        "close",
        "configs",
        "diff",
        "id",
        "metrics",
        "new_stage",
        "observe",
        "permissions",
    }
    | {"plan_from", "plans", "port", "quotas", "rollback", "scram", "settings", "snapshot", "stage", "users"}
    | {"permissions", "verify"},
    kn.Plan: PRINTED
    | {"apply", "changes", "changes_id", "cluster_id", "dangers", "head", "id", "impact", "load", "notes"}
    | {"quotas_after", "reason", "review", "save", "warnings"},
    kn.Stage: PRINTED
    | {"add", "append_config", "delete_scram", "discard", "plan", "remove_quota", "reset_client_config"}
    | {"reset_config", "set_client_config", "set_config", "set_quota", "set_scram"}
    | {"subtract_config"},
}
GIVEN = {kn.Cluster: {"port", "settings", "quotas", "configs", "scram"}}
"""What is there in a value alone."""


@pytest.mark.parametrize("kind", PUBLIC, ids=lambda kind: kind.__name__)
def test_nothing_is_offered_that_a_user_does_not_call(kind: type) -> None:
    """Tab after `plan.` listed fifty names, twenty of them for the page that shows it."""
    names = {*dir(kind), *(field.name for field in (fields(kind) if is_dataclass(kind) else ())), *GIVEN.get(kind, ())}
    assert {name for name in names if not name.startswith("_")} == PUBLIC[kind]


def test_a_cluster_has_few_names() -> None:
    """Tab after `cluster.` listed 34 names."""
    assert len(PUBLIC[kn.Cluster]) <= 22
    assert (len(PUBLIC[kn.Plan]), len(PUBLIC[kn.Stage])) == (23, 21)


def test_the_library_has_few_names() -> None:
    """Tab after `kn.` listed 52 names, and I did not know where to begin."""
    assert len(kn.__all__) <= 35
    assert {name for name in dir(kn) if not name.startswith("_")} >= {*kn.__all__}
