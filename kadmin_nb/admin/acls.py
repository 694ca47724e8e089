"""ACLs: who may do what to which resource (DescribeAcls, API 29, KIP-140)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from kafka.protocol.admin.acl import (
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ACLResourceType,
    DescribeAclsRequest,
)

from ..model import rights
from ..model.configurable import AclResource
from ..model.rights import Right
from . import error_codes
from .wire import Wire, understood

_WITHOUT_AUTHORIZER = "SECURITY_DISABLED"
_ANY_NAME = "*"
_ALL = "ALL"


@dataclass(frozen=True, slots=True)
class Acl:
    """An ACL as brokers store it; the words are Kafka's own, such as TOPIC, LITERAL, WRITE and ALLOW."""

    principal: str
    operation: str
    permission: str
    resource_type: str
    name: str
    pattern: str

    def is_about(self, resource: AclResource) -> bool:
        """True of an ACL of this resource, of a prefix of its name, or of all of its type."""
        if self.resource_type != resource.type.upper().replace("-", "_"):
            return False
        if self.pattern == ACLResourcePatternType.PREFIXED.name:
            return resource.name.startswith(self.name)
        return self.name in (resource.name, _ANY_NAME)

    def allows(self, right: Right) -> bool:
        """True if it grants the right, from some hosts at least."""
        is_operation = self.operation in (right.operation, _ALL)
        return self.permission == ACLPermissionType.ALLOW.name and is_operation and self.is_about(right.on)


def all_acls(wire: Wire) -> list[Acl] | None:
    """All ACLs; None where the brokers have no authorizer.

    Raises
    ------
    NotAuthorized
        DESCRIBE on the cluster is missing.
    """
    doing = "describing ACLs"
    answer = wire.ask(_acls_request, doing=doing)
    if error_codes.name_of(answer.error_code) == _WITHOUT_AUTHORIZER:
        return None
    error_codes.raise_for_error(answer.error_code, answer.error_message, doing, rights.on_cluster("DESCRIBE"))
    return understood(lambda: [_acl(resource, acl) for resource in answer.resources for acl in resource.acls], doing)


def _acl(resource: Any, acl: Any) -> Acl:
    return Acl(
        acl.principal,
        _enum_name(ACLOperation, acl.operation),
        _enum_name(ACLPermissionType, acl.permission_type),
        _enum_name(ACLResourceType, resource.resource_type),
        resource.resource_name,
        _enum_name(ACLResourcePatternType, resource.pattern_type),
    )


def _enum_name(words: type[IntEnum], code: int) -> str:
    """Kafka's word for it; the number of one that kafka-python does not know."""
    return words(code).name if code in {*words} else str(code)


def _acls_request() -> DescribeAclsRequest:
    return DescribeAclsRequest(
        resource_type_filter=ACLResourceType.ANY,
        resource_name_filter=None,
        pattern_type_filter=ACLResourcePatternType.ANY,
        principal_filter=None,
        host_filter=None,
        operation=ACLOperation.ANY,
        permission_type=ACLPermissionType.ANY,
    )
