"""A team's rules, as Python functions: `kn.check("policies.py", cluster)`.

A rule takes frames by the names of its parameters and returns the rows that break it; it never asks a cluster.
"""

from .judging import PolicyAnswer
from .rule_functions import Rule, rule, rules_of

__all__ = ["PolicyAnswer", "Rule", "rule", "rules_of"]
