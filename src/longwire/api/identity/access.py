"""Why is this allowed or denied?"""

from typing import Annotated

from msgspec import Meta, field

from longwire.api.identity.permissions import PermissionId
from longwire.api.replies import Shown
from longwire.api.services import Context
from longwire.api.types import GroupId
from longwire.identity import access_explanations
from longwire.identity.access_explanations import AccessExplanation, PathStep
from longwire.model import Role, User
from longwire.web.fields import Id, Query
from longwire.web.routing import OWN, Route


class AccessQuery(Query):
    """Whose access to what."""

    group_id: GroupId
    permission: Annotated[PermissionId, Meta(examples=["connector.write"])]
    user_id: Annotated[Id, Meta(description="Whose; the caller's when left out.")] | None = None


class AccessRole(Shown[Role]):
    """A role."""

    id: Annotated[str, Meta(description="Its id.", examples=["manager"])] = field(name="roleId")
    name: Annotated[str, Meta(description="Its name.", examples=["Manager"])]


class AccessStep(Shown[PathStep]):
    """A group on the path, and the role that the user has in it."""

    group_id: GroupId
    holds: Annotated[
        bool, Meta(description="Whether the role has the permission.", examples=[False])
    ]
    name: Annotated[str, Meta(description="Its name.", examples=["Harbour"])] | None = None
    role: (
        Annotated[AccessRole, Meta(description="The role in this group; none without one.")] | None
    ) = None


class AskableUser(Shown[User]):
    """Somebody who can grant the permission."""

    id: Annotated[str, Meta(description="Their id.")] = field(name="userId")
    email: Annotated[str, Meta(description="Their address.", examples=["grace@example.com"])]
    name: Annotated[str, Meta(description="Their name.", examples=["Grace"])] | None = None


class Access(Shown[AccessExplanation], kw_only=True):
    """Whether a permission is held, and why."""

    is_allowed: Annotated[bool, Meta(description="Whether it is held.", examples=[False])]
    permission: Annotated[str, Meta(description="As asked.", examples=["connector.write"])]
    user_id: Annotated[str, Meta(description="Who: a user, or the calling app client.")]
    is_operator: Annotated[
        bool, Meta(description="Operators hold everything.", examples=[True])
    ] = False
    path: Annotated[
        list[AccessStep], Meta(description="From the root to the group; roles on it add up.")
    ]
    roles: Annotated[
        list[AccessRole], Meta(description="Roles that have the permission, at most 20.")
    ]
    askable: Annotated[
        list[AskableUser],
        Meta(description="Who could grant it, at most 5, the nearest first; if it is not held."),
    ]


def get_access(context: Context, query: AccessQuery) -> Access:
    """Explain why something is allowed or denied.

    The path shows the groups that the caller has access to, for another user those in which the
    caller has `member.read`, and the roles there. `askable` are members of these groups with
    `member.write` who have the permission themselves, where the caller has `member.read`.
    """
    return Access.show(
        access_explanations.explain(
            context.tx, context.actor, query.group_id, query.permission, query.user_id
        )
    )


ROUTES = [
    Route(
        "GET",
        "/access",
        get_access,
        OWN,
        tag="Permissions",
        object_rule="one's own, in a group one has access to; somebody else's with member.read",
        is_addition=True,
    )
]
