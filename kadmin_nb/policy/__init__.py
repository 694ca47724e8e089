"""Rules that a team keeps, as data in a file, judged on the same frames wherever they come from.

`kn.policy.load("kadmin-nb.policy.toml").check(cluster)`; a snapshot, a plan, or a fleet on Spark alike. Nothing in a
policy is ever evaluated as code: a rule chooses rows of a frame and says what must hold of them.
"""

from .evaluation import Policy
from .policy_answer import PolicyAnswer
from .reader import load

__all__ = ["Policy", "PolicyAnswer", "load"]
