"""IAM logins of Amazon MSK, as its Java library sets them up: its classes are known by their names, and not loaded."""

from __future__ import annotations

import os
import re

from ..errors import Unsupported, UsageError
from ..model.connection_settings import AwsSigner
from .entries import Entries
from .jaas import LoginModule

_SIGNER_OPTIONS = ("awsProfileName", "awsRoleArn")
_WITHOUT_EFFECT = ("awsDebugCreds", "awsMaxRetries", "awsMaxBackOffTimeMs")
_HOST = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?:")


def signer(entries: Entries, module: LoginModule | None) -> AwsSigner:
    """The credentials of AWS that sign the tokens, and the region that they are for.

    Raises
    ------
    Unsupported
        An option that the signer does not have, by its name.
    UsageError
        No region is named.
    """
    options = module.options if module else {}
    for name in options:
        if name not in (*_SIGNER_OPTIONS, *_WITHOUT_EFFECT):
            hint = f"Supported are {' and '.join(_SIGNER_OPTIONS)}."
            raise Unsupported(f"{entries.source}: sasl.jaas.config sets an option that is not supported", hint=hint)
    return AwsSigner(_region(entries), options.get("awsProfileName"), options.get("awsRoleArn"))


def _region(entries: Entries) -> str:
    """The region in the brokers' names; behind other names, that of the environment."""
    match = _HOST.search(entries.text("bootstrap.servers") or "")
    region = match[1] if match else os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region:
        raise UsageError(f"{entries.source}: the region of AWS is not known, and bootstrap.servers does not name it",
                         hint="AWS_REGION=eu-west-1 names it.")  # fmt: skip
    return region
