"""A team's rules, as data in a file, checked on clusters, snapshots, plans and histories.

`kn.policy.load("kadmin-nb.policy.toml").check(cluster)`; a snapshot, a plan, or a fleet on Spark alike. Nothing in a
policy is ever evaluated as code: a rule chooses rows of a frame and says what must hold of them.
"""

from .evaluation import Policy
from .policy_answer import PolicyAnswer
from .reader import load

__all__ = ["Policy", "PolicyAnswer", "load"]
