"""The nouns of the client, and their methods.

Made by scripts/generate.py; do not edit.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec.json import encode

from longwire_client import models as m
from longwire_client._sync.pages import Pages
from longwire_client._sync.transport import Transport
from longwire_client.calls import Call, JsonText, When


class _Noun:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _stream(self, call: Call[bytes]) -> Iterator[bytes]:
        with self._transport.stream(call) as chunks:
            for chunk in chunks:
                yield chunk


class Groups(_Noun):
    def list(
        self,
        *,
        page_size: int | None = None,
        user_id: str | None = None,
        group_id: str | None = None,
    ) -> Pages[m.Group, m.GroupConnection]:
        """List the groups of a user.

        Direct memberships and inherited ones, as far as the caller can see them; the caller's
        own without `userId`. `groupId` restricts the list to that group and those below it.

        `page_size` is how many items one request gets.

        `GET /user/groups`.
        """
        call: Call[m.GroupConnection] = Call(
            "GET",
            "/user/groups",
            m.GroupConnection,
            query={"limit": page_size, "userId": user_id, "groupId": group_id},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def tree(
        self, *, page_size: int | None = None, parent_id: str | None = None, q: str | None = None
    ) -> Pages[m.TreeGroup, m.GroupTree]:
        """List groups as a tree.

        Those directly below `parentId`; without it, the topmost groups in which the caller has
        `group.read`, for operators all root groups. With `q`, all groups with that text in
        their name that the caller can see, below `parentId` if given. By name.

        `page_size` is how many items one request gets.

        `GET /groups`; needs `group.read`.
        """
        call: Call[m.GroupTree] = Call(
            "GET",
            "/groups",
            m.GroupTree,
            query={"limit": page_size, "parentId": parent_id, "q": q},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def get(self, group_id: str) -> m.Group:
        """Get a group.

        The response is an array with the group as its only element.

        `GET /group`; needs `group.read`.
        """
        call: Call[Sequence[m.Group]] = Call(
            "GET", "/group", Sequence[m.Group], query={"groupId": group_id}, is_repeatable=True
        )
        return (self._transport.request(call))[0]

    def create(
        self,
        name: str | None = None,
        *,
        parent_id: str | None = None,
        description: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> m.Group:
        """Create a group.

        The caller becomes its owner and Administrator. An app client can create groups only
        below its own; the owner of the parent then owns them. There are at most 16 levels.

        `POST /group`; needs `group.create`.
        """
        call: Call[m.Group] = Call(
            "POST",
            "/group",
            m.Group,
            query={"parentId": parent_id},
            body=encode(m.GroupInput(name=name, description=description, tags=tags)),
        )
        return self._transport.request(call)

    def update(
        self,
        group_id: str,
        *,
        owner_id: str | None = None,
        name: str | None = None,
        role_id: str | None = None,
        description: str | None = None,
        parent: str | None = None,
        tags: Sequence[str] | None = None,
        if_updated_at: When | None = None,
    ) -> m.Group:
        """Update a group.

        `parent` moves it with its subtree (an empty string makes it a root group). This
        requires `group.update` in the parent that it leaves, `group.create` in the new one, and
        all permissions of an Administrator in the group; only its owner moves a root group.
        `ownerId` transfers ownership, `roleId` sets the default role.

        `PUT /group`; needs `group.update`.
        """
        call: Call[m.Group] = Call(
            "PUT",
            "/group",
            m.Group,
            body=encode(
                m.GroupChange(
                    group_id=group_id,
                    owner_id=owner_id,
                    name=name,
                    role_id=role_id,
                    description=description,
                    parent=parent,
                    tags=tags,
                    if_updated_at=if_updated_at,
                )
            ),
        )
        return self._transport.request(call)

    def delete(self, group_id: str, *, recursive: bool | None = None) -> m.Group:
        """Delete a group.

        An empty group (no subgroups, devices, connectors or notifications) is deleted at once.
        With `recursive=true` any group is: after a grace period, at `deletionAt`, it is deleted
        with its subgroups, devices, records, connectors, notifications, app clients,
        memberships, and the custom roles that are used nowhere else. Messages that wait for
        delivery are not sent any more. Until then everything works, and `POST /group/restore`
        cancels it. Requires `group.update` in the parent, too, and all permissions of an
        Administrator; only its owner deletes a root group.

        `DELETE /group`; needs `group.update`.
        """
        call: Call[m.Group] = Call(
            "DELETE", "/group", m.Group, query={"groupId": group_id, "recursive": recursive}
        )
        return self._transport.request(call)

    def restore(self, group_id: str) -> m.Group:
        """Cancel the deletion of a group.

        Until `deletionAt`; after that, nothing can be restored. Requires what deleting the
        group does.

        `POST /group/restore`; needs `group.update`.
        """
        call: Call[m.Group] = Call(
            "POST", "/group/restore", m.Group, body=encode(m.GroupRestoration(group_id=group_id))
        )
        return self._transport.request(call)

    def accept(self, group_id: str) -> m.Group:
        """Accept an invitation.

        Other members see the caller's name from then on, and the group may send them mail. Any
        other change in the group accepts as well, but no GET. Leaving the group declines.

        `POST /group/accept`.
        """
        call: Call[m.Group] = Call(
            "POST", "/group/accept", m.Group, body=encode(m.InvitationAcceptance(group_id=group_id))
        )
        return self._transport.request(call)

    def configuration(self, group_id: str) -> m.ConfigurationPolicy:
        """Get the configuration policy of a group.

        `GET /group/configuration`; needs `device.read`.
        """
        call: Call[m.ConfigurationPolicy] = Call(
            "GET",
            "/group/configuration",
            m.ConfigurationPolicy,
            query={"groupId": group_id},
            is_repeatable=True,
        )
        return self._transport.request(call)

    def set_configuration(
        self, group_id: str, *, policy: Mapping[str, Any], if_updated_at: When | None = None
    ) -> m.ConfigurationPolicy:
        """Set the configuration policy of a group.

        It is what the configuration of every device in the group and below should contain: a
        JSON merge patch of at most 8,192 characters, 200 values and 16 levels. Policies of
        groups further down, and what a device has of its own, go before it.

        `PUT /group/configuration`; needs `group.update`.
        """
        call: Call[m.ConfigurationPolicy] = Call(
            "PUT",
            "/group/configuration",
            m.ConfigurationPolicy,
            body=encode(
                m.GroupPolicyChange(group_id=group_id, policy=policy, if_updated_at=if_updated_at)
            ),
        )
        return self._transport.request(call)

    def drift(
        self, group_id: str, *, page_size: int | None = None, subgroups: bool | None = None
    ) -> Pages[m.DriftingDevice, m.DriftingDeviceConnection]:
        """List the devices of a group that drift.

        Those that report another configuration in their data records than they should have, by
        group and in the order of their creation; at most 100 a page.

        `page_size` is how many items one request gets.

        `GET /group/drift`; needs `device.read`.
        """
        call: Call[m.DriftingDeviceConnection] = Call(
            "GET",
            "/group/drift",
            m.DriftingDeviceConnection,
            query={"groupId": group_id, "limit": page_size, "subgroups": subgroups},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def positions(
        self,
        group_id: str,
        *,
        subgroups: bool | None = None,
        box: str | None = None,
        since: When | None = None,
        page_size: int | None = None,
    ) -> Pages[Sequence[str | int | float | None], m.Positions]:
        """List the last positions of devices.

        Of each device of the group that has one: that of its newest geolocation since it is in
        the group. In no particular order.

        `page_size` is how many items one request gets.

        `GET /group/positions`; needs `record.read`.
        """
        call: Call[m.Positions] = Call(
            "GET",
            "/group/positions",
            m.Positions,
            query={
                "groupId": group_id,
                "subgroups": subgroups,
                "box": box,
                "since": since,
                "limit": page_size,
            },
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def overview(self, group_id: str, *, subgroups: bool | None = None) -> m.GroupOverview:
        """Get the overview of a group.

        How many devices and connectors there are, and what needs attention. Counted every five
        seconds at most.

        `GET /group/overview`; needs `metrics.read`.
        """
        call: Call[m.GroupOverview] = Call(
            "GET",
            "/group/overview",
            m.GroupOverview,
            query={"groupId": group_id, "subgroups": subgroups},
            is_repeatable=True,
        )
        return self._transport.request(call)

    def metrics(
        self,
        group_id: str,
        *,
        begin_date: When,
        end_date: When,
        time_span: int | None = None,
        subgroups: bool | None = None,
    ) -> m.GroupMetrics:
        """Get the metrics of a group.

        Counted on arrival, in the same transaction; deleting does not lower a counter. The
        items cover the period from `beginDate` without gaps, `timeSpan` seconds each.

        `GET /group/metrics`; needs `metrics.read`.
        """
        call: Call[m.GroupMetrics] = Call(
            "GET",
            "/group/metrics",
            m.GroupMetrics,
            query={
                "groupId": group_id,
                "beginDate": begin_date,
                "endDate": end_date,
                "timeSpan": time_span,
                "subgroups": subgroups,
            },
            is_repeatable=True,
        )
        return self._transport.request(call)

    def limits(self, group_id: str) -> m.GroupLimits:
        """Get the limits of a group.

        What the operator limits, how long records are kept, and what is stored: the group's own
        values, and what holds, which may be from a group above it or from the service's
        settings.

        `GET /group/limits`; needs `group.read`.
        """
        call: Call[m.GroupLimits] = Call(
            "GET", "/group/limits", m.GroupLimits, query={"groupId": group_id}, is_repeatable=True
        )
        return self._transport.request(call)

    def set_limits(
        self, group_id: str, *, limits: m.OperatorLimits, if_updated_at: When | None = None
    ) -> m.GroupLimits:
        """Set the limits of a group.

        For the group with all groups below it, in place of those it has; a limit that is left
        out is that of the service. Limits further up hold as well. By operators.

        `PUT /group/limits`; needs `group.limit`.
        """
        call: Call[m.GroupLimits] = Call(
            "PUT",
            "/group/limits",
            m.GroupLimits,
            body=encode(
                m.GroupLimitsChange(group_id=group_id, limits=limits, if_updated_at=if_updated_at)
            ),
        )
        return self._transport.request(call)

    def set_retention(
        self, group_id: str, *, retention_days: m.RetentionDays, if_updated_at: When | None = None
    ) -> m.GroupLimits:
        """Set how long a group keeps records.

        For the group and all groups below it that do not say otherwise, in place of what it
        says now; what is left out is as further up, or as the service has it, and nothing is
        kept for longer than the operator allows. What has expired is not shown any more at
        once, and deleted after a day.

        `PUT /group/retention`; needs `group.update`.
        """
        call: Call[m.GroupLimits] = Call(
            "PUT",
            "/group/retention",
            m.GroupLimits,
            body=encode(
                m.GroupRetentionChange(
                    group_id=group_id, retention_days=retention_days, if_updated_at=if_updated_at
                )
            ),
        )
        return self._transport.request(call)


class Members(_Noun):
    def list(
        self, group_id: str, *, page_size: int | None = None
    ) -> Pages[m.PublicUser, m.UserConnection]:
        """List the members of a group.

        Direct members only, in the order they joined, each with their role. Of those who have
        not accepted their invitation yet, `email` is the address that was invited, `createdAt`
        the time of the invitation, and there is no name and no `seenAt`.

        `page_size` is how many items one request gets.

        `GET /group/users`; needs `member.read`.
        """
        call: Call[m.UserConnection] = Call(
            "GET",
            "/group/users",
            m.UserConnection,
            query={"groupId": group_id, "limit": page_size},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def invite(
        self,
        group_id: str,
        *,
        email: str,
        role_id: str,
        language: Literal["de", "en", "fr"] | None = None,
    ) -> m.GroupUserRelation:
        """Invite a user to a group.

        By e-mail address; the response does not reveal whether the user exists. The role can
        contain only permissions that the caller has. It counts at once; but until the person
        accepts, by the link in the mail or by a request that names the group, others see only
        this address of them, and the group sends them nothing but the invitation. Where no mail
        can be sent, the response has the link, to hand it over. To send another one, invite
        them again; 429 if the group has sent as many mails as it may in an hour, or this
        address was sent ten invitations.

        `PUT /group/invite`; needs `member.write`.
        """
        call: Call[m.GroupUserRelation] = Call(
            "PUT",
            "/group/invite",
            m.GroupUserRelation,
            body=encode(
                m.Invitation(group_id=group_id, email=email, role_id=role_id, language=language)
            ),
        )
        return self._transport.request(call)

    def update(
        self, user_id: str, *, group_id: str, role_id: str, if_updated_at: When | None = None
    ) -> m.GroupUserRelation:
        """Change the role of a member.

        Neither the old nor the new role may have permissions that the caller lacks.
        `ifUpdatedAt` is the `membershipUpdatedAt` of the list of members.

        `PUT /group/user`; needs `member.write`.
        """
        call: Call[m.GroupUserRelation] = Call(
            "PUT",
            "/group/user",
            m.GroupUserRelation,
            body=encode(
                m.MemberChange(
                    user_id=user_id, group_id=group_id, role_id=role_id, if_updated_at=if_updated_at
                )
            ),
        )
        return self._transport.request(call)

    def remove(self, group_id: str, *, user_id: str | None = None) -> m.GroupUserRelation:
        """Remove a member from a group, or leave it.

        Without `userId` the caller leaves. The response is the former membership.

        `DELETE /group/user`; needs `member.write`.
        """
        call: Call[m.GroupUserRelation] = Call(
            "DELETE",
            "/group/user",
            m.GroupUserRelation,
            query={"groupId": group_id, "userId": user_id},
        )
        return self._transport.request(call)


class Measurements(_Noun):
    def list(self, group_id: str, *, subgroups: bool | None = None) -> m.GroupMeasurements:
        """List the measurements of a group's devices.

        What is declared of each device type, for the group, above it or for all, and numbers
        that were found in records of its devices.

        `GET /group/measurements`; needs `record.read`.
        """
        call: Call[m.GroupMeasurements] = Call(
            "GET",
            "/group/measurements",
            m.GroupMeasurements,
            query={"groupId": group_id, "subgroups": subgroups},
            is_repeatable=True,
        )
        return self._transport.request(call)

    def series(
        self,
        group_id: str,
        *,
        measurement: str,
        begin_date: When | None = None,
        end_date: When | None = None,
        time_span: int | None = None,
        calendar_span: Literal["day", "hour", "month", "week", "year"] | None = None,
        timezone: str | None = None,
        format: Literal["csv", "json", "ndjson", "parquet", "table"] | None = None,
        fresh: bool | None = None,
        subgroups: bool | None = None,
        of: Literal["count", "first", "increase", "last", "max", "mean", "min", "sum"]
        | None = None,
        combine: Literal["count", "max", "mean", "min", "none", "percentile", "sum"] | None = None,
        percentile: float | None = None,
        type: str | None = None,
        tags: Sequence[str] | None = None,
        device_id: Sequence[str] | None = None,
    ) -> m.GroupSeries:
        """Get numbers of a group's devices over time, as one.

        For each span one number of each device, such as its mean or what its counter rose
        (`of`), and of these one of all devices (`combine`), with how many devices had one.
        Records that a device stored while it was in another group do not count. Spans and
        formats are those of `GET /device/series`.

        `GET /group/series`; needs `record.read`.
        """
        call: Call[m.GroupSeries] = Call(
            "GET",
            "/group/series",
            m.GroupSeries,
            query={
                "groupId": group_id,
                "measurement": measurement,
                "beginDate": begin_date,
                "endDate": end_date,
                "timeSpan": time_span,
                "calendarSpan": calendar_span,
                "timezone": timezone,
                "format": format,
                "fresh": fresh,
                "subgroups": subgroups,
                "of": of,
                "combine": combine,
                "percentile": percentile,
                "type": type,
                "tags": tags,
                "deviceId": device_id,
            },
            is_repeatable=True,
        )
        return self._transport.request(call)

    def values(self, device_id: str) -> m.DeviceValues:
        """Get the current values of a device.

        The newest value of each measurement by the time of its record, since the device is in
        its group. Of records that arrive late nothing changes but what has no newer value.

        `GET /device/values`; needs `record.read`.
        """
        call: Call[m.DeviceValues] = Call(
            "GET",
            "/device/values",
            m.DeviceValues,
            query={"deviceId": device_id},
            is_repeatable=True,
        )
        return self._transport.request(call)


class Roles(_Noun):
    def list(self, *, page_size: int | None = None) -> Pages[m.Role, m.RoleConnection]:
        """List roles.

        The built-in roles, those created by the caller, and those used in groups where the
        caller has `role.read`.

        `page_size` is how many items one request gets.

        `GET /group/roles`; needs `role.read`.
        """
        call: Call[m.RoleConnection] = Call(
            "GET", "/group/roles", m.RoleConnection, query={"limit": page_size}, is_repeatable=True
        )
        return Pages(self._transport, call, lambda page: page.items)

    def create(self, name: str, *, description: str, permissions: str) -> m.Role:
        """Create a role.

        It can contain only permissions that the caller has in a group where it has
        `role.write`. `permissions` is one string of ids, separated by commas or spaces; a list
        is accepted as well.

        `POST /role`; needs `role.write`.
        """
        call: Call[m.Role] = Call(
            "POST",
            "/role",
            m.Role,
            body=encode(m.RoleInput(name=name, description=description, permissions=permissions)),
        )
        return self._transport.request(call)

    def update(
        self,
        role_id: str,
        *,
        group_id: str,
        name: str | None = None,
        description: str | None = None,
        permissions: Sequence[str] | None = None,
        if_updated_at: When | None = None,
    ) -> m.Role:
        """Update a role.

        The change applies to everyone with the role. All groups that use it must be at or below
        `groupId`. Added permissions must be held by the caller.

        `PUT /role`; needs `role.write`.
        """
        call: Call[m.Role] = Call(
            "PUT",
            "/role",
            m.Role,
            body=encode(
                m.RoleChange(
                    role_id=role_id,
                    group_id=group_id,
                    name=name,
                    description=description,
                    permissions=permissions,
                    if_updated_at=if_updated_at,
                )
            ),
        )
        return self._transport.request(call)

    def delete(self, role_id: str, *, group_id: str, user_id: str) -> m.Role:
        """Delete a role.

        The user `userId`, if they have it in the group, gets the group's default role. A role
        that anyone else has cannot be deleted.

        `DELETE /role`; needs `role.write`.
        """
        call: Call[m.Role] = Call(
            "DELETE",
            "/role",
            m.Role,
            query={"roleId": role_id, "groupId": group_id, "userId": user_id},
        )
        return self._transport.request(call)


class Permissions(_Noun):
    def list(self, *, page_size: int | None = None) -> Pages[m.Permission, m.PermissionConnection]:
        """List all permissions.

        `page_size` is how many items one request gets.

        `GET /permission`.
        """
        call: Call[m.PermissionConnection] = Call(
            "GET",
            "/permission",
            m.PermissionConnection,
            query={"limit": page_size},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def create(self, permission_id: str, *, name: str, description: str) -> m.Permission:
        """Create a permission.

        Administrators have it at once; other roles when it is added to them.

        `POST /permission`; needs `permission.write`.
        """
        call: Call[m.Permission] = Call(
            "POST",
            "/permission",
            m.Permission,
            body=encode(
                m.PermissionBody(permission_id=permission_id, name=name, description=description)
            ),
        )
        return self._transport.request(call)

    def update(self, permission_id: str, *, name: str, description: str) -> m.Permission:
        """Update a permission's name and description.

        `PUT /permission`; needs `permission.write`.
        """
        call: Call[m.Permission] = Call(
            "PUT",
            "/permission",
            m.Permission,
            body=encode(
                m.PermissionBody(permission_id=permission_id, name=name, description=description)
            ),
        )
        return self._transport.request(call)

    def delete(self, permission_id: str) -> m.Permission:
        """Delete a permission.

        It is removed from every role. Built-in permissions cannot be deleted.

        `DELETE /permission`; needs `permission.write`.
        """
        call: Call[m.Permission] = Call(
            "DELETE", "/permission", m.Permission, query={"permissionId": permission_id}
        )
        return self._transport.request(call)

    def explain(self, group_id: str, *, permission: str, user_id: str | None = None) -> m.Access:
        """Explain why something is allowed or denied.

        The path shows the groups that the caller has access to, for another user those in which
        the caller has `member.read`, and the roles there. `askable` are members of these groups
        with `member.write` who have the permission themselves, where the caller has
        `member.read`.

        `GET /access`.
        """
        call: Call[m.Access] = Call(
            "GET",
            "/access",
            m.Access,
            query={"groupId": group_id, "permission": permission, "userId": user_id},
            is_repeatable=True,
        )
        return self._transport.request(call)


class Users(_Noun):
    def me(self) -> m.User:
        """Get the caller's own user.

        403 for an app client.

        `GET /user/me`.
        """
        call: Call[m.User] = Call("GET", "/user/me", m.User, is_repeatable=True)
        return self._transport.request(call)

    def get(self, user_id: str) -> m.User:
        """Get a user.

        The full form for the caller, and the public form for members of groups in which the
        caller has `member.read`.

        `GET /user`; needs `member.read`.
        """
        call: Call[m.User] = Call(
            "GET", "/user", m.User, query={"userId": user_id}, is_repeatable=True
        )
        return self._transport.request(call)

    def list(self, *, page_size: int | None = None) -> Pages[m.PublicUser, m.UserConnection]:
        """List users.

        The members of all groups in which the caller has `member.read`, each once and without a
        role; for operators all users.

        `page_size` is how many items one request gets.

        `GET /users`; needs `member.read`.
        """
        call: Call[m.UserConnection] = Call(
            "GET", "/users", m.UserConnection, query={"limit": page_size}, is_repeatable=True
        )
        return Pages(self._transport, call, lambda page: page.items)

    def create(
        self,
        email: str,
        *,
        last_name: str,
        firstname: str | None = None,
        language: Literal["de", "en", "fr"] | None = None,
    ) -> m.User:
        """Create a user.

        The user belongs to no group and has no credentials; the operator issues those.

        `POST /user`; needs `user.create`.
        """
        call: Call[m.User] = Call(
            "POST",
            "/user",
            m.User,
            body=encode(
                m.UserInput(
                    email=email, last_name=last_name, firstname=firstname, language=language
                )
            ),
        )
        return self._transport.request(call)

    def update_me(
        self,
        *,
        gender: str | None = None,
        name: str | None = None,
        first_name: str | None = None,
        last_name: str | None = None,
        language: Literal["de", "en", "fr"] | None = None,
    ) -> m.User:
        """Update the caller's own user.

        `PUT /user`.
        """
        call: Call[m.User] = Call(
            "PUT",
            "/user",
            m.User,
            body=encode(
                m.UserChange(
                    gender=gender,
                    name=name,
                    first_name=first_name,
                    last_name=last_name,
                    language=language,
                )
            ),
        )
        return self._transport.request(call)

    def add_push_token(self, token: str, *, device_name: str | None = None) -> m.VendorToken:
        """Register a push token.

        A token registered by another user is moved to the caller.

        `PUT /user/vendorToken`.
        """
        call: Call[m.VendorToken] = Call(
            "PUT",
            "/user/vendorToken",
            m.VendorToken,
            body=encode(m.VendorTokenInput(token=token, device_name=device_name)),
        )
        return self._transport.request(call)

    def delete_push_token(self, token: str) -> m.GenericReturnBoolean:
        """Delete one of the caller's push tokens.

        `DELETE /user/vendorToken`.
        """
        call: Call[m.GenericReturnBoolean] = Call(
            "DELETE", "/user/vendorToken", m.GenericReturnBoolean, query={"token": token}
        )
        return self._transport.request(call)


class AppClients(_Noun):
    def list(
        self, group_id: str, *, page_size: int | None = None, subgroups: bool | None = None
    ) -> Pages[m.ListedAppClient, m.AppClientConnection]:
        """List the app clients of a group.

        By name, without their secrets; with `subgroups` also those of the groups below.

        `page_size` is how many items one request gets.

        `GET /group/appClients`; needs `appClient.write`.
        """
        call: Call[m.AppClientConnection] = Call(
            "GET",
            "/group/appClients",
            m.AppClientConnection,
            query={"groupId": group_id, "limit": page_size, "subgroups": subgroups},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def create(
        self,
        group_id: str,
        *,
        name: str,
        description: str | None = None,
        expiration: int | None = None,
        role_id: str | None = None,
    ) -> m.GroupAppClient:
        """Create an app client for a group.

        Its id and secret are exchanged for access tokens at the token endpoint. It acts with
        the role `roleId`, or else with the group's default role; the caller must have the
        permissions of that role. `description` and `expiration` are optional.

        `POST /appClient`; needs `appClient.write`.
        """
        call: Call[m.GroupAppClient] = Call(
            "POST",
            "/appClient",
            m.GroupAppClient,
            body=encode(
                m.AppClientInput(
                    group_id=group_id,
                    name=name,
                    description=description,
                    expiration=expiration,
                    role_id=role_id,
                )
            ),
        )
        return self._transport.request(call)

    def update(
        self,
        name: str,
        *,
        new_name: str,
        group_id: str,
        role_id: str | None = None,
        if_updated_at: When | None = None,
    ) -> m.UpdateGroupAppClient:
        """Rename an app client, or change its role.

        Its secret is unchanged and included in the response, so the caller must have the
        permissions of its role. Only to change the role, send the name as `newName`. The role
        counts at once.

        `PUT /appClient`; needs `appClient.write`.
        """
        call: Call[m.UpdateGroupAppClient] = Call(
            "PUT",
            "/appClient",
            m.UpdateGroupAppClient,
            body=encode(
                m.AppClientChange(
                    name=name,
                    new_name=new_name,
                    group_id=group_id,
                    role_id=role_id,
                    if_updated_at=if_updated_at,
                )
            ),
        )
        return self._transport.request(call)

    def delete(self, app_client_id: str, *, group_id: str) -> m.GenericReturnBoolean:
        """Delete an app client.

        `name` is the id of the group. The client's tokens are revoked at once.

        `DELETE /appClient`; needs `appClient.write`.
        """
        call: Call[m.GenericReturnBoolean] = Call(
            "DELETE",
            "/appClient",
            m.GenericReturnBoolean,
            query={"appClientId": app_client_id, "name": group_id},
        )
        return self._transport.request(call)


class Devices(_Noun):
    def list(
        self,
        group_id: str,
        *,
        subgroups: bool | None = None,
        values: str | None = None,
        where: Sequence[str] | None = None,
        order: str | None = None,
        descending: bool | None = None,
        page_size: int | None = None,
        sort: Literal["battery", "created", "name", "seenAt"] | None = None,
        ascending: bool | None = None,
        q: str | None = None,
        type: str | None = None,
        network: str | None = None,
        tag: str | None = None,
        seen: Literal["day", "hour", "longer", "never", "silent", "week"] | None = None,
        battery_below: float | None = None,
    ) -> Pages[m.Device, m.FoundDevices]:
        """Find devices of a group.

        By a text and filters, all of which must fit; sorted by creation, name, last seen or
        battery. A page can have fewer items than `limit` although there are more. `total` is
        counted for the first page. Or sorted by a current value, with `order`.

        `page_size` is how many items one request gets.

        `GET /devices`; needs `device.read`.
        """
        call: Call[m.FoundDevices] = Call(
            "GET",
            "/devices",
            m.FoundDevices,
            query={
                "groupId": group_id,
                "subgroups": subgroups,
                "values": values,
                "where": where,
                "order": order,
                "descending": descending,
                "limit": page_size,
                "sort": sort,
                "ascending": ascending,
                "q": q,
                "type": type,
                "network": network,
                "tag": tag,
                "seen": seen,
                "batteryBelow": battery_below,
            },
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def get(self, device_id: str, *, group_id: str | None = None) -> m.Device:
        """Get a device.

        `GET /device`; needs `device.read`.
        """
        call: Call[m.Device] = Call(
            "GET",
            "/device",
            m.Device,
            query={"deviceId": device_id, "groupId": group_id},
            is_repeatable=True,
        )
        return self._transport.request(call)

    def create(
        self,
        group_id: str,
        *,
        name: str,
        type: str,
        original_id: str,
        network: str,
        tags: Sequence[str] | None = None,
    ) -> m.Device:
        """Create a device.

        It gets the default configuration of its type. The original id is unique within its
        network.

        `POST /device`; needs `device.create`.
        """
        call: Call[m.Device] = Call(
            "POST",
            "/device",
            m.Device,
            body=encode(
                m.DeviceInput(
                    group_id=group_id,
                    name=name,
                    type=type,
                    original_id=original_id,
                    network=network,
                    tags=tags,
                )
            ),
        )
        return self._transport.request(call)

    def update(
        self,
        device_id: str,
        *,
        group_id: str,
        name: str | None = None,
        configuration: JsonText | None = None,
        tags: Sequence[str] | None = None,
        original_id: str | None = None,
        network: str | None = None,
        if_updated_at: When | None = None,
    ) -> m.Device:
        """Update a device.

        Another `originalId` or `network` is how hardware is replaced: the device keeps its id,
        records and rules, and the old original id is free. Queued downlinks are cancelled.

        `PUT /device`; needs `device.update`.
        """
        call: Call[m.Device] = Call(
            "PUT",
            "/device",
            m.Device,
            body=encode(
                m.DeviceChange(
                    device_id=device_id,
                    group_id=group_id,
                    name=name,
                    configuration=configuration,
                    tags=tags,
                    original_id=original_id,
                    network=network,
                    if_updated_at=if_updated_at,
                )
            ),
        )
        return self._transport.request(call)

    def delete(self, device_id: str, *, group_id: str) -> m.Device:
        """Delete a device with all its records.

        `DELETE /device`; needs `device.delete`.
        """
        call: Call[m.Device] = Call(
            "DELETE", "/device", m.Device, query={"deviceId": device_id, "groupId": group_id}
        )
        return self._transport.request(call)

    def transfer(self, device_id: str, *, group_id: str, to_group_id: str) -> m.Device:
        """Transfer a device to another group.

        Its existing records stay with the old group; new ones belong to the new group.

        `PUT /device/transfer`; needs `device.transfer`.
        """
        call: Call[m.Device] = Call(
            "PUT",
            "/device/transfer",
            m.Device,
            body=encode(
                m.Transfer(device_id=device_id, group_id=group_id, to_group_id=to_group_id)
            ),
        )
        return self._transport.request(call)

    def set_type(
        self, device_id: str, *, group_id: str, type: str, if_updated_at: When | None = None
    ) -> m.Device:
        """Change the type of a device.

        Its configuration is reset to the default of that type.

        `PUT /device/type`; needs `device.update`.
        """
        call: Call[m.Device] = Call(
            "PUT",
            "/device/type",
            m.Device,
            body=encode(
                m.DeviceTypeChange(
                    device_id=device_id, group_id=group_id, type=type, if_updated_at=if_updated_at
                )
            ),
        )
        return self._transport.request(call)

    def configuration(
        self, device_id: str, *, group_id: str | None = None
    ) -> m.DeviceConfiguration:
        """Get the configuration that a device should have.

        Merged from the default of its type, the policy of its type, those of its groups from
        the root down, and what the device has of its own: `values` says where each one is from.
        What the device has as in the default of its type does not count as its own.

        `GET /device/configuration`; needs `device.read`.
        """
        call: Call[m.DeviceConfiguration] = Call(
            "GET",
            "/device/configuration",
            m.DeviceConfiguration,
            query={"deviceId": device_id, "groupId": group_id},
            is_repeatable=True,
        )
        return self._transport.request(call)

    def create_many(
        self,
        group_id: str,
        *,
        original_ids: Sequence[str],
        type: str,
        network: str,
        tags: Sequence[str] | None = None,
    ) -> m.Devices:
        """Create many devices.

        Each is named after its original id. All are created, or none.

        `POST /devices`; needs `device.create`.
        """
        call: Call[m.Devices] = Call(
            "POST",
            "/devices",
            m.Devices,
            body=encode(
                m.DevicesInput(
                    group_id=group_id,
                    original_devices_ids=original_ids,
                    type=type,
                    network=network,
                    tags=tags,
                )
            ),
        )
        return self._transport.request(call)

    def update_many(
        self,
        group_id: str,
        *,
        device_ids: Sequence[str],
        add_tags: Sequence[str] | None = None,
        remove_tags: Sequence[str] | None = None,
        type: str | None = None,
        configuration: JsonText | None = None,
    ) -> m.Devices:
        """Update many devices of a group.

        All or none; the error names every device that is not in the group. `type` resets the
        configuration to the default of that type, unless there is a `configuration`, too.

        `PUT /devices`; needs `device.update`.
        """
        call: Call[m.Devices] = Call(
            "PUT",
            "/devices",
            m.Devices,
            body=encode(
                m.BulkChange(
                    group_id=group_id,
                    device_ids=device_ids,
                    add_tags=add_tags,
                    remove_tags=remove_tags,
                    type=type,
                    configuration=configuration,
                )
            ),
        )
        return self._transport.request(call)

    def delete_many(self, group_id: str, *, device_ids: Sequence[str]) -> m.Devices:
        """Delete many devices with all their records.

        All or none; the error names every device that is not in the group.

        `POST /devices/delete`; needs `device.delete`.
        """
        call: Call[m.Devices] = Call(
            "POST",
            "/devices/delete",
            m.Devices,
            body=encode(m.BulkDelete(group_id=group_id, device_ids=device_ids)),
        )
        return self._transport.request(call)

    def transfer_many(
        self, group_id: str, *, device_ids: Sequence[str], to_group_id: str
    ) -> m.Devices:
        """Transfer many devices to another group.

        All or none; the error names every device that is not in the group.

        `PUT /devices/transfer`; needs `device.transfer`.
        """
        call: Call[m.Devices] = Call(
            "PUT",
            "/devices/transfer",
            m.Devices,
            body=encode(
                m.BulkTransfer(group_id=group_id, device_ids=device_ids, to_group_id=to_group_id)
            ),
        )
        return self._transport.request(call)

    def create_at_vendor(self, input: m.DeviceInput, *, vendor: m.VendorInput) -> m.Device:
        """Create a device and register it at the vendor's network.

        `input.originalId` is `vendor.id`, `input.network` is `vendor`. The status of the
        registration is in `information`: `pending`, `registered`, or `failed` with the reason.

        `POST /device/vendor`; needs `device.create`.
        """
        call: Call[m.Device] = Call(
            "POST",
            "/device/vendor",
            m.Device,
            body=encode(m.DeviceAtVendor(input=input, vendor=vendor)),
        )
        return self._transport.request(call)

    def create_many_at_vendor(
        self,
        group_id: str,
        *,
        type: str,
        vendor: Sequence[m.VendorInput],
        tags: Sequence[str] | None = None,
    ) -> m.Devices:
        """Create many devices and register them at the vendor's network.

        Each gets the `deviceName` of its registration. All are created, or none; they are
        registered one by one, and the status of each is in its `information`.

        `POST /devices/vendor`; needs `device.create`.
        """
        call: Call[m.Devices] = Call(
            "POST",
            "/devices/vendor",
            m.Devices,
            body=encode(m.DevicesAtVendor(group_id=group_id, type=type, vendor=vendor, tags=tags)),
        )
        return self._transport.request(call)

    def import_csv(
        self,
        group_id: str,
        *,
        text: str | bytes,
        type: str | None = None,
        network: str | None = None,
        dry_run: bool | None = None,
    ) -> m.ImportReturn:
        """Create devices from a CSV file.

        The first line names the columns: `originalId` is required; `name`, `type`, `network`,
        `tags` (with `|` between them) and `configuration` are optional. All devices are
        created, or none; the error names every invalid line. Devices that the group has already
        are left as they are, so that a file can be sent again. With `dryRun=true` nothing is
        created, and the response has every error.

        `POST /devices/import`; needs `device.create`.
        """
        call: Call[m.ImportReturn] = Call(
            "POST",
            "/devices/import",
            m.ImportReturn,
            query={"groupId": group_id, "type": type, "network": network, "dryRun": dry_run},
            body=text.encode() if isinstance(text, str) else text,
            media_type="text/csv",
            is_repeatable=True,
        )
        return self._transport.request(call)

    def export(
        self,
        group_id: str,
        *,
        subgroups: bool | None = None,
        values: str | None = None,
        where: Sequence[str] | None = None,
        order: str | None = None,
        descending: bool | None = None,
        format: Literal["csv", "ndjson"] | None = None,
        after: str | None = None,
        q: str | None = None,
        type: str | None = None,
        network: str | None = None,
        tag: str | None = None,
        seen: Literal["day", "hour", "longer", "never", "silent", "week"] | None = None,
        battery_below: float | None = None,
    ) -> Iterator[bytes]:
        """Export the devices of a group.

        With the filters of `GET /devices`, by group and in the order of their creation, or
        sorted by a current value. A CSV file of an export can be imported; each value in
        `values` has a column of its own there.

        `GET /devices/export`; needs `device.read`.
        """
        call: Call[bytes] = Call(
            "GET",
            "/devices/export",
            bytes,
            query={
                "groupId": group_id,
                "subgroups": subgroups,
                "values": values,
                "where": where,
                "order": order,
                "descending": descending,
                "format": format,
                "after": after,
                "q": q,
                "type": type,
                "network": network,
                "tag": tag,
                "seen": seen,
                "batteryBelow": battery_below,
            },
            is_repeatable=True,
        )
        return self._stream(call)

    def data(
        self,
        device_id: str,
        *,
        page_size: int | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
        ascending: bool | None = None,
        fields: str | None = None,
    ) -> Pages[m.DeviceData, m.DeviceDataConnection]:
        """List a device's data records.

        By timestamp, then in order of arrival. `beginDate` is part of the range, `endDate` is
        not; a date alone as `endDate` means to the end of that day.

        `page_size` is how many items one request gets.

        `GET /device/data`; needs `record.read`.
        """
        call: Call[m.DeviceDataConnection] = Call(
            "GET",
            "/device/data",
            m.DeviceDataConnection,
            query={
                "deviceId": device_id,
                "limit": page_size,
                "beginDate": begin_date,
                "endDate": end_date,
                "ascending": ascending,
                "fields": fields,
            },
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def events(
        self,
        device_id: str,
        *,
        page_size: int | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
        ascending: bool | None = None,
        fields: str | None = None,
    ) -> Pages[m.DeviceEvent, m.DeviceEventConnection]:
        """List a device's events.

        By timestamp, then in order of arrival. `beginDate` is part of the range, `endDate` is
        not; a date alone as `endDate` means to the end of that day.

        `page_size` is how many items one request gets.

        `GET /device/event`; needs `record.read`.
        """
        call: Call[m.DeviceEventConnection] = Call(
            "GET",
            "/device/event",
            m.DeviceEventConnection,
            query={
                "deviceId": device_id,
                "limit": page_size,
                "beginDate": begin_date,
                "endDate": end_date,
                "ascending": ascending,
                "fields": fields,
            },
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def geolocations(
        self,
        device_id: str,
        *,
        page_size: int | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
        ascending: bool | None = None,
        fields: str | None = None,
    ) -> Pages[m.DeviceGeoloc, m.DeviceGeolocConnection]:
        """List a device's geolocations.

        By timestamp, then in order of arrival. `beginDate` is part of the range, `endDate` is
        not; a date alone as `endDate` means to the end of that day.

        `page_size` is how many items one request gets.

        `GET /device/geoloc`; needs `record.read`.
        """
        call: Call[m.DeviceGeolocConnection] = Call(
            "GET",
            "/device/geoloc",
            m.DeviceGeolocConnection,
            query={
                "deviceId": device_id,
                "limit": page_size,
                "beginDate": begin_date,
                "endDate": end_date,
                "ascending": ascending,
                "fields": fields,
            },
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def telemetry(
        self,
        device_id: str,
        *,
        page_size: int | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
        ascending: bool | None = None,
        fields: str | None = None,
    ) -> Pages[m.DeviceTelemetry, m.DeviceTelemetryConnection]:
        """List a device's telemetry records.

        By timestamp, then in order of arrival. `beginDate` is part of the range, `endDate` is
        not; a date alone as `endDate` means to the end of that day.

        `page_size` is how many items one request gets.

        `GET /device/telemetry`; needs `record.read`.
        """
        call: Call[m.DeviceTelemetryConnection] = Call(
            "GET",
            "/device/telemetry",
            m.DeviceTelemetryConnection,
            query={
                "deviceId": device_id,
                "limit": page_size,
                "beginDate": begin_date,
                "endDate": end_date,
                "ascending": ascending,
                "fields": fields,
            },
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)


class UnknownDevices(_Noun):
    def list(
        self, group_id: str, *, page_size: int | None = None, subgroups: bool | None = None
    ) -> Pages[m.UnknownDevice, m.UnknownDeviceConnection]:
        """List unknown devices of a group.

        What networks, MQTT devices and app clients have sent with the token of the group in the
        last days about ids that none of its devices has; and messages of its devices that could
        not be taken. The newest ids first. A message is listed some seconds after it arrived.
        Of each reason there are at most 200 in a group: half of them those that reported last,
        half of them those that reported most often.

        `page_size` is how many items one request gets.

        `GET /group/unknownDevices`; needs `device.read`.
        """
        call: Call[m.UnknownDeviceConnection] = Call(
            "GET",
            "/group/unknownDevices",
            m.UnknownDeviceConnection,
            query={"groupId": group_id, "limit": page_size, "subgroups": subgroups},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def create(
        self,
        group_id: str,
        *,
        name: str,
        type: str,
        original_id: str,
        network: str,
        tags: Sequence[str] | None = None,
    ) -> m.Device:
        """Create an unknown device, with its last message as its first records.

        As `POST /device` creates it; in the same transaction the last message that was received
        of this id becomes records, as if the network had sent it now. 409 if none is kept: use
        `POST /device`.

        `POST /device/unknown`; needs `device.create`.
        """
        call: Call[m.Device] = Call(
            "POST",
            "/device/unknown",
            m.Device,
            body=encode(
                m.DeviceInput(
                    group_id=group_id,
                    name=name,
                    type=type,
                    original_id=original_id,
                    network=network,
                    tags=tags,
                )
            ),
        )
        return self._transport.request(call)

    def dismiss(
        self,
        group_id: str,
        *,
        network: str | None = None,
        original_id: str | None = None,
        subgroups: bool | None = None,
    ) -> m.GenericReturn:
        """Dismiss unknown devices.

        One, those of a network, or all. One that reports again comes back.

        `DELETE /group/unknownDevices`; needs `device.create`.
        """
        call: Call[m.GenericReturn] = Call(
            "DELETE",
            "/group/unknownDevices",
            m.GenericReturn,
            query={
                "groupId": group_id,
                "network": network,
                "originalId": original_id,
                "subgroups": subgroups,
            },
        )
        return self._transport.request(call)


class DeviceTypes(_Noun):
    def list(
        self, *, page_size: int | None = None, group_id: str | None = None
    ) -> Pages[m.DeviceType, m.DeviceTypeConnection]:
        """List the device types.

        Those for all, and those of groups that you belong to, and of groups above and below
        these. Or those that the devices of a group may have.

        `page_size` is how many items one request gets.

        `GET /device/types`.
        """
        call: Call[m.DeviceTypeConnection] = Call(
            "GET",
            "/device/types",
            m.DeviceTypeConnection,
            query={"limit": page_size, "groupId": group_id},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def get(self, type: str, *, group_id: str | None = None) -> m.DeviceType:
        """Get a device type, with the measurements that are declared of it.

        `GET /device/type`.
        """
        call: Call[m.DeviceType] = Call(
            "GET",
            "/device/type",
            m.DeviceType,
            query={"type": type, "groupId": group_id},
            is_repeatable=True,
        )
        return self._transport.request(call)

    def definition(self, type: str) -> m.DeviceTypeDefinition:
        """Get a device type with its codecs and measurements.

        `GET /device/type/definition`.
        """
        call: Call[m.DeviceTypeDefinition] = Call(
            "GET",
            "/device/type/definition",
            m.DeviceTypeDefinition,
            query={"type": type},
            is_repeatable=True,
        )
        return self._transport.request(call)

    def create(
        self,
        name: str,
        *,
        group_id: str | None = None,
        display_name: str | None = None,
        default_configuration: str | None = None,
        battery: str | None = None,
        firmware_version: str | None = None,
        decoder: Literal["bits", "cayenneLpp", "javascript"] | None = None,
        decoder_source: str | None = None,
        decoded_location: str | None = None,
        encoder_source: str | None = None,
        measurements: Sequence[m.MeasurementInput] | None = None,
    ) -> m.DeviceTypeDefinition:
        """Create a device type.

        For all, by an operator; or for a group and those below it, by somebody with
        `device.update` there: elsewhere nobody sees it or gives it to a device. Codecs are
        loaded once; one with an error is refused, with its line.

        `POST /device/type`; needs `device.update`.
        """
        call: Call[m.DeviceTypeDefinition] = Call(
            "POST",
            "/device/type",
            m.DeviceTypeDefinition,
            body=encode(
                m.DeviceTypeInput(
                    name=name,
                    group_id=group_id,
                    display_name=display_name,
                    default_configuration=default_configuration,
                    battery=battery,
                    firmware_version=firmware_version,
                    decoder=decoder,
                    decoder_source=decoder_source,
                    decoded_location=decoded_location,
                    encoder_source=encoder_source,
                    measurements=measurements,
                )
            ),
        )
        return self._transport.request(call)

    def update(
        self,
        type: str,
        *,
        display_name: str | None = None,
        default_configuration: str | None = None,
        battery: str | None = None,
        firmware_version: str | None = None,
        decoder: Literal["bits", "cayenneLpp", "javascript"] | None = None,
        decoder_source: str | None = None,
        decoded_location: str | None = None,
        encoder_source: str | None = None,
        measurements: Sequence[m.MeasurementInput] | None = None,
        if_updated_at: When | None = None,
    ) -> m.DeviceTypeDefinition:
        """Update a device type.

        Its decoder counts from the next payload on, its default configuration for new devices;
        what is declared counts for stored records as well. What is left out stays as it is.

        `PUT /device/type/definition`; needs `device.update`.
        """
        call: Call[m.DeviceTypeDefinition] = Call(
            "PUT",
            "/device/type/definition",
            m.DeviceTypeDefinition,
            body=encode(
                m.DeviceTypeUpdate(
                    type=type,
                    display_name=display_name,
                    default_configuration=default_configuration,
                    battery=battery,
                    firmware_version=firmware_version,
                    decoder=decoder,
                    decoder_source=decoder_source,
                    decoded_location=decoded_location,
                    encoder_source=encoder_source,
                    measurements=measurements,
                    if_updated_at=if_updated_at,
                )
            ),
        )
        return self._transport.request(call)

    def delete(self, type: str) -> m.GenericReturnBoolean:
        """Delete a device type.

        With its configuration policy and what is declared of it. Not while devices have it.

        `DELETE /device/type`; needs `device.update`.
        """
        call: Call[m.GenericReturnBoolean] = Call(
            "DELETE", "/device/type", m.GenericReturnBoolean, query={"type": type}
        )
        return self._transport.request(call)

    def import_files(
        self,
        files: Mapping[str, str],
        *,
        group_id: str | None = None,
        device: str | None = None,
        firmware_version: str | None = None,
        name: str | None = None,
        display_name: str | None = None,
        accept_failing: bool | None = None,
        replace: bool | None = None,
        if_updated_at: When | None = None,
        dry_run: bool | None = None,
    ) -> m.TypeImportReturn:
        """Create or update a device type from the files of its maker.

        From ChirpStack's device profiles, or from one device of The Things Network's
        repository: its own file, that of its codec, the codec, and its examples. These are run
        first; if one fails, the error has what was expected and what the codec returns, and
        nothing is changed unless `acceptFailing` is true. With `dryRun`, nothing is changed,
        and the response has every example. With `replace`, a type that exists is updated.

        `POST /device/type/import`; needs `device.update`.
        """
        call: Call[m.TypeImportReturn] = Call(
            "POST",
            "/device/type/import",
            m.TypeImportReturn,
            body=encode(
                m.TypeImportInput(
                    files=files,
                    group_id=group_id,
                    device=device,
                    firmware_version=firmware_version,
                    name=name,
                    display_name=display_name,
                    accept_failing=accept_failing,
                    replace=replace,
                    if_updated_at=if_updated_at,
                    dry_run=dry_run,
                )
            ),
        )
        return self._transport.request(call)

    def decoder(self, type: str) -> m.TypeDecoder:
        """Get the decoder of a device type.

        `GET /device/type/decoder`.
        """
        call: Call[m.TypeDecoder] = Call(
            "GET", "/device/type/decoder", m.TypeDecoder, query={"type": type}, is_repeatable=True
        )
        return self._transport.request(call)

    def set_measurements(
        self,
        type: str,
        *,
        measurements: Sequence[m.MeasurementInput],
        group_id: str | None = None,
        if_updated_at: When | None = None,
    ) -> m.TypeMeasurements:
        """Declare the measurements of a device type.

        In place of those that are declared: for all devices of the type by an operator, or for
        those in a group and below it. What is declared for a group beats what is declared
        further up and for all. It holds for stored records as well: current values and series
        follow within a minute or so, large ones later.

        `PUT /device/type/measurements`; needs `device.update`.
        """
        call: Call[m.TypeMeasurements] = Call(
            "PUT",
            "/device/type/measurements",
            m.TypeMeasurements,
            body=encode(
                m.TypeMeasurementsChange(
                    type=type,
                    measurements=measurements,
                    group_id=group_id,
                    if_updated_at=if_updated_at,
                )
            ),
        )
        return self._transport.request(call)

    def set_decoder(
        self,
        type: str,
        *,
        decoder: Literal["bits", "cayenneLpp", "javascript"] | None = None,
        decoder_source: str | None = None,
        decoded_location: str | None = None,
        if_updated_at: When | None = None,
    ) -> m.TypeDecoder:
        """Set the decoder of a device type.

        For all devices of the type, from the next payload on; stored values change when they
        are redecoded. By an operator, or by somebody with `device.update` in the group that the
        type belongs to. A decoder with an error is refused, with its line.

        `PUT /device/type/decoder`; needs `device.update`.
        """
        call: Call[m.TypeDecoder] = Call(
            "PUT",
            "/device/type/decoder",
            m.TypeDecoder,
            body=encode(
                m.TypeDecoderChange(
                    type=type,
                    decoder=decoder,
                    decoder_source=decoder_source,
                    decoded_location=decoded_location,
                    if_updated_at=if_updated_at,
                )
            ),
        )
        return self._transport.request(call)

    def configuration(self, type: str) -> m.ConfigurationPolicy:
        """Get the configuration policy of a device type.

        `GET /device/type/configuration`.
        """
        call: Call[m.ConfigurationPolicy] = Call(
            "GET",
            "/device/type/configuration",
            m.ConfigurationPolicy,
            query={"type": type},
            is_repeatable=True,
        )
        return self._transport.request(call)

    def set_configuration(
        self, type: str, *, policy: Mapping[str, Any], if_updated_at: When | None = None
    ) -> m.ConfigurationPolicy:
        """Set the configuration policy of a device type.

        For all devices of the type, in all groups; policies of groups go before it.

        `PUT /device/type/configuration`; needs `device.update`.
        """
        call: Call[m.ConfigurationPolicy] = Call(
            "PUT",
            "/device/type/configuration",
            m.ConfigurationPolicy,
            body=encode(m.TypePolicyChange(type=type, policy=policy, if_updated_at=if_updated_at)),
        )
        return self._transport.request(call)

    def preview(
        self,
        type: str,
        *,
        group_id: str,
        decoder: Literal["bits", "cayenneLpp", "javascript"] | None = None,
        decoder_source: str | None = None,
        device_id: str | None = None,
        limit: int | None = None,
        payloads: Sequence[m.GivenPayload] | None = None,
    ) -> m.DecoderPreview:
        """Try a decoder on stored payloads.

        On the latest payloads of the type's devices in the group, looked for among the last
        5,000 arrivals, or on given ones; and which measurements its values give. Nothing is
        stored. A preview takes two seconds of decoding at most, and has CPU time of its own for
        each group; payloads beyond that are not tried.

        `POST /device/type/preview`; needs `record.read`.
        """
        call: Call[m.DecoderPreview] = Call(
            "POST",
            "/device/type/preview",
            m.DecoderPreview,
            body=encode(
                m.DecoderPreviewInput(
                    type=type,
                    group_id=group_id,
                    decoder=decoder,
                    decoder_source=decoder_source,
                    device_id=device_id,
                    limit=limit,
                    payloads=payloads,
                )
            ),
            is_repeatable=True,
        )
        return self._transport.request(call)


class Downlinks(_Noun):
    def list(
        self, device_id: str, *, page_size: int | None = None, group_id: str | None = None
    ) -> Pages[m.Downlink, m.DownlinkConnection]:
        """List the downlinks of a device.

        Those queued since it is in its current group, newest first.

        `page_size` is how many items one request gets.

        `GET /device/downlinks`; needs `device.read`.
        """
        call: Call[m.DownlinkConnection] = Call(
            "GET",
            "/device/downlinks",
            m.DownlinkConnection,
            query={"deviceId": device_id, "limit": page_size, "groupId": group_id},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def send(
        self,
        device_id: str,
        *,
        group_id: str | None = None,
        payload: str | None = None,
        data: Mapping[str, Any] | None = None,
        port: int | None = None,
        confirmed: bool | None = None,
        expires_in: int | None = None,
    ) -> m.Downlink:
        """Send a downlink.

        It is queued until the network of the device takes it, or until it expires. Its progress
        is reported by events of the device: `downlinkQueued`, `downlinkSent`,
        `downlinkAcknowledged`, `downlinkFailed`, `downlinkExpired`.

        `POST /device/downlink`; needs `device.downlink`.
        """
        call: Call[m.Downlink] = Call(
            "POST",
            "/device/downlink",
            m.Downlink,
            body=encode(
                m.DownlinkInput(
                    device_id=device_id,
                    group_id=group_id,
                    payload=payload,
                    data=data,
                    port=port,
                    confirmed=confirmed,
                    expires_in=expires_in,
                )
            ),
        )
        return self._transport.request(call)

    def cancel(
        self,
        downlink_id: str,
        *,
        device_id: str,
        group_id: str | None = None,
        others: bool | None = None,
    ) -> m.Downlink:
        """Cancel a downlink that is queued, or that waits in ChirpStack's queue.

        That queue can only be emptied as a whole. If the device has more in it, nothing is
        cancelled unless `others` is true: then all of them are.

        `DELETE /device/downlink`; needs `device.downlink`.
        """
        call: Call[m.Downlink] = Call(
            "DELETE",
            "/device/downlink",
            m.Downlink,
            query={
                "downlinkId": downlink_id,
                "deviceId": device_id,
                "groupId": group_id,
                "others": others,
            },
        )
        return self._transport.request(call)


class Data(_Noun):
    def list(
        self,
        device_id: str,
        *,
        page_size: int | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
        ascending: bool | None = None,
        fields: str | None = None,
    ) -> Pages[m.DeviceData, m.DeviceDataConnection]:
        """List a device's data records.

        By timestamp, then in order of arrival. `beginDate` is part of the range, `endDate` is
        not; a date alone as `endDate` means to the end of that day.

        `page_size` is how many items one request gets.

        `GET /device/data`; needs `record.read`.
        """
        call: Call[m.DeviceDataConnection] = Call(
            "GET",
            "/device/data",
            m.DeviceDataConnection,
            query={
                "deviceId": device_id,
                "limit": page_size,
                "beginDate": begin_date,
                "endDate": end_date,
                "ascending": ascending,
                "fields": fields,
            },
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def store(
        self,
        device_id: str,
        *,
        timestamp: When,
        data: JsonText,
        configuration: JsonText,
        raw: str,
        device_type: str,
        group_id: str | None = None,
        mode: str | None = None,
        reason: str | None = None,
        device_name: str | None = None,
    ) -> m.DeviceData:
        """Store one data record.

        The response is sent once the record is committed. The same record sent again is stored
        once and gets the same response, so retrying is safe. `groupId` is optional; if given,
        it must be the group of the device.

        `POST /device/data`; needs `record.create`.
        """
        call: Call[m.DeviceData] = Call(
            "POST",
            "/device/data",
            m.DeviceData,
            body=encode(
                m.DeviceDataInput(
                    device_id=device_id,
                    timestamp=timestamp,
                    data=data,
                    configuration=configuration,
                    raw=raw,
                    device_type=device_type,
                    group_id=group_id,
                    mode=mode,
                    reason=reason,
                    device_name=device_name,
                )
            ),
            is_repeatable=True,
        )
        return self._transport.request(call)

    def store_many(self, items: Sequence[m.DeviceDataInput]) -> m.BatchReturn:
        """Store many data records at once.

        All are stored, or none; the error names every invalid item.

        `POST /device/data/batch`; needs `record.create`.
        """
        call: Call[m.BatchReturn] = Call(
            "POST",
            "/device/data/batch",
            m.BatchReturn,
            body=encode(m.DeviceDataBatch(items=items)),
            is_repeatable=True,
        )
        return self._transport.request(call)

    def delete(self, device_id: str, *, timestamp: When) -> m.GenericReturnBoolean:
        """Delete the data records of one timestamp.

        All records of this kind with this `timestamp`.

        `PUT /device/data`; needs `record.delete`.
        """
        call: Call[m.GenericReturnBoolean] = Call(
            "PUT",
            "/device/data",
            m.GenericReturnBoolean,
            query={"deviceId": device_id, "timestamp": timestamp},
        )
        return self._transport.request(call)


class Events(_Noun):
    def list(
        self,
        device_id: str,
        *,
        page_size: int | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
        ascending: bool | None = None,
        fields: str | None = None,
    ) -> Pages[m.DeviceEvent, m.DeviceEventConnection]:
        """List a device's events.

        By timestamp, then in order of arrival. `beginDate` is part of the range, `endDate` is
        not; a date alone as `endDate` means to the end of that day.

        `page_size` is how many items one request gets.

        `GET /device/event`; needs `record.read`.
        """
        call: Call[m.DeviceEventConnection] = Call(
            "GET",
            "/device/event",
            m.DeviceEventConnection,
            query={
                "deviceId": device_id,
                "limit": page_size,
                "beginDate": begin_date,
                "endDate": end_date,
                "ascending": ascending,
                "fields": fields,
            },
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def store(
        self,
        device_id: str,
        *,
        timestamp: When,
        type: str,
        group_id: str | None = None,
        device_type: str | None = None,
        message: str | None = None,
        data: JsonText | None = None,
        severity: str | None = None,
    ) -> m.DeviceEvent:
        """Store one event.

        The response is sent once the record is committed. The same record sent again is stored
        once and gets the same response, so retrying is safe. `groupId` is optional; if given,
        it must be the group of the device.

        `POST /device/event`; needs `record.create`.
        """
        call: Call[m.DeviceEvent] = Call(
            "POST",
            "/device/event",
            m.DeviceEvent,
            body=encode(
                m.DeviceEventInput(
                    device_id=device_id,
                    timestamp=timestamp,
                    type=type,
                    group_id=group_id,
                    device_type=device_type,
                    message=message,
                    data=data,
                    severity=severity,
                )
            ),
            is_repeatable=True,
        )
        return self._transport.request(call)

    def store_many(self, items: Sequence[m.DeviceEventInput]) -> m.BatchReturn:
        """Store many events at once.

        All are stored, or none; the error names every invalid item.

        `POST /device/event/batch`; needs `record.create`.
        """
        call: Call[m.BatchReturn] = Call(
            "POST",
            "/device/event/batch",
            m.BatchReturn,
            body=encode(m.DeviceEventBatch(items=items)),
            is_repeatable=True,
        )
        return self._transport.request(call)

    def delete(self, device_id: str, *, timestamp: When) -> m.GenericReturnBoolean:
        """Delete the events of one timestamp.

        All records of this kind with this `timestamp`.

        `DELETE /device/event`; needs `record.delete`.
        """
        call: Call[m.GenericReturnBoolean] = Call(
            "DELETE",
            "/device/event",
            m.GenericReturnBoolean,
            query={"deviceId": device_id, "timestamp": timestamp},
        )
        return self._transport.request(call)


class Geolocations(_Noun):
    def list(
        self,
        device_id: str,
        *,
        page_size: int | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
        ascending: bool | None = None,
        fields: str | None = None,
    ) -> Pages[m.DeviceGeoloc, m.DeviceGeolocConnection]:
        """List a device's geolocations.

        By timestamp, then in order of arrival. `beginDate` is part of the range, `endDate` is
        not; a date alone as `endDate` means to the end of that day.

        `page_size` is how many items one request gets.

        `GET /device/geoloc`; needs `record.read`.
        """
        call: Call[m.DeviceGeolocConnection] = Call(
            "GET",
            "/device/geoloc",
            m.DeviceGeolocConnection,
            query={
                "deviceId": device_id,
                "limit": page_size,
                "beginDate": begin_date,
                "endDate": end_date,
                "ascending": ascending,
                "fields": fields,
            },
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def store(
        self,
        device_id: str,
        *,
        timestamp: When,
        group_id: str | None = None,
        status: int | None = None,
        source: int | None = None,
        radius: int | None = None,
        lat: float | None = None,
        lng: float | None = None,
        location: str | None = None,
        data: JsonText | None = None,
        raw: str | None = None,
    ) -> m.DeviceGeoloc:
        """Store one geolocation.

        The response is sent once the record is committed. The same record sent again is stored
        once and gets the same response, so retrying is safe. `groupId` is optional; if given,
        it must be the group of the device.

        `POST /device/geoloc`; needs `record.create`.
        """
        call: Call[m.DeviceGeoloc] = Call(
            "POST",
            "/device/geoloc",
            m.DeviceGeoloc,
            body=encode(
                m.DeviceGeolocInput(
                    device_id=device_id,
                    timestamp=timestamp,
                    group_id=group_id,
                    status=status,
                    source=source,
                    radius=radius,
                    lat=lat,
                    lng=lng,
                    location=location,
                    data=data,
                    raw=raw,
                )
            ),
            is_repeatable=True,
        )
        return self._transport.request(call)

    def store_many(self, items: Sequence[m.DeviceGeolocInput]) -> m.BatchReturn:
        """Store many geolocations at once.

        All are stored, or none; the error names every invalid item.

        `POST /device/geoloc/batch`; needs `record.create`.
        """
        call: Call[m.BatchReturn] = Call(
            "POST",
            "/device/geoloc/batch",
            m.BatchReturn,
            body=encode(m.DeviceGeolocBatch(items=items)),
            is_repeatable=True,
        )
        return self._transport.request(call)

    def delete(self, device_id: str, *, timestamp: When) -> m.GenericReturnBoolean:
        """Delete the geolocations of one timestamp.

        All records of this kind with this `timestamp`.

        `DELETE /device/geoloc`; needs `record.delete`.
        """
        call: Call[m.GenericReturnBoolean] = Call(
            "DELETE",
            "/device/geoloc",
            m.GenericReturnBoolean,
            query={"deviceId": device_id, "timestamp": timestamp},
        )
        return self._transport.request(call)


class Telemetry(_Noun):
    def list(
        self,
        device_id: str,
        *,
        page_size: int | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
        ascending: bool | None = None,
        fields: str | None = None,
    ) -> Pages[m.DeviceTelemetry, m.DeviceTelemetryConnection]:
        """List a device's telemetry records.

        By timestamp, then in order of arrival. `beginDate` is part of the range, `endDate` is
        not; a date alone as `endDate` means to the end of that day.

        `page_size` is how many items one request gets.

        `GET /device/telemetry`; needs `record.read`.
        """
        call: Call[m.DeviceTelemetryConnection] = Call(
            "GET",
            "/device/telemetry",
            m.DeviceTelemetryConnection,
            query={
                "deviceId": device_id,
                "limit": page_size,
                "beginDate": begin_date,
                "endDate": end_date,
                "ascending": ascending,
                "fields": fields,
            },
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def store(
        self,
        device_id: str,
        *,
        timestamp: When,
        device_type: str,
        group_id: str | None = None,
        duplicates: Sequence[str] | None = None,
        data: JsonText | None = None,
        score: int | None = None,
        nb_bs: int | None = None,
        rc: int | None = None,
    ) -> m.DeviceTelemetry:
        """Store one telemetry record.

        The response is sent once the record is committed. The same record sent again is stored
        once and gets the same response, so retrying is safe. `groupId` is optional; if given,
        it must be the group of the device.

        `POST /device/telemetry`; needs `record.create`.
        """
        call: Call[m.DeviceTelemetry] = Call(
            "POST",
            "/device/telemetry",
            m.DeviceTelemetry,
            body=encode(
                m.DeviceTelemetryInput(
                    device_id=device_id,
                    timestamp=timestamp,
                    device_type=device_type,
                    group_id=group_id,
                    duplicates=duplicates,
                    data=data,
                    score=score,
                    nb_bs=nb_bs,
                    rc=rc,
                )
            ),
            is_repeatable=True,
        )
        return self._transport.request(call)

    def store_many(self, items: Sequence[m.DeviceTelemetryInput]) -> m.BatchReturn:
        """Store many telemetry records at once.

        All are stored, or none; the error names every invalid item.

        `POST /device/telemetry/batch`; needs `record.create`.
        """
        call: Call[m.BatchReturn] = Call(
            "POST",
            "/device/telemetry/batch",
            m.BatchReturn,
            body=encode(m.DeviceTelemetryBatch(items=items)),
            is_repeatable=True,
        )
        return self._transport.request(call)

    def delete(self, device_id: str, *, timestamp: When) -> m.GenericReturnBoolean:
        """Delete the telemetry records of one timestamp.

        All records of this kind with this `timestamp`.

        `DELETE /device/telemetry`; needs `record.delete`.
        """
        call: Call[m.GenericReturnBoolean] = Call(
            "DELETE",
            "/device/telemetry",
            m.GenericReturnBoolean,
            query={"deviceId": device_id, "timestamp": timestamp},
        )
        return self._transport.request(call)


class Records(_Noun):
    def arrivals(
        self,
        group_id: str,
        *,
        page_size: int | None = None,
        subgroups: bool | None = None,
        device_id: str | None = None,
        kinds: Sequence[Literal["data", "event", "geoloc", "telemetry"]] | None = None,
        filter: str | None = None,
        before: str | None = None,
        after: str | None = None,
        ascending: bool | None = None,
        fields: str | None = None,
    ) -> Pages[m.Arrival, m.ArrivalConnection]:
        """List what arrived in a group.

        The records of all devices in order of arrival, newest first, whatever their timestamps
        are. A page looks at 5,000 arrivals at most, so that one with `kinds`, `deviceId` or
        `filter` may have fewer items than `limit`, or none, although there are more: follow
        `nextToken`. Records that were deleted or have expired are not listed.

        `page_size` is how many items one request gets.

        `GET /group/records`; needs `record.read`.
        """
        call: Call[m.ArrivalConnection] = Call(
            "GET",
            "/group/records",
            m.ArrivalConnection,
            query={
                "groupId": group_id,
                "limit": page_size,
                "subgroups": subgroups,
                "deviceId": device_id,
                "kinds": kinds,
                "filter": filter,
                "before": before,
                "after": after,
                "ascending": ascending,
                "fields": fields,
            },
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def trace(
        self,
        *,
        record_id: str | None = None,
        message_id: str | None = None,
        group_id: str | None = None,
    ) -> m.Trace:
        """Trace a record.

        How it came in, what the decoder made of it, and for each connector and notification
        what became of it, with every attempt, or why it was not taken.

        `GET /record/trace`; needs `record.read`.
        """
        call: Call[m.Trace] = Call(
            "GET",
            "/record/trace",
            m.Trace,
            query={"recordId": record_id, "messageId": message_id, "groupId": group_id},
            is_repeatable=True,
        )
        return self._transport.request(call)

    def series(
        self,
        device_id: Sequence[str],
        *,
        begin_date: When | None = None,
        end_date: When | None = None,
        time_span: int | None = None,
        calendar_span: Literal["day", "hour", "month", "week", "year"] | None = None,
        timezone: str | None = None,
        format: Literal["csv", "json", "ndjson", "parquet", "table"] | None = None,
        fresh: bool | None = None,
        measurement: Sequence[str] | None = None,
        path: str | None = None,
        kind: Literal["data", "event", "geoloc", "telemetry"] | None = None,
    ) -> m.Series:
        """Get numbers of devices over time.

        For each span the minimum, maximum, mean, first, last, sum and number of the values of a
        measurement of up to 20 devices, and what a counter rose. They come from summaries,
        which are made for years, and are what a count of all records gives. Spans have
        `timeSpan` seconds, or are hours, days, weeks, months or years of a time zone. The range
        is the last day unless `beginDate` or `endDate` is given. Of several measurements each
        device has a series of each.

        A measurement of class `state` has `states` instead, which are read from the records:
        where it changed, and to what.

        With `path` instead of `measurement`, the numbers at a place in the records, whatever is
        declared. Records without a number there are left out; true and false are 1 and 0. There
        are at most 2,000 points in all. If a range has more records than one request may read,
        a sample of every span is read, and `isSampled` is true.

        `GET /device/series`; needs `record.read`.
        """
        call: Call[m.Series] = Call(
            "GET",
            "/device/series",
            m.Series,
            query={
                "deviceId": device_id,
                "beginDate": begin_date,
                "endDate": end_date,
                "timeSpan": time_span,
                "calendarSpan": calendar_span,
                "timezone": timezone,
                "format": format,
                "fresh": fresh,
                "measurement": measurement,
                "path": path,
                "kind": kind,
            },
            is_repeatable=True,
        )
        return self._transport.request(call)

    def export(
        self,
        *,
        group_id: str | None = None,
        subgroups: bool | None = None,
        device_id: str | None = None,
        kind: Literal["data", "event", "geoloc", "telemetry"] | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
        dates: Literal["arrival", "timestamp"] | None = None,
        format: Literal["csv", "ndjson", "parquet"] | None = None,
        values: str | None = None,
        fields: str | None = None,
        after: str | None = None,
    ) -> Iterator[bytes]:
        """Export the records of a group or of a device.

        Of one kind. Those of a group come in order of arrival, and `beginDate` and `endDate`
        are about their arrival, or with `dates=timestamp` about their timestamps. Those of a
        device are sorted by timestamp, and the dates are about that; with a `groupId`, those
        that belong to this group. An interrupted Parquet file cannot be continued.

        `GET /records/export`; needs `record.read`.
        """
        call: Call[bytes] = Call(
            "GET",
            "/records/export",
            bytes,
            query={
                "groupId": group_id,
                "subgroups": subgroups,
                "deviceId": device_id,
                "kind": kind,
                "beginDate": begin_date,
                "endDate": end_date,
                "dates": dates,
                "format": format,
                "values": values,
                "fields": fields,
                "after": after,
            },
            is_repeatable=True,
        )
        return self._stream(call)

    def redecode(
        self,
        *,
        device_id: str | None = None,
        group_id: str | None = None,
        device_type: str | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
        limit: int | None = None,
        next_token: str | None = None,
    ) -> m.RedecodeReturn:
        """Redecode stored payloads.

        Decodes `__raw` of data records with the current decoder of the device type. Values from
        an earlier decoding are replaced in `data`; the rest of the record is unchanged, and
        connectors are not notified. A record that fails to decode is unchanged. One request
        processes some records and responds with a `nextToken` as long as there are more.

        `POST /device/redecode`; needs `record.create`.
        """
        call: Call[m.RedecodeReturn] = Call(
            "POST",
            "/device/redecode",
            m.RedecodeReturn,
            body=encode(
                m.RedecodeInput(
                    device_id=device_id,
                    group_id=group_id,
                    device_type=device_type,
                    begin_date=begin_date,
                    end_date=end_date,
                    limit=limit,
                    next_token=next_token,
                )
            ),
            is_repeatable=True,
        )
        return self._transport.request(call)

    def delete_all(self, device_id: str) -> m.GenericReturn:
        """Delete all records of a device.

        Data, events, geolocations and telemetry, as far as the caller may delete them. Counters
        are unchanged.

        `DELETE /device/data`; needs `record.delete`.
        """
        call: Call[m.GenericReturn] = Call(
            "DELETE",
            "/device/data",
            m.GenericReturn,
            body=encode(m.AllRecords(device_id=device_id)),
        )
        return self._transport.request(call)


class Connectors(_Noun):
    def list(
        self, group_id: str, *, page_size: int | None = None, subgroups: bool | None = None
    ) -> Pages[m.Connector, m.ConnectorConnection]:
        """List the connectors of a group.

        With `subgroups` also those of the groups below; `groupId` of each says whose it is.

        `page_size` is how many items one request gets.

        `GET /connector/connectors`; needs `connector.read`.
        """
        call: Call[m.ConnectorConnection] = Call(
            "GET",
            "/connector/connectors",
            m.ConnectorConnection,
            query={"groupId": group_id, "limit": page_size, "subgroups": subgroups},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.test)

    def get(self, connector_id: str, *, group_id: str) -> m.Connector:
        """Get a connector.

        Secrets in `params` are masked unless the caller may update it.

        `GET /connector`; needs `connector.read`.
        """
        call: Call[m.Connector] = Call(
            "GET",
            "/connector",
            m.Connector,
            query={"connectorId": connector_id, "groupId": group_id},
            is_repeatable=True,
        )
        return self._transport.request(call)

    def create(
        self,
        group_id: str,
        *,
        params: JsonText,
        type: str,
        id: str | None = None,
        name: str | None = None,
        description: str | None = None,
        device_types: Sequence[str] | None = None,
        device_ids: Sequence[str] | None = None,
        message_filter: str | None = None,
        format: Literal["cloudevents", "custom", "json", "raw"] | None = None,
        data_failure_policy: m.DataFailurePolicyInput | None = None,
        retry_policy: m.RetryPolicyInput | None = None,
        enabled: bool | None = None,
        tags: Sequence[str] | None = None,
    ) -> m.Connector:
        """Create a connector.

        From now on it forwards every record of the group's devices that matches `deviceTypes`,
        `deviceIds` and `messageFilter`. `id` can be chosen if it is not taken.

        `POST /connector`; needs `connector.write`.
        """
        call: Call[m.Connector] = Call(
            "POST",
            "/connector",
            m.Connector,
            body=encode(
                m.ConnectorInput(
                    group_id=group_id,
                    params=params,
                    type=type,
                    id=id,
                    name=name,
                    description=description,
                    device_types=device_types,
                    device_ids=device_ids,
                    message_filter=message_filter,
                    format=format,
                    data_failure_policy=data_failure_policy,
                    retry_policy=retry_policy,
                    enabled=enabled,
                    tags=tags,
                )
            ),
        )
        return self._transport.request(call)

    def update(
        self,
        connector_id: str,
        *,
        group_id: str,
        params: JsonText | None = None,
        name: str | None = None,
        description: str | None = None,
        type: str | None = None,
        device_types: Sequence[str] | None = None,
        device_ids: Sequence[str] | None = None,
        message_filter: str | None = None,
        data_failure_policy: m.DataFailurePolicyInput | None = None,
        retry_policy: Any = None,
        format: Literal["cloudevents", "custom", "json", "raw"] | None = None,
        enabled: bool | None = None,
        tags: Sequence[str] | None = None,
        if_updated_at: When | None = None,
    ) -> m.Connector:
        """Update a connector.

        Members left out are unchanged; null removes `name`, `description`, `messageFilter` and
        `retryPolicy`, of the last two an empty string, too. A mask in `params` keeps the
        secret. While the connector is disabled, no new deliveries are created, and queued ones
        are held.

        `PUT /connector`; needs `connector.write`.
        """
        call: Call[m.Connector] = Call(
            "PUT",
            "/connector",
            m.Connector,
            body=encode(
                m.UpdateConnectorInput(
                    connector_id=connector_id,
                    group_id=group_id,
                    params=params,
                    name=name,
                    description=description,
                    type=type,
                    device_types=device_types,
                    device_ids=device_ids,
                    message_filter=message_filter,
                    data_failure_policy=data_failure_policy,
                    retry_policy=retry_policy,
                    format=format,
                    enabled=enabled,
                    tags=tags,
                    if_updated_at=if_updated_at,
                )
            ),
        )
        return self._transport.request(call)

    def delete(self, connector_id: str, *, group_id: str) -> m.Connector:
        """Delete a connector.

        Its queued deliveries and its history are deleted as well.

        `DELETE /connector`; needs `connector.write`.
        """
        call: Call[m.Connector] = Call(
            "DELETE",
            "/connector",
            m.Connector,
            query={"connectorId": connector_id, "groupId": group_id},
        )
        return self._transport.request(call)

    def types(
        self, *, page_size: int | None = None
    ) -> Pages[m.ConnectorType, m.ConnectorTypeConnection]:
        """List the connector types.

        `page_size` is how many items one request gets.

        `GET /connector/connectorTypes`.
        """
        call: Call[m.ConnectorTypeConnection] = Call(
            "GET",
            "/connector/connectorTypes",
            m.ConnectorTypeConnection,
            query={"limit": page_size},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def type(self, type: str) -> m.ConnectorType:
        """Get a connector type.

        `expectedParameters` is a JSON Schema, as text.

        `GET /connector/connectorType`.
        """
        call: Call[m.ConnectorType] = Call(
            "GET",
            "/connector/connectorType",
            m.ConnectorType,
            query={"type": type},
            is_repeatable=True,
        )
        return self._transport.request(call)

    def events(
        self,
        connector_id: str,
        *,
        group_id: str,
        begin_date: When,
        end_date: When,
        page_size: int | None = None,
        ascending: bool | None = None,
    ) -> Pages[m.ConnectorEvent, m.ConnectorEventConnection]:
        """List the deliveries of a connector.

        One item per message, by the time of its last change. `stats` count the whole period on
        every page. `id` is sent to the receiver as `webhook-id`.

        `page_size` is how many items one request gets.

        `GET /connector/connectorEvent`; needs `connector.read`.
        """
        call: Call[m.ConnectorEventConnection] = Call(
            "GET",
            "/connector/connectorEvent",
            m.ConnectorEventConnection,
            query={
                "connectorId": connector_id,
                "groupId": group_id,
                "beginDate": begin_date,
                "endDate": end_date,
                "limit": page_size,
                "ascending": ascending,
            },
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def health(self, connector_id: str, *, group_id: str) -> m.ConnectorHealth:
        """Get the health of a connector.

        Whether its last attempts failed, and how many messages wait or are kept for a resend.

        `GET /connector/health`; needs `connector.read`.
        """
        call: Call[m.ConnectorHealth] = Call(
            "GET",
            "/connector/health",
            m.ConnectorHealth,
            query={"connectorId": connector_id, "groupId": group_id},
            is_repeatable=True,
        )
        return self._transport.request(call)

    def metrics(
        self,
        group_id: str,
        *,
        begin_date: When,
        end_date: When,
        connector_id: str | None = None,
        time_span: int | None = None,
    ) -> m.ConnectorMetrics:
        """Get the metrics of connectors over time.

        Of one connector, or of all connectors of a group together; in whole minutes, or in
        whole hours if `timeSpan` is a multiple of 3,600. Kept for a limited time.

        `GET /connector/metrics`; needs `metrics.read`.
        """
        call: Call[m.ConnectorMetrics] = Call(
            "GET",
            "/connector/metrics",
            m.ConnectorMetrics,
            query={
                "groupId": group_id,
                "beginDate": begin_date,
                "endDate": end_date,
                "connectorId": connector_id,
                "timeSpan": time_span,
            },
            is_repeatable=True,
        )
        return self._transport.request(call)

    def resend(self, connector_id: str, *, group_id: str) -> m.Connector:
        """Resend dead letters.

        Every failed message that is still kept is queued again, oldest first, under its old id.
        Repeating the request while that is in progress changes nothing.

        `POST /connector/resendData`; needs `connector.resend`.
        """
        call: Call[m.Connector] = Call(
            "POST",
            "/connector/resendData",
            m.Connector,
            body=encode(m.ConnectorRef(connector_id=connector_id, group_id=group_id)),
        )
        return self._transport.request(call)

    def preview(
        self,
        group_id: str,
        *,
        connector_id: str | None = None,
        draft: m.PreviewDraft | None = None,
        limit: int | None = None,
        device_id: str | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
    ) -> m.Preview:
        """Preview what a connector would send.

        For the latest records, and changes of the kinds that it asks for: whether they match,
        why not, and the request that would be sent. Nothing is sent. With a draft, nothing is
        saved either, and `matchedBefore` compares it with the saved connector. Records of a
        device or a period are looked for among the last 5,000.

        `POST /connector/preview`; needs `connector.read`.
        """
        call: Call[m.Preview] = Call(
            "POST",
            "/connector/preview",
            m.Preview,
            body=encode(
                m.PreviewInput(
                    group_id=group_id,
                    connector_id=connector_id,
                    draft=draft,
                    limit=limit,
                    device_id=device_id,
                    begin_date=begin_date,
                    end_date=end_date,
                )
            ),
            is_repeatable=True,
        )
        return self._transport.request(call)

    def test(
        self,
        group_id: str,
        *,
        connector_id: str | None = None,
        draft: m.TestDraft | None = None,
        record_id: str | None = None,
        kind: Literal["data", "event", "geoloc", "telemetry"] | None = None,
        data: JsonText | None = None,
    ) -> m.ConnectorTestReply:
        """Send a test message.

        One message, now, through a connector or a draft, whether it is enabled or not and
        whatever its filter says; the response shows what was sent and what came back. It is no
        delivery: it is neither queued nor retried, and no counter and no health changes. Its id
        begins with `test_`; a webhook gets the header `webhook-test`, and the formats `json`
        and `cloudevents` have a member `test`.

        `POST /connector/test`; needs `connector.write`.
        """
        call: Call[m.ConnectorTestReply] = Call(
            "POST",
            "/connector/test",
            m.ConnectorTestReply,
            body=encode(
                m.ConnectorTestInput(
                    group_id=group_id,
                    connector_id=connector_id,
                    draft=draft,
                    record_id=record_id,
                    kind=kind,
                    data=data,
                )
            ),
        )
        return self._transport.request(call)

    def exchanges(
        self,
        connector_id: str,
        *,
        group_id: str,
        page_size: int | None = None,
        message_id: str | None = None,
    ) -> Pages[m.Exchange, m.ExchangeConnection]:
        """List what a connector sent and what came back.

        Of attempts that are kept, as `storeResponses` in its `params` says: the request and the
        first 4 KiB of the response, newest first; or, with `messageId`, those of one message,
        oldest first. A process keeps about one exchange of a connector in a second, after 20 at
        once.

        `page_size` is how many items one request gets.

        `GET /connector/exchanges`; needs `connector.write`.
        """
        call: Call[m.ExchangeConnection] = Call(
            "GET",
            "/connector/exchanges",
            m.ExchangeConnection,
            query={
                "connectorId": connector_id,
                "groupId": group_id,
                "limit": page_size,
                "messageId": message_id,
            },
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def failures(
        self,
        connector_id: str,
        *,
        group_id: str,
        begin_date: When | None = None,
        end_date: When | None = None,
    ) -> m.ConnectorFailures:
        """List what fails at a connector, by error.

        Of messages that last changed in the period: how many failed in which way, what became
        of them, and for how many devices.

        `GET /connector/failures`; needs `connector.read`.
        """
        call: Call[m.ConnectorFailures] = Call(
            "GET",
            "/connector/failures",
            m.ConnectorFailures,
            query={
                "connectorId": connector_id,
                "groupId": group_id,
                "beginDate": begin_date,
                "endDate": end_date,
            },
            is_repeatable=True,
        )
        return self._transport.request(call)

    def rotate_secret(
        self,
        connector_id: str,
        *,
        group_id: str,
        secret: str | None = None,
        previous_until: When | None = None,
        if_updated_at: When | None = None,
    ) -> m.Connector:
        """Rotate the signing secret of a webhook.

        From now on requests are signed with the new one, which is in `params` of the response;
        and until `previousUntil` with the one before it as well, so that receivers may verify
        with either. While that lasts, another rotation is refused.

        `POST /connector/rotateSecret`; needs `connector.write`.
        """
        call: Call[m.Connector] = Call(
            "POST",
            "/connector/rotateSecret",
            m.Connector,
            body=encode(
                m.RotateSecretInput(
                    connector_id=connector_id,
                    group_id=group_id,
                    secret=secret,
                    previous_until=previous_until,
                    if_updated_at=if_updated_at,
                )
            ),
        )
        return self._transport.request(call)

    def end_secret_rotation(self, connector_id: str, *, group_id: str) -> m.Connector:
        """End the rotation of a signing secret.

        The secret before the current one signs no more. Without one nothing changes.

        `POST /connector/endSecretRotation`; needs `connector.write`.
        """
        call: Call[m.Connector] = Call(
            "POST",
            "/connector/endSecretRotation",
            m.Connector,
            body=encode(m.ConnectorRef(connector_id=connector_id, group_id=group_id)),
        )
        return self._transport.request(call)


class Messages(_Noun):
    def list(
        self,
        group_id: str,
        *,
        page_size: int | None = None,
        subgroups: bool | None = None,
        connector_id: str | None = None,
        status: Literal["failed", "processing", "succeed"] | None = None,
        device_id: str | None = None,
        kind: Literal["alarm", "data", "event", "geoloc", "registry", "telemetry"] | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
        ascending: bool | None = None,
    ) -> Pages[m.ConnectorEvent, m.MessageConnection]:
        """List the messages of the connectors of a group.

        Over all of its connectors, by the time of their last change, newest first; with
        `subgroups` also over those of the groups below.

        `page_size` is how many items one request gets.

        `GET /connector/messages`; needs `connector.read`.
        """
        call: Call[m.MessageConnection] = Call(
            "GET",
            "/connector/messages",
            m.MessageConnection,
            query={
                "groupId": group_id,
                "limit": page_size,
                "subgroups": subgroups,
                "connectorId": connector_id,
                "status": status,
                "deviceId": device_id,
                "kind": kind,
                "beginDate": begin_date,
                "endDate": end_date,
                "ascending": ascending,
            },
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def get(self, id: str) -> m.Message:
        """Get a message with its attempts.

        What was sent and what the receiver answered is in `GET /connector/exchanges`, as far as
        it is kept.

        `GET /connector/message`; needs `connector.read`.
        """
        call: Call[m.Message] = Call(
            "GET", "/connector/message", m.Message, query={"id": id}, is_repeatable=True
        )
        return self._transport.request(call)

    def retry(
        self,
        group_id: str,
        *,
        ids: Sequence[str] | None = None,
        connector_id: str | None = None,
        device_id: str | None = None,
        kind: Literal["alarm", "data", "event", "geoloc", "registry", "telemetry"] | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
        status: str | None = None,
    ) -> m.MessagesChanged:
        """Retry messages now.

        Those that wait for their next attempt, and those that failed and are still kept for a
        resend. By ids, up to 1,000; or by a filter, up to 10,000 in one request.

        `POST /connector/messages/retry`; needs `connector.resend`.
        """
        call: Call[m.MessagesChanged] = Call(
            "POST",
            "/connector/messages/retry",
            m.MessagesChanged,
            body=encode(
                m.RetryMessagesInput(
                    group_id=group_id,
                    ids=ids,
                    connector_id=connector_id,
                    device_id=device_id,
                    kind=kind,
                    begin_date=begin_date,
                    end_date=end_date,
                    status=status,
                )
            ),
        )
        return self._transport.request(call)

    def cancel(
        self,
        group_id: str,
        *,
        ids: Sequence[str] | None = None,
        connector_id: str | None = None,
        device_id: str | None = None,
        kind: Literal["alarm", "data", "event", "geoloc", "registry", "telemetry"] | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
    ) -> m.MessagesChanged:
        """Cancel messages.

        Those that are queued; one that is being sent is not changed. By ids, up to 1,000; or by
        a filter, up to 10,000 in one request.

        `POST /connector/messages/cancel`; needs `connector.resend`.
        """
        call: Call[m.MessagesChanged] = Call(
            "POST",
            "/connector/messages/cancel",
            m.MessagesChanged,
            body=encode(
                m.CancelMessagesInput(
                    group_id=group_id,
                    ids=ids,
                    connector_id=connector_id,
                    device_id=device_id,
                    kind=kind,
                    begin_date=begin_date,
                    end_date=end_date,
                )
            ),
        )
        return self._transport.request(call)

    def export(
        self,
        group_id: str,
        *,
        subgroups: bool | None = None,
        connector_id: str | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
        format: Literal["csv", "ndjson"] | None = None,
        after: str | None = None,
    ) -> Iterator[bytes]:
        """Export the messages of a group's connectors.

        Connector by connector, in the order in which their records arrived; `beginDate` and
        `endDate` are about that arrival.

        `GET /connector/messages/export`; needs `connector.read`.
        """
        call: Call[bytes] = Call(
            "GET",
            "/connector/messages/export",
            bytes,
            query={
                "groupId": group_id,
                "subgroups": subgroups,
                "connectorId": connector_id,
                "beginDate": begin_date,
                "endDate": end_date,
                "format": format,
                "after": after,
            },
            is_repeatable=True,
        )
        return self._stream(call)


class Replays(_Noun):
    def list(self, connector_id: str, *, group_id: str) -> m.ReplayList:
        """List the last 20 replays of a connector.

        The newest first; one that runs is always the first.

        `GET /connector/replays`; needs `connector.read`.
        """
        call: Call[m.ReplayList] = Call(
            "GET",
            "/connector/replays",
            m.ReplayList,
            query={"connectorId": connector_id, "groupId": group_id},
            is_repeatable=True,
        )
        return self._transport.request(call)

    def get(self, replay_id: str, *, connector_id: str, group_id: str) -> m.Replay:
        """Get the progress of a replay.

        `GET /connector/replay`; needs `connector.read`.
        """
        call: Call[m.Replay] = Call(
            "GET",
            "/connector/replay",
            m.Replay,
            query={"replayId": replay_id, "connectorId": connector_id, "groupId": group_id},
            is_repeatable=True,
        )
        return self._transport.request(call)

    def start(
        self, connector_id: str, *, group_id: str, begin_date: When, end_date: When
    ) -> m.ReplayStarted:
        """Replay stored records through a connector.

        Those with timestamps in the range that match, also from before the connector was
        created. Records it has had before are sent again under their old id. `queued` is the
        number queued so far; a long range is processed in the background, see `GET
        /connector/replay`.

        `POST /connector/replay`; needs `connector.resend`.
        """
        call: Call[m.ReplayStarted] = Call(
            "POST",
            "/connector/replay",
            m.ReplayStarted,
            body=encode(
                m.ReplayInput(
                    connector_id=connector_id,
                    group_id=group_id,
                    begin_date=begin_date,
                    end_date=end_date,
                )
            ),
        )
        return self._transport.request(call)

    def cancel(self, replay_id: str, *, connector_id: str, group_id: str) -> m.Replay:
        """Cancel a replay.

        Messages that it has queued are still sent.

        `DELETE /connector/replay`; needs `connector.resend`.
        """
        call: Call[m.Replay] = Call(
            "DELETE",
            "/connector/replay",
            m.Replay,
            query={"replayId": replay_id, "connectorId": connector_id, "groupId": group_id},
        )
        return self._transport.request(call)

    def preview(
        self, connector_id: str, *, group_id: str, begin_date: When, end_date: When
    ) -> m.ReplayPreview:
        """Preview a replay: how many records it would send.

        Nothing is sent. At most 10,000 records are looked at, those that arrived in the range
        first; beyond, `estimatedMatches` is an estimate.

        `POST /connector/replay/preview`; needs `connector.resend`.
        """
        call: Call[m.ReplayPreview] = Call(
            "POST",
            "/connector/replay/preview",
            m.ReplayPreview,
            body=encode(
                m.ReplayInput(
                    connector_id=connector_id,
                    group_id=group_id,
                    begin_date=begin_date,
                    end_date=end_date,
                )
            ),
            is_repeatable=True,
        )
        return self._transport.request(call)


class Notifications(_Noun):
    def list(
        self,
        *,
        page_size: int | None = None,
        group_id: str | None = None,
        subgroups: bool | None = None,
    ) -> Pages[m.Notification, m.NotificationConnection]:
        """List the notifications of a group, or all that the caller can see.

        With `subgroups` also those of the groups below `groupId`.

        `page_size` is how many items one request gets.

        `GET /notification/notifications`; needs `notification.read`.
        """
        call: Call[m.NotificationConnection] = Call(
            "GET",
            "/notification/notifications",
            m.NotificationConnection,
            query={"limit": page_size, "groupId": group_id, "subgroups": subgroups},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def get(self, notification_id: str, *, group_id: str | None = None) -> m.Notification:
        """Get a notification.

        Secrets in `params` are masked unless the caller may update it.

        `GET /notification`; needs `notification.read`.
        """
        call: Call[m.Notification] = Call(
            "GET",
            "/notification",
            m.Notification,
            query={"notificationId": notification_id, "groupId": group_id},
            is_repeatable=True,
        )
        return self._transport.request(call)

    def create(
        self,
        group_id: str,
        *,
        params: JsonText,
        type: str,
        name: str,
        description: str | None = None,
        device_id: str | None = None,
        reason: str | None = None,
        schedule: Any = None,
        device_types: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        enabled: bool | None = None,
    ) -> m.Notification:
        """Create a notification.

        From now on it is sent when a device of the group sends a record with its `reason`, or
        when the service itself raises that reason, if `deviceId`, `deviceTypes`, `schedule` and
        the condition `when` in `params` match.

        `POST /notification`; needs `notification.write`.
        """
        call: Call[m.Notification] = Call(
            "POST",
            "/notification",
            m.Notification,
            body=encode(
                m.NotificationInput(
                    group_id=group_id,
                    params=params,
                    type=type,
                    name=name,
                    description=description,
                    device_id=device_id,
                    reason=reason,
                    schedule=schedule,
                    device_types=device_types,
                    tags=tags,
                    enabled=enabled,
                )
            ),
        )
        return self._transport.request(call)

    def update(
        self,
        notification_id: str,
        *,
        group_id: str,
        params: JsonText | None = None,
        name: str | None = None,
        description: str | None = None,
        type: str | None = None,
        device_id: str | None = None,
        reason: str | None = None,
        schedule: Any = None,
        enabled: bool | None = None,
        device_types: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        if_updated_at: When | None = None,
    ) -> m.Notification:
        """Update a notification.

        Members left out are unchanged; null removes `name`, `description`, `deviceId`, `reason`
        and `schedule`, of the last three an empty string, too. A mask in `params` keeps the
        secret. A new `reason` or geofence resets the trigger state; otherwise nothing is sent
        again.

        `PUT /notification`; needs `notification.write`.
        """
        call: Call[m.Notification] = Call(
            "PUT",
            "/notification",
            m.Notification,
            body=encode(
                m.UpdateNotificationInput(
                    notification_id=notification_id,
                    group_id=group_id,
                    params=params,
                    name=name,
                    description=description,
                    type=type,
                    device_id=device_id,
                    reason=reason,
                    schedule=schedule,
                    enabled=enabled,
                    device_types=device_types,
                    tags=tags,
                    if_updated_at=if_updated_at,
                )
            ),
        )
        return self._transport.request(call)

    def delete(self, notification_id: str, *, group_id: str) -> m.Notification:
        """Delete a notification.

        `name` is the id of the group. Queued messages are deleted as well.

        `DELETE /notification`; needs `notification.write`.
        """
        call: Call[m.Notification] = Call(
            "DELETE",
            "/notification",
            m.Notification,
            query={"notificationId": notification_id, "name": group_id},
        )
        return self._transport.request(call)

    def types(
        self, *, page_size: int | None = None
    ) -> Pages[m.NotificationType, m.NotificationTypeConnection]:
        """List the notification types.

        `page_size` is how many items one request gets.

        `GET /notification/notificationTypes`.
        """
        call: Call[m.NotificationTypeConnection] = Call(
            "GET",
            "/notification/notificationTypes",
            m.NotificationTypeConnection,
            query={"limit": page_size},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def type(self, type: str) -> m.NotificationType:
        """Get a notification type.

        `expectedParameters` is a JSON Schema, as text.

        `GET /notification/notificationType`.
        """
        call: Call[m.NotificationType] = Call(
            "GET",
            "/notification/notificationType",
            m.NotificationType,
            query={"type": type},
            is_repeatable=True,
        )
        return self._transport.request(call)

    def test(self, notification_id: str, *, group_id: str) -> m.NotificationTest:
        """Send a test notification.

        With sample content to every recipient, regardless of schedule and throttle. The outcome
        is visible in `lastSentAt` and `error`. Limited to a few requests per minute and caller.

        `POST /notification/test`; needs `notification.write`.
        """
        call: Call[m.NotificationTest] = Call(
            "POST",
            "/notification/test",
            m.NotificationTest,
            body=encode(m.NotificationRef(notification_id=notification_id, group_id=group_id)),
        )
        return self._transport.request(call)

    def backtest(
        self,
        group_id: str,
        *,
        begin_date: When,
        end_date: When,
        notification: m.NotificationDraftInput | None = None,
        notification_id: str | None = None,
        limit: int | None = None,
        next_token: str | None = None,
    ) -> m.BacktestResult:
        """Find out when a notification would have raised alarms.

        One with the reason `measurement`, stored or not, is tried with what its devices have
        sent in a range of time, as it would have been then: with its duration, its hysteresis,
        and what it does when values stay away. Nothing is sent and nothing is stored. What the
        devices are and what they are configured to is as of now; records of other groups they
        were in do not count.

        An answer has the next devices, as far as one request goes; `nextToken` goes on behind
        them, and its messages are to be added.

        `POST /notification/backtest`; needs `notification.read`.
        """
        call: Call[m.BacktestResult] = Call(
            "POST",
            "/notification/backtest",
            m.BacktestResult,
            body=encode(
                m.BacktestInput(
                    group_id=group_id,
                    begin_date=begin_date,
                    end_date=end_date,
                    notification=notification,
                    notification_id=notification_id,
                    limit=limit,
                    next_token=next_token,
                )
            ),
            is_repeatable=True,
        )
        return self._transport.request(call)


class ContactPoints(_Noun):
    def list(
        self,
        group_id: str,
        *,
        page_size: int | None = None,
        subgroups: bool | None = None,
        usable: bool | None = None,
    ) -> Pages[m.ContactPoint, m.ContactPointConnection]:
        """List the contact points of a group.

        With `usable` also those that groups above share with it, of which only the name and the
        type are shown to callers who may not read notifications there. With `subgroups` also
        those of the groups below; not both.

        `page_size` is how many items one request gets.

        `GET /group/contactPoints`; needs `notification.read`.
        """
        call: Call[m.ContactPointConnection] = Call(
            "GET",
            "/group/contactPoints",
            m.ContactPointConnection,
            query={
                "groupId": group_id,
                "limit": page_size,
                "subgroups": subgroups,
                "usable": usable,
            },
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def get(self, contact_point_id: str, *, group_id: str | None = None) -> m.ContactPoint:
        """Get a contact point.

        Secrets in `params` are masked unless the caller may update it.

        `GET /contactPoint`; needs `notification.read`.
        """
        call: Call[m.ContactPoint] = Call(
            "GET",
            "/contactPoint",
            m.ContactPoint,
            query={"contactPointId": contact_point_id, "groupId": group_id},
            is_repeatable=True,
        )
        return self._transport.request(call)

    def create(
        self,
        group_id: str,
        *,
        name: str,
        type: str,
        params: JsonText,
        description: str | None = None,
    ) -> m.ContactPoint:
        """Create a contact point.

        Notifications of the group name it by its id in `contactPoints` or `escalateTo` of their
        `params`; with `subgroups` in its own, those of the groups below as well.

        `POST /contactPoint`; needs `notification.write`.
        """
        call: Call[m.ContactPoint] = Call(
            "POST",
            "/contactPoint",
            m.ContactPoint,
            body=encode(
                m.ContactPointInput(
                    group_id=group_id, name=name, type=type, params=params, description=description
                )
            ),
        )
        return self._transport.request(call)

    def update(
        self,
        contact_point_id: str,
        *,
        group_id: str,
        name: str | None = None,
        type: str | None = None,
        params: JsonText | None = None,
        description: str | None = None,
        if_updated_at: When | None = None,
    ) -> m.ContactPoint:
        """Update a contact point.

        Members left out are unchanged; null removes `name` and `description`. A mask in
        `params` keeps the secret. Messages that wait go to the new recipients only if these
        were meant before.

        `PUT /contactPoint`; needs `notification.write`.
        """
        call: Call[m.ContactPoint] = Call(
            "PUT",
            "/contactPoint",
            m.ContactPoint,
            body=encode(
                m.UpdateContactPointInput(
                    contact_point_id=contact_point_id,
                    group_id=group_id,
                    name=name,
                    type=type,
                    params=params,
                    description=description,
                    if_updated_at=if_updated_at,
                )
            ),
        )
        return self._transport.request(call)

    def delete(self, contact_point_id: str, *, group_id: str) -> m.ContactPoint:
        """Delete a contact point.

        Its queued messages are deleted as well.

        `DELETE /contactPoint`; needs `notification.write`.
        """
        call: Call[m.ContactPoint] = Call(
            "DELETE",
            "/contactPoint",
            m.ContactPoint,
            query={"contactPointId": contact_point_id, "groupId": group_id},
        )
        return self._transport.request(call)

    def types(
        self, *, page_size: int | None = None
    ) -> Pages[m.ContactPointType, m.ContactPointTypeConnection]:
        """List the contact point types.

        `page_size` is how many items one request gets.

        `GET /contactPoint/contactPointTypes`.
        """
        call: Call[m.ContactPointTypeConnection] = Call(
            "GET",
            "/contactPoint/contactPointTypes",
            m.ContactPointTypeConnection,
            query={"limit": page_size},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def test(self, contact_point_id: str, *, group_id: str) -> m.NotificationTest:
        """Send a test to a contact point.

        To all who would be notified now. The outcome is visible in `lastSentAt` and `error`.
        Limited to a few requests per minute and caller.

        `POST /contactPoint/test`; needs `notification.write`.
        """
        call: Call[m.NotificationTest] = Call(
            "POST",
            "/contactPoint/test",
            m.NotificationTest,
            body=encode(m.ContactPointRef(contact_point_id=contact_point_id, group_id=group_id)),
        )
        return self._transport.request(call)


class Reports(_Noun):
    def list(
        self, group_id: str, *, page_size: int | None = None, subgroups: bool | None = None
    ) -> Pages[m.Report, m.ReportConnection]:
        """List the reports of a group.

        With what became of each last; with `subgroups` also those of the groups below.

        `page_size` is how many items one request gets.

        `GET /group/reports`; needs `notification.read`.
        """
        call: Call[m.ReportConnection] = Call(
            "GET",
            "/group/reports",
            m.ReportConnection,
            query={"groupId": group_id, "limit": page_size, "subgroups": subgroups},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def create(
        self,
        group_id: str,
        *,
        name: str,
        content: Literal["alarms", "devices", "records", "series"],
        every: Literal["day", "month", "week"],
        at: str,
        to: m.ReportContact,
        parameters: Mapping[str, Any] | None = None,
        timezone: str | None = None,
        format: Literal["csv", "xlsx"] | None = None,
        enabled: bool | None = None,
    ) -> m.Report:
        """Create a report.

        A file that is made and sent every day, week or month, by mail to members who have
        accepted, or to addresses in domains that the operator allows, or to a webhook. It is
        read with the permissions that its creator has at that time. If the service was not
        running when it was due, it is sent as soon as that is, once. A file that is too large
        for a mail is kept for a week, and the mail has a link to it.

        `POST /report`; needs `notification.write`.
        """
        call: Call[m.Report] = Call(
            "POST",
            "/report",
            m.Report,
            body=encode(
                m.ReportInput(
                    group_id=group_id,
                    name=name,
                    content=content,
                    every=every,
                    at=at,
                    to=to,
                    parameters=parameters,
                    timezone=timezone,
                    format=format,
                    enabled=enabled,
                )
            ),
        )
        return self._transport.request(call)

    def update(
        self,
        group_id: str,
        *,
        report_id: str,
        name: str | None = None,
        content: Literal["alarms", "devices", "records", "series"] | None = None,
        parameters: Mapping[str, Any] | None = None,
        every: Literal["day", "month", "week"] | None = None,
        at: str | None = None,
        timezone: str | None = None,
        format: Literal["csv", "xlsx"] | None = None,
        to: m.ReportContact | None = None,
        enabled: bool | None = None,
        if_updated_at: When | None = None,
    ) -> m.Report:
        """Update a report.

        Members left out are unchanged. From now on it is read with the permissions of the
        caller.

        `PUT /report`; needs `notification.write`.
        """
        call: Call[m.Report] = Call(
            "PUT",
            "/report",
            m.Report,
            body=encode(
                m.UpdateReportInput(
                    group_id=group_id,
                    report_id=report_id,
                    name=name,
                    content=content,
                    parameters=parameters,
                    every=every,
                    at=at,
                    timezone=timezone,
                    format=format,
                    to=to,
                    enabled=enabled,
                    if_updated_at=if_updated_at,
                )
            ),
        )
        return self._transport.request(call)

    def delete(self, report_id: str, *, group_id: str) -> m.Report:
        """Delete a report.

        What was not sent yet is not sent any more, and links to its files lead nowhere.

        `DELETE /report`; needs `notification.write`.
        """
        call: Call[m.Report] = Call(
            "DELETE", "/report", m.Report, query={"reportId": report_id, "groupId": group_id}
        )
        return self._transport.request(call)

    def send(self, report_id: str, *, group_id: str) -> m.Report:
        """Send a report now.

        About the last whole day, week or month, to its recipients; its schedule stays as it is.
        `lastRun` says what became of it. Limited to a few requests per minute and caller.

        `POST /report/send`; needs `notification.write`.
        """
        call: Call[m.Report] = Call(
            "POST",
            "/report/send",
            m.Report,
            body=encode(m.ReportRef(report_id=report_id, group_id=group_id)),
        )
        return self._transport.request(call)

    def link(self) -> m.ReportDownload:
        """Get what the link of a report opens.

        With the secret of the link as the access token, as for its file.

        `GET /report/link`.
        """
        call: Call[m.ReportDownload] = Call(
            "GET", "/report/link", m.ReportDownload, is_repeatable=True
        )
        return self._transport.request(call)

    def download(self) -> Iterator[bytes]:
        """Download the file of a report.

        With the secret of the link in its mail as the access token, which opens nothing else,
        for a week; not if the report was deleted meanwhile, or its creator may not read this
        any more.

        `GET /report/file`.
        """
        call: Call[bytes] = Call("GET", "/report/file", bytes, is_repeatable=True)
        return self._stream(call)


class Shares(_Noun):
    def list(
        self, group_id: str, *, page_size: int | None = None, subgroups: bool | None = None
    ) -> Pages[m.ShareLink, m.ShareLinkConnection]:
        """List the links that show something of a group.

        With how often each was used, the newest first; until a week after they expire.

        `page_size` is how many items one request gets.

        `GET /group/shares`; needs `notification.read`.
        """
        call: Call[m.ShareLinkConnection] = Call(
            "GET",
            "/group/shares",
            m.ShareLinkConnection,
            query={"groupId": group_id, "limit": page_size, "subgroups": subgroups},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def create(
        self,
        group_id: str,
        *,
        name: str,
        expires_in_days: int,
        origins: Sequence[str] | None = None,
        chart: m.SharedChart | None = None,
        device: m.SharedDevice | None = None,
        list_: m.SharedList | None = None,
        map: m.SharedMap | None = None,
    ) -> m.NewShareLink:
        """Create a link that shows something of a group.

        To whoever has it, without signing in, until it expires or is deleted: a chart, what a
        device says now, a list of devices or a map. It is read with the permissions that its
        creator has at that time, and shows nothing as soon as they could not create it any
        more. Only pages of `origins` may embed it.

        `POST /share`; needs `notification.write`.
        """
        call: Call[m.NewShareLink] = Call(
            "POST",
            "/share",
            m.NewShareLink,
            body=encode(
                m.ShareInput(
                    group_id=group_id,
                    name=name,
                    expires_in_days=expires_in_days,
                    origins=origins,
                    chart=chart,
                    device=device,
                    list_=list_,
                    map=map,
                )
            ),
        )
        return self._transport.request(call)

    def delete(self, share_id: str, *, group_id: str) -> m.ShareLink:
        """Revoke a link.

        It shows nothing from now on. The audit log keeps what it showed, and when it was used.

        `DELETE /share`; needs `notification.write`.
        """
        call: Call[m.ShareLink] = Call(
            "DELETE", "/share", m.ShareLink, query={"shareId": share_id, "groupId": group_id}
        )
        return self._transport.request(call)

    def view(self) -> m.SharedView:
        """Get what a link shows.

        With the secret of the link as the access token, which opens nothing else.

        `GET /share/link`.
        """
        call: Call[m.SharedView] = Call("GET", "/share/link", m.SharedView, is_repeatable=True)
        return self._transport.request(call)

    def series(self) -> m.SharedSeries:
        """Get the numbers of a shared chart.

        With the secret of the link as the access token.

        `GET /share/series`.
        """
        call: Call[m.SharedSeries] = Call(
            "GET", "/share/series", m.SharedSeries, is_repeatable=True
        )
        return self._transport.request(call)

    def devices(self, *, page_size: int | None = None) -> Pages[m.SharedColumn, m.SharedDevices]:
        """List the devices of a shared list, or get a shared device.

        With their current values, and with the secret of the link as the access token.

        `page_size` is how many items one request gets.

        `GET /share/devices`.
        """
        call: Call[m.SharedDevices] = Call(
            "GET", "/share/devices", m.SharedDevices, query={"limit": page_size}, is_repeatable=True
        )
        return Pages(self._transport, call, lambda page: page.columns)

    def positions(
        self, *, page_size: int | None = None
    ) -> Pages[m.SharedPosition, m.SharedPositions]:
        """List the positions of a shared map.

        With the secret of the link as the access token.

        `page_size` is how many items one request gets.

        `GET /share/positions`.
        """
        call: Call[m.SharedPositions] = Call(
            "GET",
            "/share/positions",
            m.SharedPositions,
            query={"limit": page_size},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)


class Alarms(_Noun):
    def list(
        self,
        group_id: str,
        *,
        page_size: int | None = None,
        subgroups: bool | None = None,
        state: Literal["all", "open", "resolved"] | None = None,
        device_id: str | None = None,
        severity: Literal["critical", "info", "warning"] | None = None,
        reason: str | None = None,
        silence_id: str | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
    ) -> Pages[m.Alarm, m.AlarmConnection]:
        """List the alarms of a group.

        What is wrong now with its devices and connectors, or was, as its notifications and
        those of groups above say it; those that were raised last first.

        `page_size` is how many items one request gets.

        `GET /group/alarms`; needs `notification.read`.
        """
        call: Call[m.AlarmConnection] = Call(
            "GET",
            "/group/alarms",
            m.AlarmConnection,
            query={
                "groupId": group_id,
                "limit": page_size,
                "subgroups": subgroups,
                "state": state,
                "deviceId": device_id,
                "severity": severity,
                "reason": reason,
                "silenceId": silence_id,
                "beginDate": begin_date,
                "endDate": end_date,
            },
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def acknowledge(self, alarm_id: str, *, group_id: str, comment: str | None = None) -> m.Alarm:
        """Acknowledge an alarm.

        Says that somebody cares about it. One that is acknowledged already stays as it is. One
        with the reason `messagesFailed` is resolved by that.

        `POST /alarm/acknowledge`; needs `notification.write`.
        """
        call: Call[m.Alarm] = Call(
            "POST",
            "/alarm/acknowledge",
            m.Alarm,
            body=encode(m.Acknowledgement(alarm_id=alarm_id, group_id=group_id, comment=comment)),
        )
        return self._transport.request(call)

    def silence(
        self,
        group_id: str,
        *,
        until: When,
        reason: str,
        subgroups: bool | None = None,
        device_ids: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        severity: Literal["critical", "info", "warning"] | None = None,
        from_: When | None = None,
        schedule: Any = None,
        timezone: str | None = None,
    ) -> m.Silence:
        """Silence alarms.

        They are recorded, and nobody is notified of them until it ends; those that are still
        open are sent then, once.

        `POST /alarm/silence`; needs `notification.write`.
        """
        call: Call[m.Silence] = Call(
            "POST",
            "/alarm/silence",
            m.Silence,
            body=encode(
                m.SilenceInput(
                    group_id=group_id,
                    until=until,
                    reason=reason,
                    subgroups=subgroups,
                    device_ids=device_ids,
                    tags=tags,
                    types=types,
                    severity=severity,
                    from_=from_,
                    schedule=schedule,
                    timezone=timezone,
                )
            ),
        )
        return self._transport.request(call)

    def silences(
        self, group_id: str, *, page_size: int | None = None, subgroups: bool | None = None
    ) -> Pages[m.Silence, m.SilenceConnection]:
        """List the silences of a group.

        With of how many alarms each has held messages back; those that end last first. They are
        listed for 30 days after their end.

        `page_size` is how many items one request gets.

        `GET /group/silences`; needs `notification.read`.
        """
        call: Call[m.SilenceConnection] = Call(
            "GET",
            "/group/silences",
            m.SilenceConnection,
            query={"groupId": group_id, "limit": page_size, "subgroups": subgroups},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def end_silence(self, silence_id: str, *, group_id: str) -> m.Silence:
        """End a silence.

        What it has held back is sent within a minute, if the alarm is still open.

        `DELETE /alarm/silence`; needs `notification.write`.
        """
        call: Call[m.Silence] = Call(
            "DELETE",
            "/alarm/silence",
            m.Silence,
            query={"silenceId": silence_id, "groupId": group_id},
        )
        return self._transport.request(call)


class Jobs(_Noun):
    def list(
        self,
        group_id: str,
        *,
        page_size: int | None = None,
        subgroups: bool | None = None,
        state: Literal["cancelled", "failed", "running", "succeeded", "waiting"] | None = None,
    ) -> Pages[m.Job, m.JobConnection]:
        """List the jobs of a group.

        Newest first, with who started them and why; with `subgroups` also those of the groups
        below.

        `page_size` is how many items one request gets.

        `GET /jobs`; needs `device.read`.
        """
        call: Call[m.JobConnection] = Call(
            "GET",
            "/jobs",
            m.JobConnection,
            query={"groupId": group_id, "limit": page_size, "subgroups": subgroups, "state": state},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def get(self, job_id: str, *, group_id: str) -> m.Job:
        """Get a job and its progress.

        `GET /job`; needs `device.read`.
        """
        call: Call[m.Job] = Call(
            "GET", "/job", m.Job, query={"jobId": job_id, "groupId": group_id}, is_repeatable=True
        )
        return self._transport.request(call)

    def start(
        self,
        kind: Literal[
            "configuration",
            "delete",
            "export",
            "redecode",
            "replay",
            "resend",
            "tag",
            "transfer",
            "type",
        ],
        *,
        group_id: str,
        device_ids: Sequence[str] | None = None,
        filter: m.JobFilter | None = None,
        parameters: m.JobParameters | None = None,
        reason: str | None = None,
        dry_run: bool | None = None,
    ) -> m.JobReturn:
        """Start a job.

        It works in the background, in small steps, with the permissions that its starter has at
        each step; see `GET /job`. With `dryRun` nothing is started: the response has the number
        of devices and some of them. `filter` is evaluated when a device is reached; devices
        that are created later are not part of the job.

        `POST /job`; needs `device.read`.
        """
        call: Call[m.JobReturn] = Call(
            "POST",
            "/job",
            m.JobReturn,
            body=encode(
                m.JobInput(
                    kind=kind,
                    group_id=group_id,
                    device_ids=device_ids,
                    filter=filter,
                    parameters=parameters,
                    reason=reason,
                    dry_run=dry_run,
                )
            ),
        )
        return self._transport.request(call)

    def items(
        self,
        job_id: str,
        *,
        group_id: str,
        page_size: int | None = None,
        outcome: Literal["changed", "failed", "skipped", "undone"] | None = None,
    ) -> Pages[m.JobItem, m.JobItemConnection]:
        """List what a job did with single devices.

        In the order in which they were processed. Those that were changed are listed as long as
        the job can be undone; of those that were skipped or failed, the first 10,000. Devices
        for which there was nothing to change are only counted.

        `page_size` is how many items one request gets.

        `GET /job/items`; needs `device.read`.
        """
        call: Call[m.JobItemConnection] = Call(
            "GET",
            "/job/items",
            m.JobItemConnection,
            query={"jobId": job_id, "groupId": group_id, "limit": page_size, "outcome": outcome},
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def result(self, job_id: str, *, group_id: str) -> Iterator[bytes]:
        """Get the file of an export.

        For 24 hours after the end of the job, for everybody who may export the same; of the
        audit log, for whoever has started the job.

        `GET /job/result`; needs `device.read`.
        """
        call: Call[bytes] = Call(
            "GET",
            "/job/result",
            bytes,
            query={"jobId": job_id, "groupId": group_id},
            is_repeatable=True,
        )
        return self._stream(call)

    def delete_result(self, job_id: str, *, group_id: str) -> m.Job:
        """Delete the file of an export before it expires.

        It makes room for others. A job without a file is unchanged.

        `DELETE /job/result`; needs `device.read`.
        """
        call: Call[m.Job] = Call(
            "DELETE", "/job/result", m.Job, query={"jobId": job_id, "groupId": group_id}
        )
        return self._transport.request(call)

    def cancel(self, job_id: str, *, group_id: str) -> m.Job:
        """Cancel a job.

        What it has done stays done, and can be undone; messages that a resend or replay has
        queued are still sent, see `POST /connector/messages/cancel`. A job that has ended is
        unchanged.

        `POST /job/cancel`; needs `device.read`.
        """
        call: Call[m.Job] = Call(
            "POST", "/job/cancel", m.Job, body=encode(m.JobRef(job_id=job_id, group_id=group_id))
        )
        return self._transport.request(call)

    def undo(self, job_id: str, *, group_id: str, reason: str | None = None) -> m.Job:
        """Undo a job.

        For 24 hours after its end. The undo is a job as well, which is returned. It skips
        devices that were changed since, and lists them with `GET /job/items`.

        `POST /job/undo`; needs `device.read`.
        """
        call: Call[m.Job] = Call(
            "POST",
            "/job/undo",
            m.Job,
            body=encode(m.JobUndo(job_id=job_id, group_id=group_id, reason=reason)),
        )
        return self._transport.request(call)


class Audit(_Noun):
    def list(
        self,
        group_id: str,
        *,
        page_size: int | None = None,
        subgroups: bool | None = None,
        object_id: str | None = None,
        actor_id: str | None = None,
        action: str | None = None,
        request_id: str | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
    ) -> Pages[m.AuditEntry, m.AuditEntryConnection]:
        """List the audit log of a group.

        Every change in the group, newest first: who made it, in which request, and what the
        changed fields were before and after. Operators also see the address of the caller. A
        page with filters reads 2,000 entries at most, so it can be short, or empty, and still
        have a `nextToken`.

        `page_size` is how many items one request gets.

        `GET /group/audit`; needs `audit.read`.
        """
        call: Call[m.AuditEntryConnection] = Call(
            "GET",
            "/group/audit",
            m.AuditEntryConnection,
            query={
                "groupId": group_id,
                "limit": page_size,
                "subgroups": subgroups,
                "objectId": object_id,
                "actorId": actor_id,
                "action": action,
                "requestId": request_id,
                "beginDate": begin_date,
                "endDate": end_date,
            },
            is_repeatable=True,
        )
        return Pages(self._transport, call, lambda page: page.items)

    def export(
        self,
        group_id: str,
        *,
        subgroups: bool | None = None,
        object_id: str | None = None,
        actor_id: str | None = None,
        action: str | None = None,
        request_id: str | None = None,
        begin_date: When | None = None,
        end_date: When | None = None,
        format: Literal["csv", "ndjson"] | None = None,
        after: str | None = None,
    ) -> Iterator[bytes]:
        """Export the audit log of a group.

        With the filters of its list, newest first.

        `GET /group/audit/export`; needs `audit.read`.
        """
        call: Call[bytes] = Call(
            "GET",
            "/group/audit/export",
            bytes,
            query={
                "groupId": group_id,
                "subgroups": subgroups,
                "objectId": object_id,
                "actorId": actor_id,
                "action": action,
                "requestId": request_id,
                "beginDate": begin_date,
                "endDate": end_date,
                "format": format,
                "after": after,
            },
            is_repeatable=True,
        )
        return self._stream(call)


class Networks(_Noun):
    def vendor_data(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Take a message of the vendor's network: data.

        The device is looked up by the network's own id, in the group of the token or below it.
        The response is sent once the records are committed; the same message sent again is
        stored once. Without a body, the message is read from the query.

        `POST /network/vendor/data`.
        """
        call: Call[dict[str, Any]] = Call(
            "POST", "/network/vendor/data", dict[str, Any], body=encode(message), is_repeatable=True
        )
        return self._transport.request(call)

    def vendor_data_advanced(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Take a message of the vendor's network: dataAdvanced.

        The device is looked up by the network's own id, in the group of the token or below it.
        The response is sent once the records are committed; the same message sent again is
        stored once. Without a body, the message is read from the query.

        `POST /network/vendor/dataAdvanced`.
        """
        call: Call[dict[str, Any]] = Call(
            "POST",
            "/network/vendor/dataAdvanced",
            dict[str, Any],
            body=encode(message),
            is_repeatable=True,
        )
        return self._transport.request(call)

    def vendor_status(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Take a message of the vendor's network: status.

        The device is looked up by the network's own id, in the group of the token or below it.
        The response is sent once the records are committed; the same message sent again is
        stored once. Without a body, the message is read from the query.

        `POST /network/vendor/status`.
        """
        call: Call[dict[str, Any]] = Call(
            "POST",
            "/network/vendor/status",
            dict[str, Any],
            body=encode(message),
            is_repeatable=True,
        )
        return self._transport.request(call)

    def vendor_acknowledge(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Take a message of the vendor's network: acknowledge.

        The device is looked up by the network's own id, in the group of the token or below it.
        The response is sent once the records are committed; the same message sent again is
        stored once. Without a body, the message is read from the query.

        `POST /network/vendor/acknowledge`.
        """
        call: Call[dict[str, Any]] = Call(
            "POST",
            "/network/vendor/acknowledge",
            dict[str, Any],
            body=encode(message),
            is_repeatable=True,
        )
        return self._transport.request(call)

    def vendor_error(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Take a message of the vendor's network: error.

        The device is looked up by the network's own id, in the group of the token or below it.
        The response is sent once the records are committed; the same message sent again is
        stored once. Without a body, the message is read from the query.

        `POST /network/vendor/error`.
        """
        call: Call[dict[str, Any]] = Call(
            "POST",
            "/network/vendor/error",
            dict[str, Any],
            body=encode(message),
            is_repeatable=True,
        )
        return self._transport.request(call)

    def chirpstack(
        self,
        event: Literal["ack", "integration", "join", "location", "log", "status", "txack", "up"],
        *,
        message: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Take an event of ChirpStack's HTTP integration.

        The device is looked up by the network's own id, in the group of the token or below it.
        The response is sent once the records are committed; the same message sent again is
        stored once. Without a body, the message is read from the query.

        `POST /network/chirpstack`.
        """
        call: Call[dict[str, Any]] = Call(
            "POST",
            "/network/chirpstack",
            dict[str, Any],
            query={"event": event},
            body=encode(message),
            is_repeatable=True,
        )
        return self._transport.request(call)

    def ttn(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Take a message of a webhook of The Things Stack.

        The device is looked up by the network's own id, in the group of the token or below it.
        The response is sent once the records are committed; the same message sent again is
        stored once. Without a body, the message is read from the query.

        `POST /network/ttn`.
        """
        call: Call[dict[str, Any]] = Call(
            "POST", "/network/ttn", dict[str, Any], body=encode(message), is_repeatable=True
        )
        return self._transport.request(call)

    def loriot(
        self, message: Mapping[str, Any], *, encoding: Literal["base64", "hex"] | None = None
    ) -> dict[str, Any]:
        """Take a message of an HTTP output of LORIOT.

        The device is looked up by the network's own id, in the group of the token or below it.
        The response is sent once the records are committed; the same message sent again is
        stored once. Without a body, the message is read from the query.

        `POST /network/loriot`.
        """
        call: Call[dict[str, Any]] = Call(
            "POST",
            "/network/loriot",
            dict[str, Any],
            query={"encoding": encoding},
            body=encode(message),
            is_repeatable=True,
        )
        return self._transport.request(call)

    def thingpark(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Take a report of ThingPark's network server.

        The device is looked up by the network's own id, in the group of the token or below it.
        The response is sent once the records are committed; the same message sent again is
        stored once. Without a body, the message is read from the query.

        `POST /network/thingpark`.
        """
        call: Call[dict[str, Any]] = Call(
            "POST", "/network/thingpark", dict[str, Any], body=encode(message), is_repeatable=True
        )
        return self._transport.request(call)


class Nouns:
    def __init__(self, transport: Transport) -> None:
        self.groups = Groups(transport)
        self.members = Members(transport)
        self.measurements = Measurements(transport)
        self.roles = Roles(transport)
        self.permissions = Permissions(transport)
        self.users = Users(transport)
        self.app_clients = AppClients(transport)
        self.devices = Devices(transport)
        self.unknown_devices = UnknownDevices(transport)
        self.device_types = DeviceTypes(transport)
        self.downlinks = Downlinks(transport)
        self.data = Data(transport)
        self.events = Events(transport)
        self.geolocations = Geolocations(transport)
        self.telemetry = Telemetry(transport)
        self.records = Records(transport)
        self.connectors = Connectors(transport)
        self.messages = Messages(transport)
        self.replays = Replays(transport)
        self.notifications = Notifications(transport)
        self.contact_points = ContactPoints(transport)
        self.reports = Reports(transport)
        self.shares = Shares(transport)
        self.alarms = Alarms(transport)
        self.jobs = Jobs(transport)
        self.audit = Audit(transport)
        self.networks = Networks(transport)
