"""ACLs: the number that each principal has (DescribeAcls, API 29, KIP-140)."""

from __future__ import annotations

from collections import Counter

from kafka.protocol.admin.acl import (
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ACLResourceType,
    DescribeAclsRequest,
)

from ..model import rights
from . import error_codes
from .wire import Wire, understood

_WITHOUT_AUTHORIZER = "SECURITY_DISABLED"


def counts_by_principal(wire: Wire) -> Counter[str] | None:
    """The number of ACLs of each principal, `User:alice` say; None where the brokers have no authorizer.

    Raises
    ------
    NotAuthorized
        DESCRIBE on the cluster is missing.
    """
    doing = "describing ACLs"
    answer = wire.ask(_all_acls, doing=doing)
    if error_codes.name_of(answer.error_code) == _WITHOUT_AUTHORIZER:
        return None
    error_codes.raise_for_error(answer.error_code, answer.error_message, doing, rights.on_cluster("DESCRIBE"))
    return understood(lambda: Counter(acl.principal for resource in answer.resources for acl in resource.acls), doing)


def _all_acls() -> DescribeAclsRequest:
    return DescribeAclsRequest(
        resource_type_filter=ACLResourceType.ANY,
        resource_name_filter=None,
        pattern_type_filter=ACLResourcePatternType.ANY,
        principal_filter=None,
        host_filter=None,
        operation=ACLOperation.ANY,
        permission_type=ACLPermissionType.ANY,
    )
