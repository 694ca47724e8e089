"""Plans of tests that are about something else: what is dangerous in them is meant."""

from __future__ import annotations

import kadmin_nb as kn
from kadmin_nb.plans.outcomes import Outcomes


def keys(plan: kn.Plan) -> list[str]:
    """The keys of dangerous rows."""
    return plan.dangers().to_arrow()["key"].to_pylist()


def applied(plan: kn.Plan, **options: object) -> Outcomes:
    """The plan applied, with every dangerous key of it allowed; it has a reason."""
    return plan.apply(allow=keys(plan), **options)
