// The nouns of the client, and their methods. Made by scripts/generate.py; do not edit.
import type * as m from "./models.js";
import { Pages } from "./pages.js";
import type { Call, Transport, When } from "./transport.js";

type Values = Record<string, unknown>;

// The query and the body of an operation that has both.
function split(given: Values, inQuery: readonly string[]): { query: Values; body: Values } {
  const parts = { query: {} as Values, body: {} as Values };
  for (const [name, value] of Object.entries(given))
    parts[inQuery.includes(name) ? "query" : "body"][name] = value;
  return parts;
}

function renamed(given: Values, names: Record<string, string>): Values {
  const pairs = Object.entries(given).map(([name, value]) => [names[name] ?? name, value]);
  return Object.fromEntries(pairs) as Values;
}

class Noun {
  constructor(protected readonly transport: Transport) {}

  // The response is an array with one item.
  protected async one<T>(call: Call): Promise<T> {
    const [found] = await this.transport.request<[T]>(call);
    return found;
  }
}

export class GroupsNoun extends Noun {
  /**
   * List the groups of a user.
   *
   * Direct memberships and inherited ones, as far as the caller can see them; the caller's own
   * without `userId`. `groupId` restricts the list to that group and those below it.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `userId`: Whose groups; the caller's when left out.
   *
   * - `groupId`: Only this group and those below it.
   *
   * `GET /user/groups`.
   */
  list(options: { limit?: number; userId?: string; groupId?: string } = {}): Pages<m.Group, m.GroupConnection> {
    return new Pages(this.transport, { method: "GET", path: "/user/groups", isRepeatable: true, query: { ...options } }, "items");
  }

  /**
   * List groups as a tree.
   *
   * Those directly below `parentId`; without it, the topmost groups in which the caller has
   * `group.read`, for operators all root groups. With `q`, all groups with that text in their name
   * that the caller can see, below `parentId` if given. By name.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `parentId`: The groups below this one; else the topmost groups.
   *
   * - `q`: A part of the name, or the id, of groups at any depth; case-insensitive.
   *
   * `GET /groups`; needs `group.read`.
   */
  tree(options: { limit?: number; parentId?: string; q?: string } = {}): Pages<m.TreeGroup, m.GroupTree> {
    return new Pages(this.transport, { method: "GET", path: "/groups", isRepeatable: true, query: { ...options } }, "items");
  }

  /**
   * Get a group.
   *
   * The response is an array with the group as its only element.
   *
   * `GET /group`; needs `group.read`.
   */
  get(groupId: string): Promise<m.Group> {
    return this.one({ method: "GET", path: "/group", isRepeatable: true, query: { groupId } });
  }

  /**
   * Create a group.
   *
   * The caller becomes its owner and Administrator. An app client can create groups only below its
   * own; the owner of the parent then owns them. There are at most 16 levels.
   *
   * - `parentId`: The parent group; without it a root group is created.
   *
   * - `description`: A text about it, for people.
   *
   * - `tags`: Free words to find it by.
   *
   * `POST /group`; needs `group.create`.
   */
  create(name?: string, options: { parentId?: string; description?: string; tags?: string[] } = {}): Promise<m.Group> {
    return this.transport.request({ method: "POST", path: "/group", isRepeatable: false, ...split({ name, ...options }, ["parentId"]) });
  }

  /**
   * Update a group.
   *
   * `parent` moves it with its subtree (an empty string makes it a root group). This requires
   * `group.update` in the parent that it leaves, `group.create` in the new one, and all
   * permissions of an Administrator in the group; only its owner moves a root group. `ownerId`
   * transfers ownership, `roleId` sets the default role.
   *
   * - `ownerId`: The new owner, a member; only the owner can transfer ownership.
   *
   * - `name`: The new name.
   *
   * - `roleId`: The id of the new default role.
   *
   * - `description`: A text about it, for people.
   *
   * - `parent`: The id of the new parent; `""` makes it a root group.
   *
   * - `tags`: Free words to find it by.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `PUT /group`; needs `group.update`.
   */
  update(groupId: string, options: { ownerId?: string; name?: string; roleId?: string; description?: string; parent?: string; tags?: string[]; ifUpdatedAt?: When } = {}): Promise<m.Group> {
    return this.transport.request({ method: "PUT", path: "/group", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Delete a group.
   *
   * An empty group (no subgroups, devices, connectors or notifications) is deleted at once. With
   * `recursive=true` any group is: after a grace period, at `deletionAt`, it is deleted with its
   * subgroups, devices, records, connectors, notifications, app clients, memberships, and the
   * custom roles that are used nowhere else. Messages that wait for delivery are not sent any
   * more. Until then everything works, and `POST /group/restore` cancels it. Requires
   * `group.update` in the parent, too, and all permissions of an Administrator; only its owner
   * deletes a root group.
   *
   * - `recursive`: Delete it with everything in it, after a grace period.
   *
   * `DELETE /group`; needs `group.update`.
   */
  delete(groupId: string, options: { recursive?: boolean } = {}): Promise<m.Group> {
    return this.transport.request({ method: "DELETE", path: "/group", isRepeatable: false, query: { groupId, ...options } });
  }

  /**
   * Cancel the deletion of a group.
   *
   * Until `deletionAt`; after that, nothing can be restored. Requires what deleting the group
   * does.
   *
   * `POST /group/restore`; needs `group.update`.
   */
  restore(groupId: string): Promise<m.Group> {
    return this.transport.request({ method: "POST", path: "/group/restore", isRepeatable: false, body: { groupId } });
  }

  /**
   * Accept an invitation.
   *
   * Other members see the caller's name from then on, and the group may send them mail. Any other
   * change in the group accepts as well, but no GET. Leaving the group declines.
   *
   * `POST /group/accept`.
   */
  accept(groupId: string): Promise<m.Group> {
    return this.transport.request({ method: "POST", path: "/group/accept", isRepeatable: false, body: { groupId } });
  }

  /**
   * Get the configuration policy of a group.
   *
   * `GET /group/configuration`; needs `device.read`.
   */
  configuration(groupId: string): Promise<m.ConfigurationPolicy> {
    return this.transport.request({ method: "GET", path: "/group/configuration", isRepeatable: true, query: { groupId } });
  }

  /**
   * Set the configuration policy of a group.
   *
   * It is what the configuration of every device in the group and below should contain: a JSON
   * merge patch of at most 8,192 characters, 200 values and 16 levels. Policies of groups further
   * down, and what a device has of its own, go before it.
   *
   * - `policy`: A JSON merge patch (RFC 7396): null removes a member. Empty: no policy.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `PUT /group/configuration`; needs `group.update`.
   */
  setConfiguration(groupId: string, options: { policy: Record<string, unknown>; ifUpdatedAt?: When }): Promise<m.ConfigurationPolicy> {
    return this.transport.request({ method: "PUT", path: "/group/configuration", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * List the devices of a group that drift.
   *
   * Those that report another configuration in their data records than they should have, by group
   * and in the order of their creation; at most 100 a page.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `subgroups`: Include the groups below.
   *
   * `GET /group/drift`; needs `device.read`.
   */
  drift(groupId: string, options: { limit?: number; subgroups?: boolean } = {}): Pages<m.DriftingDevice, m.DriftingDeviceConnection> {
    return new Pages(this.transport, { method: "GET", path: "/group/drift", isRepeatable: true, query: { groupId, ...options } }, "items");
  }

  /**
   * List the last positions of devices.
   *
   * Of each device of the group that has one: that of its newest geolocation since it is in the
   * group. In no particular order.
   *
   * - `subgroups`: With all groups below it.
   *
   * - `box`: `west,south,east,north` in degrees; a box whose west is greater than its east
   * contains the 180th meridian.
   *
   * - `since`: Only positions of this time or later.
   *
   * - `limit`: The maximum number of positions per page; 10,000 if left out.
   *
   * `GET /group/positions`; needs `record.read`.
   */
  positions(groupId: string, options: { subgroups?: boolean; box?: string; since?: When; limit?: number } = {}): Pages<(string | number | null)[], m.Positions> {
    return new Pages(this.transport, { method: "GET", path: "/group/positions", isRepeatable: true, query: { groupId, ...options } }, "items");
  }

  /**
   * Get the overview of a group.
   *
   * How many devices and connectors there are, and what needs attention. Counted every five
   * seconds at most.
   *
   * - `subgroups`: With all groups below it.
   *
   * `GET /group/overview`; needs `metrics.read`.
   */
  overview(groupId: string, options: { subgroups?: boolean } = {}): Promise<m.GroupOverview> {
    return this.transport.request({ method: "GET", path: "/group/overview", isRepeatable: true, query: { groupId, ...options } });
  }

  /**
   * Get the metrics of a group.
   *
   * Counted on arrival, in the same transaction; deleting does not lower a counter. The items
   * cover the period from `beginDate` without gaps, `timeSpan` seconds each.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * - `timeSpan`: Seconds per item; 3600 by default.
   *
   * - `subgroups`: Include the groups below.
   *
   * `GET /group/metrics`; needs `metrics.read`.
   */
  metrics(groupId: string, options: { beginDate: When; endDate: When; timeSpan?: number; subgroups?: boolean }): Promise<m.GroupMetrics> {
    return this.transport.request({ method: "GET", path: "/group/metrics", isRepeatable: true, query: { groupId, ...options } });
  }

  /**
   * Get the limits of a group.
   *
   * What the operator limits, how long records are kept, and what is stored: the group's own
   * values, and what holds, which may be from a group above it or from the service's settings.
   *
   * `GET /group/limits`; needs `group.read`.
   */
  limits(groupId: string): Promise<m.GroupLimits> {
    return this.transport.request({ method: "GET", path: "/group/limits", isRepeatable: true, query: { groupId } });
  }

  /**
   * Set the limits of a group.
   *
   * For the group with all groups below it, in place of those it has; a limit that is left out is
   * that of the service. Limits further up hold as well. By operators.
   *
   * - `limits`: All limits of this group's own.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `PUT /group/limits`; needs `group.limit`.
   */
  setLimits(groupId: string, options: { limits: m.OperatorLimits; ifUpdatedAt?: When }): Promise<m.GroupLimits> {
    return this.transport.request({ method: "PUT", path: "/group/limits", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Set how long a group keeps records.
   *
   * For the group and all groups below it that do not say otherwise, in place of what it says now;
   * what is left out is as further up, or as the service has it, and nothing is kept for longer
   * than the operator allows. What has expired is not shown any more at once, and deleted after a
   * day.
   *
   * - `retentionDays`: All that the group says itself.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `PUT /group/retention`; needs `group.update`.
   */
  setRetention(groupId: string, options: { retentionDays: m.RetentionDays; ifUpdatedAt?: When }): Promise<m.GroupLimits> {
    return this.transport.request({ method: "PUT", path: "/group/retention", isRepeatable: false, body: { groupId, ...options } });
  }
}

export class MembersNoun extends Noun {
  /**
   * List the members of a group.
   *
   * Direct members only, in the order they joined, each with their role. Of those who have not
   * accepted their invitation yet, `email` is the address that was invited, `createdAt` the time
   * of the invitation, and there is no name and no `seenAt`.
   *
   * - `limit`: The maximum number of items per page.
   *
   * `GET /group/users`; needs `member.read`.
   */
  list(groupId: string, options: { limit?: number } = {}): Pages<m.PublicUser, m.UserConnection> {
    return new Pages(this.transport, { method: "GET", path: "/group/users", isRepeatable: true, query: { groupId, ...options } }, "items");
  }

  /**
   * Invite a user to a group.
   *
   * By e-mail address; the response does not reveal whether the user exists. The role can contain
   * only permissions that the caller has. It counts at once; but until the person accepts, by the
   * link in the mail or by a request that names the group, others see only this address of them,
   * and the group sends them nothing but the invitation. Where no mail can be sent, the response
   * has the link, to hand it over. To send another one, invite them again; 429 if the group has
   * sent as many mails as it may in an hour, or this address was sent ten invitations.
   *
   * - `email`: An e-mail address.
   *
   * - `roleId`: The role that they get.
   *
   * - `language`: Of the mail, and of the user if there is none with this address yet; by default
   * the caller's. A user who has chosen one is written to in that.
   *
   * `PUT /group/invite`; needs `member.write`.
   */
  invite(groupId: string, options: { email: string; roleId: string; language?: m.Language }): Promise<m.GroupUserRelation> {
    return this.transport.request({ method: "PUT", path: "/group/invite", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Change the role of a member.
   *
   * Neither the old nor the new role may have permissions that the caller lacks. `ifUpdatedAt` is
   * the `membershipUpdatedAt` of the list of members.
   *
   * - `groupId`: The id of the group.
   *
   * - `roleId`: The new role of the member.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `PUT /group/user`; needs `member.write`.
   */
  update(userId: string, options: { groupId: string; roleId: string; ifUpdatedAt?: When }): Promise<m.GroupUserRelation> {
    return this.transport.request({ method: "PUT", path: "/group/user", isRepeatable: false, body: { userId, ...options } });
  }

  /**
   * Remove a member from a group, or leave it.
   *
   * Without `userId` the caller leaves. The response is the former membership.
   *
   * - `userId`: Who is removed; by default the caller.
   *
   * `DELETE /group/user`; needs `member.write`.
   */
  remove(groupId: string, options: { userId?: string } = {}): Promise<m.GroupUserRelation> {
    return this.transport.request({ method: "DELETE", path: "/group/user", isRepeatable: false, query: { groupId, ...options } });
  }
}

export class MeasurementsNoun extends Noun {
  /**
   * List the measurements of a group's devices.
   *
   * What is declared of each device type, for the group, above it or for all, and numbers that
   * were found in records of its devices.
   *
   * - `subgroups`: Those of all groups below it, too.
   *
   * `GET /group/measurements`; needs `record.read`.
   */
  list(groupId: string, options: { subgroups?: boolean } = {}): Promise<m.GroupMeasurements> {
    return this.transport.request({ method: "GET", path: "/group/measurements", isRepeatable: true, query: { groupId, ...options } });
  }

  /**
   * Get numbers of a group's devices over time, as one.
   *
   * For each span one number of each device, such as its mean or what its counter rose (`of`), and
   * of these one of all devices (`combine`), with how many devices had one. Records that a device
   * stored while it was in another group do not count. Spans and formats are those of `GET
   * /device/series`.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * - `timeSpan`: Seconds per point; by default what gives at most 200 points of a device.
   *
   * - `calendarSpan`: Instead of `timeSpan`; a week begins on Monday.
   *
   * - `timezone`: Whose days `calendarSpan` counts: a name of the IANA database; by default `UTC`.
   *
   * - `format`: `csv`, `ndjson`, `table`, a JSON array, and `parquet`, which the operator may not
   * have installed, have one flat row for each point, as spreadsheets and Grafana read it.
   *
   * - `fresh`: Wait until everything is counted that had arrived before the request, however many
   * records have to be read for it.
   *
   * - `measurement`: The name of the measurement.
   *
   * - `subgroups`: With all groups below it.
   *
   * - `of`: What of each device's numbers in a span counts; by default `increase` of a counter,
   * `sum` of an amount, else `mean`.
   *
   * - `combine`: How these become one number: `mean` is over devices, `count` their number,
   * `percentile` needs that parameter, and `none` gives a series of each device. By default `sum`
   * of sums, counts and increases, else `mean`.
   *
   * - `percentile`: From 0 to 100.
   *
   * - `type`: Only devices of a type.
   *
   * - `tags`: Only devices that have each of them.
   *
   * - `deviceId`: Only these.
   *
   * `GET /group/series`; needs `record.read`.
   */
  series(groupId: string, options: { beginDate?: When; endDate?: When; timeSpan?: number; calendarSpan?: m.CalendarSpan; timezone?: string; format?: m.SeriesFormat; fresh?: boolean; measurement: string; subgroups?: boolean; of?: m.SeriesAggregate; combine?: m.SeriesCombination; percentile?: number; type?: string; tags?: string[]; deviceId?: string[] }): Promise<m.GroupSeries | m.GroupPoint[] | m.MemberRow> {
    return this.one({ method: "GET", path: "/group/series", isRepeatable: true, query: { groupId, ...options } });
  }

  /**
   * Get the current values of a device.
   *
   * The newest value of each measurement by the time of its record, since the device is in its
   * group. Of records that arrive late nothing changes but what has no newer value.
   *
   * `GET /device/values`; needs `record.read`.
   */
  values(deviceId: string): Promise<m.DeviceValues> {
    return this.transport.request({ method: "GET", path: "/device/values", isRepeatable: true, query: { deviceId } });
  }
}

export class RolesNoun extends Noun {
  /**
   * List roles.
   *
   * The built-in roles, those created by the caller, and those used in groups where the caller has
   * `role.read`.
   *
   * - `limit`: The maximum number of items per page.
   *
   * `GET /group/roles`; needs `role.read`.
   */
  list(options: { limit?: number } = {}): Pages<m.Role, m.RoleConnection> {
    return new Pages(this.transport, { method: "GET", path: "/group/roles", isRepeatable: true, query: { ...options } }, "items");
  }

  /**
   * Create a role.
   *
   * It can contain only permissions that the caller has in a group where it has `role.write`.
   * `permissions` is one string of ids, separated by commas or spaces; a list is accepted as well.
   *
   * - `description`: What the role is for.
   *
   * - `permissions`: Ids of permissions, in one string, separated by commas or spaces; a list is
   * taken, too.
   *
   * `POST /role`; needs `role.write`.
   */
  create(name: string, options: { description: string; permissions: string }): Promise<m.Role> {
    return this.transport.request({ method: "POST", path: "/role", isRepeatable: false, body: { name, ...options } });
  }

  /**
   * Update a role.
   *
   * The change applies to everyone with the role. All groups that use it must be at or below
   * `groupId`. Added permissions must be held by the caller.
   *
   * - `groupId`: A group in which the caller may change roles.
   *
   * - `name`: The new name.
   *
   * - `description`: A text about it, for people.
   *
   * - `permissions`: Ids of permissions.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `PUT /role`; needs `role.write`.
   */
  update(roleId: string, options: { groupId: string; name?: string; description?: string; permissions?: string[]; ifUpdatedAt?: When }): Promise<m.Role> {
    return this.transport.request({ method: "PUT", path: "/role", isRepeatable: false, body: { roleId, ...options } });
  }

  /**
   * Delete a role.
   *
   * The user `userId`, if they have it in the group, gets the group's default role. A role that
   * anyone else has cannot be deleted.
   *
   * - `groupId`: A group in which the caller may change roles.
   *
   * - `userId`: Who gets the default role of the group, if they have this role in it.
   *
   * `DELETE /role`; needs `role.write`.
   */
  delete(roleId: string, options: { groupId: string; userId: string }): Promise<m.Role> {
    return this.transport.request({ method: "DELETE", path: "/role", isRepeatable: false, query: { roleId, ...options } });
  }
}

export class PermissionsNoun extends Noun {
  /**
   * List all permissions.
   *
   * - `limit`: The maximum number of items per page.
   *
   * `GET /permission`.
   */
  list(options: { limit?: number } = {}): Pages<m.Permission, m.PermissionConnection> {
    return new Pages(this.transport, { method: "GET", path: "/permission", isRepeatable: true, query: { ...options } }, "items");
  }

  /**
   * Create a permission.
   *
   * Administrators have it at once; other roles when it is added to them.
   *
   * - `name`: The name of the permission.
   *
   * - `description`: What it allows.
   *
   * `POST /permission`; needs `permission.write`.
   */
  create(permissionId: string, options: { name: string; description: string }): Promise<m.Permission> {
    return this.transport.request({ method: "POST", path: "/permission", isRepeatable: false, body: { permissionId, ...options } });
  }

  /**
   * Update a permission's name and description.
   *
   * - `name`: The name of the permission.
   *
   * - `description`: What it allows.
   *
   * `PUT /permission`; needs `permission.write`.
   */
  update(permissionId: string, options: { name: string; description: string }): Promise<m.Permission> {
    return this.transport.request({ method: "PUT", path: "/permission", isRepeatable: false, body: { permissionId, ...options } });
  }

  /**
   * Delete a permission.
   *
   * It is removed from every role. Built-in permissions cannot be deleted.
   *
   * `DELETE /permission`; needs `permission.write`.
   */
  delete(permissionId: string): Promise<m.Permission> {
    return this.transport.request({ method: "DELETE", path: "/permission", isRepeatable: false, query: { permissionId } });
  }

  /**
   * Explain why something is allowed or denied.
   *
   * The path shows the groups that the caller has access to, for another user those in which the
   * caller has `member.read`, and the roles there. `askable` are members of these groups with
   * `member.write` who have the permission themselves, where the caller has `member.read`.
   *
   * - `permission`: The id of a permission.
   *
   * - `userId`: Whose; the caller's when left out.
   *
   * `GET /access`.
   */
  explain(groupId: string, options: { permission: string; userId?: string }): Promise<m.Access> {
    return this.transport.request({ method: "GET", path: "/access", isRepeatable: true, query: { groupId, ...options } });
  }
}

export class UsersNoun extends Noun {
  /**
   * Get the caller's own user.
   *
   * 403 for an app client.
   *
   * `GET /user/me`.
   */
  me(): Promise<m.User> {
    return this.transport.request({ method: "GET", path: "/user/me", isRepeatable: true });
  }

  /**
   * Get a user.
   *
   * The full form for the caller, and the public form for members of groups in which the caller
   * has `member.read`.
   *
   * `GET /user`; needs `member.read`.
   */
  get(userId: string): Promise<m.User | m.PublicUser> {
    return this.transport.request({ method: "GET", path: "/user", isRepeatable: true, query: { userId } });
  }

  /**
   * List users.
   *
   * The members of all groups in which the caller has `member.read`, each once and without a role;
   * for operators all users.
   *
   * - `limit`: The maximum number of items per page.
   *
   * `GET /users`; needs `member.read`.
   */
  list(options: { limit?: number } = {}): Pages<m.PublicUser, m.UserConnection> {
    return new Pages(this.transport, { method: "GET", path: "/users", isRepeatable: true, query: { ...options } }, "items");
  }

  /**
   * Create a user.
   *
   * The user belongs to no group and has no credentials; the operator issues those.
   *
   * - `lastName`: The last name.
   *
   * - `firstname`: The first name; with a small n in this request only.
   *
   * - `language`: In which the service writes to them; English for none.
   *
   * `POST /user`; needs `user.create`.
   */
  create(email: string, options: { lastName: string; firstname?: string; language?: m.Language }): Promise<m.User> {
    return this.transport.request({ method: "POST", path: "/user", isRepeatable: false, body: { email, ...options } });
  }

  /**
   * Update the caller's own user.
   *
   * - `gender`: As the user writes it.
   *
   * - `name`: What the user is called.
   *
   * - `firstName`: The first name.
   *
   * - `lastName`: The last name.
   *
   * - `language`: In which the service writes to them; English for none.
   *
   * `PUT /user`.
   */
  updateMe(options: { gender?: string; name?: string; firstName?: string; lastName?: string; language?: m.Language } = {}): Promise<m.User> {
    return this.transport.request({ method: "PUT", path: "/user", isRepeatable: false, body: { ...options } });
  }

  /**
   * Register a push token.
   *
   * A token registered by another user is moved to the caller.
   *
   * - `deviceName`: What the user calls the phone or browser.
   *
   * `PUT /user/vendorToken`.
   */
  addPushToken(token: string, options: { deviceName?: string } = {}): Promise<m.VendorToken> {
    return this.transport.request({ method: "PUT", path: "/user/vendorToken", isRepeatable: false, body: { token, ...options } });
  }

  /**
   * Delete one of the caller's push tokens.
   *
   * `DELETE /user/vendorToken`.
   */
  deletePushToken(token: string): Promise<m.GenericReturnBoolean> {
    return this.transport.request({ method: "DELETE", path: "/user/vendorToken", isRepeatable: false, query: { token } });
  }
}

export class AppClientsNoun extends Noun {
  /**
   * List the app clients of a group.
   *
   * By name, without their secrets; with `subgroups` also those of the groups below.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `subgroups`: With those of all groups below it.
   *
   * `GET /group/appClients`; needs `appClient.write`.
   */
  list(groupId: string, options: { limit?: number; subgroups?: boolean } = {}): Pages<m.ListedAppClient, m.AppClientConnection> {
    return new Pages(this.transport, { method: "GET", path: "/group/appClients", isRepeatable: true, query: { groupId, ...options } }, "items");
  }

  /**
   * Create an app client for a group.
   *
   * Its id and secret are exchanged for access tokens at the token endpoint. It acts with the role
   * `roleId`, or else with the group's default role; the caller must have the permissions of that
   * role. `description` and `expiration` are optional.
   *
   * - `name`: The name of the app client, which is unique in the group.
   *
   * - `description`: What it is for.
   *
   * - `expiration`: Seconds since 1970.
   *
   * - `roleId`: The role that it acts with. Absent: the default role of the group.
   *
   * `POST /appClient`; needs `appClient.write`.
   */
  create(groupId: string, options: { name: string; description?: string; expiration?: number; roleId?: string }): Promise<m.GroupAppClient> {
    return this.transport.request({ method: "POST", path: "/appClient", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Rename an app client, or change its role.
   *
   * Its secret is unchanged and included in the response, so the caller must have the permissions
   * of its role. Only to change the role, send the name as `newName`. The role counts at once.
   *
   * - `newName`: The new name.
   *
   * - `groupId`: The id of the group.
   *
   * - `roleId`: Empty or null for the group's default role.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `PUT /appClient`; needs `appClient.write`.
   */
  update(name: string, options: { newName: string; groupId: string; roleId?: string; ifUpdatedAt?: When }): Promise<m.UpdateGroupAppClient> {
    return this.transport.request({ method: "PUT", path: "/appClient", isRepeatable: false, body: { name, ...options } });
  }

  /**
   * Delete an app client.
   *
   * `name` is the id of the group. The client's tokens are revoked at once.
   *
   * - `groupId`: The id of the **group**; the interface calls it so.
   *
   * `DELETE /appClient`; needs `appClient.write`.
   */
  delete(appClientId: string, options: { groupId: string }): Promise<m.GenericReturnBoolean> {
    return this.transport.request({ method: "DELETE", path: "/appClient", isRepeatable: false, query: renamed({ appClientId, ...options }, { groupId: "name" }) });
  }
}

export class DevicesNoun extends Noun {
  /**
   * Find devices of a group.
   *
   * By a text and filters, all of which must fit; sorted by creation, name, last seen or battery.
   * A page can have fewer items than `limit` although there are more. `total` is counted for the
   * first page. Or sorted by a current value, with `order`.
   *
   * - `subgroups`: Those of all groups below it, too.
   *
   * - `values`: Current values to show, by the names of their measurements, with commas between
   * them; 20 at most. Needs `record.read`.
   *
   * - `where`: Only devices with such a current value: a measurement, one of `<`, `<=`, `>`, `>=`,
   * `==`, `!=`, and a number, a word or `null`; or `@` and a date, for its time. All must hold.
   * Needs `record.read`.
   *
   * - `order`: Sort by a current value, whatever `sort` is: `value:` and a measurement. Devices
   * without it are last. Needs `record.read`.
   *
   * - `descending`: With `order`: the largest value first.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `sort`: What to sort by. Devices never seen count as seen first, an unknown charge is above
   * all others.
   *
   * - `ascending`: Whether the oldest or smallest come first.
   *
   * - `q`: A part of the name, of the original id or of a tag, or the begin of the id;
   * case-insensitive. First come devices with this id or original id, then those whose name or
   * original id begins with it.
   *
   * - `type`: The device type.
   *
   * - `network`: Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are
   * supported networks, in any case.
   *
   * - `tag`: A tag they have.
   *
   * - `seen`: Last seen within the last hour, day or week, longer ago, never; or silent by what
   * its configuration expects.
   *
   * - `batteryBelow`: Less charge, in percent.
   *
   * `GET /devices`; needs `device.read`.
   */
  list(groupId: string, options: { subgroups?: boolean; values?: string; where?: string[]; order?: string; descending?: boolean; limit?: number; sort?: m.DeviceOrder; ascending?: boolean; q?: string; type?: string; network?: string; tag?: string; seen?: m.SeenWithin; batteryBelow?: number } = {}): Pages<m.Device, m.FoundDevices> {
    return new Pages(this.transport, { method: "GET", path: "/devices", isRepeatable: true, query: { groupId, ...options } }, "items");
  }

  /**
   * Get a device.
   *
   * - `groupId`: If given, it must be the group of the device.
   *
   * `GET /device`; needs `device.read`.
   */
  get(deviceId: string, options: { groupId?: string } = {}): Promise<m.Device> {
    return this.transport.request({ method: "GET", path: "/device", isRepeatable: true, query: { deviceId, ...options } });
  }

  /**
   * Create a device.
   *
   * It gets the default configuration of its type. The original id is unique within its network.
   *
   * - `name`: The name of the device.
   *
   * - `type`: The device type.
   *
   * - `originalId`: The network's own id; case-insensitive. On LoRaWAN networks a DevEUI of 16 hex
   * digits; separators and `0x` are left out.
   *
   * - `network`: Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are
   * supported networks, in any case.
   *
   * - `tags`: Free words to find it by.
   *
   * `POST /device`; needs `device.create`.
   */
  create(groupId: string, options: { name: string; type: string; originalId: string; network: string; tags?: string[] }): Promise<m.Device> {
    return this.transport.request({ method: "POST", path: "/device", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Update a device.
   *
   * Another `originalId` or `network` is how hardware is replaced: the device keeps its id,
   * records and rules, and the old original id is free. Queued downlinks are cancelled.
   *
   * - `groupId`: The id of the group.
   *
   * - `name`: The new name.
   *
   * - `configuration`: The new configuration, any text; a JSON object can be merged with policies.
   *
   * - `tags`: The new tags, in place of the old ones.
   *
   * - `originalId`: The id of the new hardware, in its network.
   *
   * - `network`: The network of the new hardware.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `PUT /device`; needs `device.update`.
   */
  update(deviceId: string, options: { groupId: string; name?: string; configuration?: string; tags?: string[]; originalId?: string; network?: string; ifUpdatedAt?: When }): Promise<m.Device> {
    return this.transport.request({ method: "PUT", path: "/device", isRepeatable: false, body: { deviceId, ...options } });
  }

  /**
   * Delete a device with all its records.
   *
   * - `groupId`: The id of the group that the device belongs to.
   *
   * `DELETE /device`; needs `device.delete`.
   */
  delete(deviceId: string, options: { groupId: string }): Promise<m.Device> {
    return this.transport.request({ method: "DELETE", path: "/device", isRepeatable: false, query: { deviceId, ...options } });
  }

  /**
   * Transfer a device to another group.
   *
   * Its existing records stay with the old group; new ones belong to the new group.
   *
   * - `groupId`: The id of the group that the device is in.
   *
   * - `toGroupId`: The id of the group to transfer to.
   *
   * `PUT /device/transfer`; needs `device.transfer`.
   */
  transfer(deviceId: string, options: { groupId: string; toGroupId: string }): Promise<m.Device> {
    return this.transport.request({ method: "PUT", path: "/device/transfer", isRepeatable: false, body: { deviceId, ...options } });
  }

  /**
   * Change the type of a device.
   *
   * Its configuration is reset to the default of that type.
   *
   * - `groupId`: The id of the group.
   *
   * - `type`: The device type.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `PUT /device/type`; needs `device.update`.
   */
  setType(deviceId: string, options: { groupId: string; type: string; ifUpdatedAt?: When }): Promise<m.Device> {
    return this.transport.request({ method: "PUT", path: "/device/type", isRepeatable: false, body: { deviceId, ...options } });
  }

  /**
   * Get the configuration that a device should have.
   *
   * Merged from the default of its type, the policy of its type, those of its groups from the root
   * down, and what the device has of its own: `values` says where each one is from. What the
   * device has as in the default of its type does not count as its own.
   *
   * - `groupId`: If given, it must be the group of the device.
   *
   * `GET /device/configuration`; needs `device.read`.
   */
  configuration(deviceId: string, options: { groupId?: string } = {}): Promise<m.DeviceConfiguration> {
    return this.transport.request({ method: "GET", path: "/device/configuration", isRepeatable: true, query: { deviceId, ...options } });
  }

  /**
   * Create many devices.
   *
   * Each is named after its original id. All are created, or none.
   *
   * - `originalIds`: The ids of the devices in their network; they are their names, too.
   *
   * - `type`: The device type.
   *
   * - `network`: Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are
   * supported networks, in any case.
   *
   * - `tags`: Free words to find it by.
   *
   * `POST /devices`; needs `device.create`.
   */
  createMany(groupId: string, options: { originalIds: string[]; type: string; network: string; tags?: string[] }): Promise<m.Devices> {
    return this.transport.request({ method: "POST", path: "/devices", isRepeatable: false, body: renamed({ groupId, ...options }, { originalIds: "originalDevicesIds" }) });
  }

  /**
   * Update many devices of a group.
   *
   * All or none; the error names every device that is not in the group. `type` resets the
   * configuration to the default of that type, unless there is a `configuration`, too.
   *
   * - `deviceIds`: Ids of devices.
   *
   * - `addTags`: Tags to add.
   *
   * - `removeTags`: Tags to remove.
   *
   * - `type`: The device type.
   *
   * - `configuration`: The new configuration of each of the devices, any text.
   *
   * `PUT /devices`; needs `device.update`.
   */
  updateMany(groupId: string, options: { deviceIds: string[]; addTags?: string[]; removeTags?: string[]; type?: string; configuration?: string }): Promise<m.Devices> {
    return this.transport.request({ method: "PUT", path: "/devices", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Delete many devices with all their records.
   *
   * All or none; the error names every device that is not in the group.
   *
   * - `deviceIds`: Ids of devices.
   *
   * `POST /devices/delete`; needs `device.delete`.
   */
  deleteMany(groupId: string, options: { deviceIds: string[] }): Promise<m.Devices> {
    return this.transport.request({ method: "POST", path: "/devices/delete", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Transfer many devices to another group.
   *
   * All or none; the error names every device that is not in the group.
   *
   * - `deviceIds`: Ids of devices.
   *
   * - `toGroupId`: The id of the group to transfer to.
   *
   * `PUT /devices/transfer`; needs `device.transfer`.
   */
  transferMany(groupId: string, options: { deviceIds: string[]; toGroupId: string }): Promise<m.Devices> {
    return this.transport.request({ method: "PUT", path: "/devices/transfer", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Create a device and register it at the vendor's network.
   *
   * `input.originalId` is `vendor.id`, `input.network` is `vendor`. The status of the registration
   * is in `information`: `pending`, `registered`, or `failed` with the reason.
   *
   * - `vendor`: Its registration at the vendor's network.
   *
   * `POST /device/vendor`; needs `device.create`.
   */
  createAtVendor(input: m.DeviceInput, options: { vendor: m.VendorInput }): Promise<m.Device> {
    return this.transport.request({ method: "POST", path: "/device/vendor", isRepeatable: false, body: { input, ...options } });
  }

  /**
   * Create many devices and register them at the vendor's network.
   *
   * Each gets the `deviceName` of its registration. All are created, or none; they are registered
   * one by one, and the status of each is in its `information`.
   *
   * - `type`: The device type.
   *
   * - `tags`: Free words to find it by.
   *
   * - `vendor`: The registrations, one for each device.
   *
   * `POST /devices/vendor`; needs `device.create`.
   */
  createManyAtVendor(groupId: string, options: { type: string; tags?: string[]; vendor: m.VendorInput[] }): Promise<m.Devices> {
    return this.transport.request({ method: "POST", path: "/devices/vendor", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Create devices from a CSV file.
   *
   * The first line names the columns: `originalId` is required; `name`, `type`, `network`, `tags`
   * (with `|` between them) and `configuration` are optional. All devices are created, or none;
   * the error names every invalid line. Devices that the group has already are left as they are,
   * so that a file can be sent again. With `dryRun=true` nothing is created, and the response has
   * every error.
   *
   * - `groupId`: The id of the group.
   *
   * - `type`: If a line has no type.
   *
   * - `network`: If a line has no network.
   *
   * - `dryRun`: Whether to check the file without creating anything.
   *
   * `POST /devices/import`; needs `device.create`.
   */
  importCsv(body: string | Uint8Array<ArrayBuffer>, options: { groupId: string; type?: string; network?: string; dryRun?: boolean }): Promise<m.ImportReturn> {
    return this.transport.request({ method: "POST", path: "/devices/import", isRepeatable: true, body, mediaType: "text/csv", query: { ...options } });
  }

  /**
   * Export the devices of a group.
   *
   * With the filters of `GET /devices`, by group and in the order of their creation, or sorted by
   * a current value. A CSV file of an export can be imported; each value in `values` has a column
   * of its own there.
   *
   * - `subgroups`: Those of all groups below it, too.
   *
   * - `values`: Current values to show, by the names of their measurements, with commas between
   * them; 20 at most. Needs `record.read`.
   *
   * - `where`: Only devices with such a current value: a measurement, one of `<`, `<=`, `>`, `>=`,
   * `==`, `!=`, and a number, a word or `null`; or `@` and a date, for its time. All must hold.
   * Needs `record.read`.
   *
   * - `order`: Sort by a current value, whatever `sort` is: `value:` and a measurement. Devices
   * without it are last. Needs `record.read`.
   *
   * - `descending`: With `order`: the largest value first.
   *
   * - `format`: CSV with a header, or one JSON object per line.
   *
   * - `after`: Continue after the row of this id; for an export that was interrupted.
   *
   * - `q`: A part of the name, of the original id or of a tag, or the begin of the id;
   * case-insensitive. First come devices with this id or original id, then those whose name or
   * original id begins with it.
   *
   * - `type`: The device type.
   *
   * - `network`: Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are
   * supported networks, in any case.
   *
   * - `tag`: A tag they have.
   *
   * - `seen`: Last seen within the last hour, day or week, longer ago, never; or silent by what
   * its configuration expects.
   *
   * - `batteryBelow`: Less charge, in percent.
   *
   * `GET /devices/export`; needs `device.read`.
   */
  export(groupId: string, options: { subgroups?: boolean; values?: string; where?: string[]; order?: string; descending?: boolean; format?: m.ExportFormat; after?: string; q?: string; type?: string; network?: string; tag?: string; seen?: m.SeenWithin; batteryBelow?: number } = {}): AsyncGenerator<Uint8Array, void, void> {
    return this.transport.stream({ method: "GET", path: "/devices/export", isRepeatable: true, query: { groupId, ...options } });
  }

  /**
   * List a device's data records.
   *
   * By timestamp, then in order of arrival. `beginDate` is part of the range, `endDate` is not; a
   * date alone as `endDate` means to the end of that day.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * - `ascending`: false for the newest first.
   *
   * - `fields`: Only these members of each record, with commas between them; by default all. In
   * JSON those that every record of its kind has are always there.
   *
   * `GET /device/data`; needs `record.read`.
   */
  data(deviceId: string, options: { limit?: number; beginDate?: When; endDate?: When; ascending?: boolean; fields?: string } = {}): Pages<m.DeviceData, m.DeviceDataConnection> {
    return new Pages(this.transport, { method: "GET", path: "/device/data", isRepeatable: true, query: { deviceId, ...options } }, "items");
  }

  /**
   * List a device's events.
   *
   * By timestamp, then in order of arrival. `beginDate` is part of the range, `endDate` is not; a
   * date alone as `endDate` means to the end of that day.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * - `ascending`: false for the newest first.
   *
   * - `fields`: Only these members of each record, with commas between them; by default all. In
   * JSON those that every record of its kind has are always there.
   *
   * `GET /device/event`; needs `record.read`.
   */
  events(deviceId: string, options: { limit?: number; beginDate?: When; endDate?: When; ascending?: boolean; fields?: string } = {}): Pages<m.DeviceEvent, m.DeviceEventConnection> {
    return new Pages(this.transport, { method: "GET", path: "/device/event", isRepeatable: true, query: { deviceId, ...options } }, "items");
  }

  /**
   * List a device's geolocations.
   *
   * By timestamp, then in order of arrival. `beginDate` is part of the range, `endDate` is not; a
   * date alone as `endDate` means to the end of that day.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * - `ascending`: false for the newest first.
   *
   * - `fields`: Only these members of each record, with commas between them; by default all. In
   * JSON those that every record of its kind has are always there.
   *
   * `GET /device/geoloc`; needs `record.read`.
   */
  geolocations(deviceId: string, options: { limit?: number; beginDate?: When; endDate?: When; ascending?: boolean; fields?: string } = {}): Pages<m.DeviceGeoloc, m.DeviceGeolocConnection> {
    return new Pages(this.transport, { method: "GET", path: "/device/geoloc", isRepeatable: true, query: { deviceId, ...options } }, "items");
  }

  /**
   * List a device's telemetry records.
   *
   * By timestamp, then in order of arrival. `beginDate` is part of the range, `endDate` is not; a
   * date alone as `endDate` means to the end of that day.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * - `ascending`: false for the newest first.
   *
   * - `fields`: Only these members of each record, with commas between them; by default all. In
   * JSON those that every record of its kind has are always there.
   *
   * `GET /device/telemetry`; needs `record.read`.
   */
  telemetry(deviceId: string, options: { limit?: number; beginDate?: When; endDate?: When; ascending?: boolean; fields?: string } = {}): Pages<m.DeviceTelemetry, m.DeviceTelemetryConnection> {
    return new Pages(this.transport, { method: "GET", path: "/device/telemetry", isRepeatable: true, query: { deviceId, ...options } }, "items");
  }
}

export class UnknownDevicesNoun extends Noun {
  /**
   * List unknown devices of a group.
   *
   * What networks, MQTT devices and app clients have sent with the token of the group in the last
   * days about ids that none of its devices has; and messages of its devices that could not be
   * taken. The newest ids first. A message is listed some seconds after it arrived. Of each reason
   * there are at most 200 in a group: half of them those that reported last, half of them those
   * that reported most often.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `subgroups`: With what came with the tokens of the groups below it.
   *
   * `GET /group/unknownDevices`; needs `device.read`.
   */
  list(groupId: string, options: { limit?: number; subgroups?: boolean } = {}): Pages<m.UnknownDevice, m.UnknownDeviceConnection> {
    return new Pages(this.transport, { method: "GET", path: "/group/unknownDevices", isRepeatable: true, query: { groupId, ...options } }, "items");
  }

  /**
   * Create an unknown device, with its last message as its first records.
   *
   * As `POST /device` creates it; in the same transaction the last message that was received of
   * this id becomes records, as if the network had sent it now. 409 if none is kept: use `POST
   * /device`.
   *
   * - `name`: The name of the device.
   *
   * - `type`: The device type.
   *
   * - `originalId`: The network's own id; case-insensitive. On LoRaWAN networks a DevEUI of 16 hex
   * digits; separators and `0x` are left out.
   *
   * - `network`: Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are
   * supported networks, in any case.
   *
   * - `tags`: Free words to find it by.
   *
   * `POST /device/unknown`; needs `device.create`.
   */
  create(groupId: string, options: { name: string; type: string; originalId: string; network: string; tags?: string[] }): Promise<m.Device> {
    return this.transport.request({ method: "POST", path: "/device/unknown", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Dismiss unknown devices.
   *
   * One, those of a network, or all. One that reports again comes back.
   *
   * - `network`: Only those of this network.
   *
   * - `originalId`: Only this id; 404 if it is not among them.
   *
   * - `subgroups`: With those of all groups below it.
   *
   * `DELETE /group/unknownDevices`; needs `device.create`.
   */
  dismiss(groupId: string, options: { network?: string; originalId?: string; subgroups?: boolean } = {}): Promise<m.GenericReturn> {
    return this.transport.request({ method: "DELETE", path: "/group/unknownDevices", isRepeatable: false, query: { groupId, ...options } });
  }
}

export class DeviceTypesNoun extends Noun {
  /**
   * List the device types.
   *
   * Those for all, and those of groups that you belong to, and of groups above and below these. Or
   * those that the devices of a group may have.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `groupId`: Only those that the devices of this group may have.
   *
   * `GET /device/types`.
   */
  list(options: { limit?: number; groupId?: string } = {}): Pages<m.DeviceType, m.DeviceTypeConnection> {
    return new Pages(this.transport, { method: "GET", path: "/device/types", isRepeatable: true, query: { ...options } }, "items");
  }

  /**
   * Get a device type, with the measurements that are declared of it.
   *
   * - `groupId`: Whose measurements; without it those declared for all.
   *
   * `GET /device/type`.
   */
  get(type: string, options: { groupId?: string } = {}): Promise<m.DeviceType> {
    return this.transport.request({ method: "GET", path: "/device/type", isRepeatable: true, query: { type, ...options } });
  }

  /**
   * Get a device type with its codecs and measurements.
   *
   * `GET /device/type/definition`.
   */
  definition(type: string): Promise<m.DeviceTypeDefinition> {
    return this.transport.request({ method: "GET", path: "/device/type/definition", isRepeatable: true, query: { type } });
  }

  /**
   * Create a device type.
   *
   * For all, by an operator; or for a group and those below it, by somebody with `device.update`
   * there: elsewhere nobody sees it or gives it to a device. Codecs are loaded once; one with an
   * error is refused, with its line.
   *
   * - `groupId`: Whose it is, with the groups below; without it, for all.
   *
   * - `displayName`: For people.
   *
   * - `defaultConfiguration`: Of new devices; any text, often JSON.
   *
   * - `battery`: Any text.
   *
   * - `firmwareVersion`: Any text.
   *
   * - `decoder`: `bits`, `cayenneLpp` or `javascript`.
   *
   * - `decoderSource`: The bit format or the codec; Cayenne LPP has none.
   *
   * - `decodedLocation`: Names of the decoded latitude and longitude that become a geolocation.
   *
   * - `encoderSource`: A codec for downlinks, if that of the decoder has none.
   *
   * - `measurements`: What is declared of its values; all of it.
   *
   * `POST /device/type`; needs `device.update`.
   */
  create(name: string, options: { groupId?: string; displayName?: string; defaultConfiguration?: string; battery?: string; firmwareVersion?: string; decoder?: m.DecoderKind; decoderSource?: string; decodedLocation?: string; encoderSource?: string; measurements?: m.MeasurementInput[] } = {}): Promise<m.DeviceTypeDefinition> {
    return this.transport.request({ method: "POST", path: "/device/type", isRepeatable: false, body: { name, ...options } });
  }

  /**
   * Update a device type.
   *
   * Its decoder counts from the next payload on, its default configuration for new devices; what
   * is declared counts for stored records as well. What is left out stays as it is.
   *
   * - `displayName`: For people.
   *
   * - `defaultConfiguration`: Any text.
   *
   * - `battery`: Any text.
   *
   * - `firmwareVersion`: Any text.
   *
   * - `decoder`: `bits`, `cayenneLpp` or `javascript`.
   *
   * - `decoderSource`: The bit format or the codec; Cayenne LPP has none.
   *
   * - `decodedLocation`: Names of the decoded latitude and longitude that become a geolocation.
   *
   * - `encoderSource`: A codec for downlinks, if that of the decoder has none.
   *
   * - `measurements`: What is declared of its values; all of it.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `PUT /device/type/definition`; needs `device.update`.
   */
  update(type: string, options: { displayName?: string; defaultConfiguration?: string; battery?: string; firmwareVersion?: string; decoder?: m.DecoderKind; decoderSource?: string; decodedLocation?: string; encoderSource?: string; measurements?: m.MeasurementInput[]; ifUpdatedAt?: When } = {}): Promise<m.DeviceTypeDefinition> {
    return this.transport.request({ method: "PUT", path: "/device/type/definition", isRepeatable: false, body: { type, ...options } });
  }

  /**
   * Delete a device type.
   *
   * With its configuration policy and what is declared of it. Not while devices have it.
   *
   * `DELETE /device/type`; needs `device.update`.
   */
  delete(type: string): Promise<m.GenericReturnBoolean> {
    return this.transport.request({ method: "DELETE", path: "/device/type", isRepeatable: false, query: { type } });
  }

  /**
   * Create or update a device type from the files of its maker.
   *
   * From ChirpStack's device profiles, or from one device of The Things Network's repository: its
   * own file, that of its codec, the codec, and its examples. These are run first; if one fails,
   * the error has what was expected and what the codec returns, and nothing is changed unless
   * `acceptFailing` is true. With `dryRun`, nothing is changed, and the response has every
   * example. With `replace`, a type that exists is updated.
   *
   * - `groupId`: Whose it is, with the groups below; without it, for all.
   *
   * - `device`: Which one, if the files have several: the name of its file without its ending.
   *
   * - `firmwareVersion`: Without it, the last one of its file.
   *
   * - `name`: Without it, maker and device.
   *
   * - `displayName`: For people.
   *
   * - `acceptFailing`: Create or update it although examples fail.
   *
   * - `replace`: Update the type of this `name`, which is required then. Its codecs become those
   * of the files; what these do not say stays, as do its measurements.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * - `dryRun`: Only run the examples, and say what would be created or updated.
   *
   * `POST /device/type/import`; needs `device.update`.
   */
  importFiles(files: Record<string, unknown>, options: { groupId?: string; device?: string; firmwareVersion?: string; name?: string; displayName?: string; acceptFailing?: boolean; replace?: boolean; ifUpdatedAt?: When; dryRun?: boolean } = {}): Promise<m.TypeImportReturn> {
    return this.transport.request({ method: "POST", path: "/device/type/import", isRepeatable: false, body: { files, ...options } });
  }

  /**
   * Get the decoder of a device type.
   *
   * `GET /device/type/decoder`.
   */
  decoder(type: string): Promise<m.TypeDecoder> {
    return this.transport.request({ method: "GET", path: "/device/type/decoder", isRepeatable: true, query: { type } });
  }

  /**
   * Declare the measurements of a device type.
   *
   * In place of those that are declared: for all devices of the type by an operator, or for those
   * in a group and below it. What is declared for a group beats what is declared further up and
   * for all. It holds for stored records as well: current values and series follow within a minute
   * or so, large ones later.
   *
   * - `groupId`: Without it, for all by operators; or for the group of the type.
   *
   * - `measurements`: All of them; an empty list declares nothing.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `PUT /device/type/measurements`; needs `device.update`.
   */
  setMeasurements(type: string, options: { groupId?: string; measurements: m.MeasurementInput[]; ifUpdatedAt?: When }): Promise<m.TypeMeasurements> {
    return this.transport.request({ method: "PUT", path: "/device/type/measurements", isRepeatable: false, body: { type, ...options } });
  }

  /**
   * Set the decoder of a device type.
   *
   * For all devices of the type, from the next payload on; stored values change when they are
   * redecoded. By an operator, or by somebody with `device.update` in the group that the type
   * belongs to. A decoder with an error is refused, with its line.
   *
   * - `decoder`: `bits`, `cayenneLpp` or `javascript`.
   *
   * - `decoderSource`: The bit format or the codec; Cayenne LPP has none.
   *
   * - `decodedLocation`: Names of the decoded latitude and longitude that become a geolocation.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `PUT /device/type/decoder`; needs `device.update`.
   */
  setDecoder(type: string, options: { decoder?: m.DecoderKind; decoderSource?: string; decodedLocation?: string; ifUpdatedAt?: When } = {}): Promise<m.TypeDecoder> {
    return this.transport.request({ method: "PUT", path: "/device/type/decoder", isRepeatable: false, body: { type, ...options } });
  }

  /**
   * Get the configuration policy of a device type.
   *
   * `GET /device/type/configuration`.
   */
  configuration(type: string): Promise<m.ConfigurationPolicy> {
    return this.transport.request({ method: "GET", path: "/device/type/configuration", isRepeatable: true, query: { type } });
  }

  /**
   * Set the configuration policy of a device type.
   *
   * For all devices of the type, in all groups; policies of groups go before it.
   *
   * - `policy`: A JSON merge patch (RFC 7396): null removes a member. Empty: no policy.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `PUT /device/type/configuration`; needs `device.update`.
   */
  setConfiguration(type: string, options: { policy: Record<string, unknown>; ifUpdatedAt?: When }): Promise<m.ConfigurationPolicy> {
    return this.transport.request({ method: "PUT", path: "/device/type/configuration", isRepeatable: false, body: { type, ...options } });
  }

  /**
   * Try a decoder on stored payloads.
   *
   * On the latest payloads of the type's devices in the group, looked for among the last 5,000
   * arrivals, or on given ones; and which measurements its values give. Nothing is stored. A
   * preview takes two seconds of decoding at most, and has CPU time of its own for each group;
   * payloads beyond that are not tried.
   *
   * - `groupId`: The id of the group.
   *
   * - `decoder`: Without it, the decoder of the type is tried.
   *
   * - `decoderSource`: The bit format or the codec; Cayenne LPP has none.
   *
   * - `deviceId`: Only stored payloads of this device.
   *
   * - `limit`: How many stored payloads; 20 by default.
   *
   * - `payloads`: Payloads to decode, instead of stored ones.
   *
   * `POST /device/type/preview`; needs `record.read`.
   */
  preview(type: string, options: { groupId: string; decoder?: m.DecoderKind; decoderSource?: string; deviceId?: string; limit?: number; payloads?: m.GivenPayload[] }): Promise<m.DecoderPreview> {
    return this.transport.request({ method: "POST", path: "/device/type/preview", isRepeatable: true, body: { type, ...options } });
  }
}

export class DownlinksNoun extends Noun {
  /**
   * List the downlinks of a device.
   *
   * Those queued since it is in its current group, newest first.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `groupId`: If given, it must be the group of the device.
   *
   * `GET /device/downlinks`; needs `device.read`.
   */
  list(deviceId: string, options: { limit?: number; groupId?: string } = {}): Pages<m.Downlink, m.DownlinkConnection> {
    return new Pages(this.transport, { method: "GET", path: "/device/downlinks", isRepeatable: true, query: { deviceId, ...options } }, "items");
  }

  /**
   * Send a downlink.
   *
   * It is queued until the network of the device takes it, or until it expires. Its progress is
   * reported by events of the device: `downlinkQueued`, `downlinkSent`, `downlinkAcknowledged`,
   * `downlinkFailed`, `downlinkExpired`.
   *
   * - `groupId`: If given, it must be the group of the device.
   *
   * - `payload`: In hex; exactly 8 bytes on the vendor's network.
   *
   * - `data`: Values that the codec of the device type encodes.
   *
   * - `port`: The LoRaWAN port of the payload.
   *
   * - `confirmed`: Whether the device must acknowledge it.
   *
   * - `expiresIn`: Seconds until it expires.
   *
   * `POST /device/downlink`; needs `device.downlink`.
   */
  send(deviceId: string, options: { groupId?: string; payload?: string; data?: Record<string, unknown>; port?: number; confirmed?: boolean; expiresIn?: number } = {}): Promise<m.Downlink> {
    return this.transport.request({ method: "POST", path: "/device/downlink", isRepeatable: false, body: { deviceId, ...options } });
  }

  /**
   * Cancel a downlink that is queued, or that waits in ChirpStack's queue.
   *
   * That queue can only be emptied as a whole. If the device has more in it, nothing is cancelled
   * unless `others` is true: then all of them are.
   *
   * - `deviceId`: The id of the device.
   *
   * - `groupId`: The id of the group.
   *
   * - `others`: Whether everything else in the network's queue of the device may be cancelled with
   * it, where that can only be emptied as a whole.
   *
   * `DELETE /device/downlink`; needs `device.downlink`.
   */
  cancel(downlinkId: string, options: { deviceId: string; groupId?: string; others?: boolean }): Promise<m.Downlink> {
    return this.transport.request({ method: "DELETE", path: "/device/downlink", isRepeatable: false, query: { downlinkId, ...options } });
  }
}

export class DataNoun extends Noun {
  /**
   * List a device's data records.
   *
   * By timestamp, then in order of arrival. `beginDate` is part of the range, `endDate` is not; a
   * date alone as `endDate` means to the end of that day.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * - `ascending`: false for the newest first.
   *
   * - `fields`: Only these members of each record, with commas between them; by default all. In
   * JSON those that every record of its kind has are always there.
   *
   * `GET /device/data`; needs `record.read`.
   */
  list(deviceId: string, options: { limit?: number; beginDate?: When; endDate?: When; ascending?: boolean; fields?: string } = {}): Pages<m.DeviceData, m.DeviceDataConnection> {
    return new Pages(this.transport, { method: "GET", path: "/device/data", isRepeatable: true, query: { deviceId, ...options } }, "items");
  }

  /**
   * Store one data record.
   *
   * The response is sent once the record is committed. The same record sent again is stored once
   * and gets the same response, so retrying is safe. `groupId` is optional; if given, it must be
   * the group of the device.
   *
   * - `timestamp`: When the device reported. RFC 3339, a date alone, or seconds or milliseconds
   * since 1970. Without an offset it is UTC. A JSON number is taken, too.
   *
   * - `groupId`: If given, the device's group.
   *
   * - `data`: What was reported: any text, mostly a JSON object in a string.
   *
   * - `configuration`: The configuration of the device when it reported; any text, mostly JSON, or
   * empty.
   *
   * - `__raw`: The payload as the network carried it, in hex; any text, or empty.
   *
   * - `deviceType`: The type of the device, stored as it is sent.
   *
   * - `mode`: The operating mode of the device, in its own words; the service does not interpret
   * it.
   *
   * - `reason`: Why the device reported, in its own words; notifications can wait for it.
   *
   * - `deviceName`: The name of the device; filled in if omitted.
   *
   * `POST /device/data`; needs `record.create`.
   */
  store(deviceId: string, options: { timestamp: When; groupId?: string; data: string; configuration: string; __raw: string; deviceType: string; mode?: string; reason?: string; deviceName?: string }): Promise<m.DeviceData> {
    return this.transport.request({ method: "POST", path: "/device/data", isRepeatable: true, body: { deviceId, ...options } });
  }

  /**
   * Store many data records at once.
   *
   * All are stored, or none; the error names every invalid item.
   *
   * `POST /device/data/batch`; needs `record.create`.
   */
  storeMany(items: m.DeviceDataInput[]): Promise<m.BatchReturn> {
    return this.transport.request({ method: "POST", path: "/device/data/batch", isRepeatable: true, body: { items } });
  }

  /**
   * Delete the data records of one timestamp.
   *
   * All records of this kind with this `timestamp`.
   *
   * - `timestamp`: The timestamp of the records. RFC 3339, a date alone, or seconds or
   * milliseconds since 1970. Without an offset it is UTC.
   *
   * `PUT /device/data`; needs `record.delete`.
   */
  delete(deviceId: string, options: { timestamp: When }): Promise<m.GenericReturnBoolean> {
    return this.transport.request({ method: "PUT", path: "/device/data", isRepeatable: false, query: { deviceId, ...options } });
  }
}

export class EventsNoun extends Noun {
  /**
   * List a device's events.
   *
   * By timestamp, then in order of arrival. `beginDate` is part of the range, `endDate` is not; a
   * date alone as `endDate` means to the end of that day.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * - `ascending`: false for the newest first.
   *
   * - `fields`: Only these members of each record, with commas between them; by default all. In
   * JSON those that every record of its kind has are always there.
   *
   * `GET /device/event`; needs `record.read`.
   */
  list(deviceId: string, options: { limit?: number; beginDate?: When; endDate?: When; ascending?: boolean; fields?: string } = {}): Pages<m.DeviceEvent, m.DeviceEventConnection> {
    return new Pages(this.transport, { method: "GET", path: "/device/event", isRepeatable: true, query: { deviceId, ...options } }, "items");
  }

  /**
   * Store one event.
   *
   * The response is sent once the record is committed. The same record sent again is stored once
   * and gets the same response, so retrying is safe. `groupId` is optional; if given, it must be
   * the group of the device.
   *
   * - `timestamp`: When it happened. RFC 3339, a date alone, or seconds or milliseconds since
   * 1970. Without an offset it is UTC. A JSON number is taken, too.
   *
   * - `groupId`: If given, the device's group.
   *
   * - `type`: What happened, in the words of the device or network; notifications can wait for it.
   *
   * - `deviceType`: The device type.
   *
   * - `message`: The same for people.
   *
   * - `data`: What was reported: any text, mostly a JSON object in a string.
   *
   * - `severity`: How bad it is, in any words; networks and the service use `info`, `warning` and
   * `error`.
   *
   * `POST /device/event`; needs `record.create`.
   */
  store(deviceId: string, options: { timestamp: When; groupId?: string; type: string; deviceType?: string; message?: string; data?: string; severity?: string }): Promise<m.DeviceEvent> {
    return this.transport.request({ method: "POST", path: "/device/event", isRepeatable: true, body: { deviceId, ...options } });
  }

  /**
   * Store many events at once.
   *
   * All are stored, or none; the error names every invalid item.
   *
   * `POST /device/event/batch`; needs `record.create`.
   */
  storeMany(items: m.DeviceEventInput[]): Promise<m.BatchReturn> {
    return this.transport.request({ method: "POST", path: "/device/event/batch", isRepeatable: true, body: { items } });
  }

  /**
   * Delete the events of one timestamp.
   *
   * All records of this kind with this `timestamp`.
   *
   * - `timestamp`: The timestamp of the records. RFC 3339, a date alone, or seconds or
   * milliseconds since 1970. Without an offset it is UTC.
   *
   * `DELETE /device/event`; needs `record.delete`.
   */
  delete(deviceId: string, options: { timestamp: When }): Promise<m.GenericReturnBoolean> {
    return this.transport.request({ method: "DELETE", path: "/device/event", isRepeatable: false, query: { deviceId, ...options } });
  }
}

export class GeolocationsNoun extends Noun {
  /**
   * List a device's geolocations.
   *
   * By timestamp, then in order of arrival. `beginDate` is part of the range, `endDate` is not; a
   * date alone as `endDate` means to the end of that day.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * - `ascending`: false for the newest first.
   *
   * - `fields`: Only these members of each record, with commas between them; by default all. In
   * JSON those that every record of its kind has are always there.
   *
   * `GET /device/geoloc`; needs `record.read`.
   */
  list(deviceId: string, options: { limit?: number; beginDate?: When; endDate?: When; ascending?: boolean; fields?: string } = {}): Pages<m.DeviceGeoloc, m.DeviceGeolocConnection> {
    return new Pages(this.transport, { method: "GET", path: "/device/geoloc", isRepeatable: true, query: { deviceId, ...options } }, "items");
  }

  /**
   * Store one geolocation.
   *
   * The response is sent once the record is committed. The same record sent again is stored once
   * and gets the same response, so retrying is safe. `groupId` is optional; if given, it must be
   * the group of the device.
   *
   * - `timestamp`: When the device was there. RFC 3339, a date alone, or seconds or milliseconds
   * since 1970. Without an offset it is UTC. A JSON number is taken, too.
   *
   * - `groupId`: If given, the device's group.
   *
   * - `status`: The status of the position, as the network reports it with a computed location;
   * the service does not interpret it.
   *
   * - `source`: How the position was found, in the vendor's numbers: 1 by GPS, 2 by the network, 6
   * by Wi-Fi, 7 by Bluetooth.
   *
   * - `radius`: How exact the position is, as a radius in metres.
   *
   * - `lat`: The latitude in degrees, WGS 84.
   *
   * - `lng`: The longitude in degrees, WGS 84.
   *
   * - `location`: The place in words, or in a form of the sender; any text.
   *
   * - `data`: What was reported: any text, mostly a JSON object in a string.
   *
   * - `__raw`: The payload as the network carried it, in hex; any text, or empty.
   *
   * `POST /device/geoloc`; needs `record.create`.
   */
  store(deviceId: string, options: { timestamp: When; groupId?: string; status?: number; source?: number; radius?: number; lat?: number; lng?: number; location?: string; data?: string; __raw?: string }): Promise<m.DeviceGeoloc> {
    return this.transport.request({ method: "POST", path: "/device/geoloc", isRepeatable: true, body: { deviceId, ...options } });
  }

  /**
   * Store many geolocations at once.
   *
   * All are stored, or none; the error names every invalid item.
   *
   * `POST /device/geoloc/batch`; needs `record.create`.
   */
  storeMany(items: m.DeviceGeolocInput[]): Promise<m.BatchReturn> {
    return this.transport.request({ method: "POST", path: "/device/geoloc/batch", isRepeatable: true, body: { items } });
  }

  /**
   * Delete the geolocations of one timestamp.
   *
   * All records of this kind with this `timestamp`.
   *
   * - `timestamp`: The timestamp of the records. RFC 3339, a date alone, or seconds or
   * milliseconds since 1970. Without an offset it is UTC.
   *
   * `DELETE /device/geoloc`; needs `record.delete`.
   */
  delete(deviceId: string, options: { timestamp: When }): Promise<m.GenericReturnBoolean> {
    return this.transport.request({ method: "DELETE", path: "/device/geoloc", isRepeatable: false, query: { deviceId, ...options } });
  }
}

export class TelemetryNoun extends Noun {
  /**
   * List a device's telemetry records.
   *
   * By timestamp, then in order of arrival. `beginDate` is part of the range, `endDate` is not; a
   * date alone as `endDate` means to the end of that day.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * - `ascending`: false for the newest first.
   *
   * - `fields`: Only these members of each record, with commas between them; by default all. In
   * JSON those that every record of its kind has are always there.
   *
   * `GET /device/telemetry`; needs `record.read`.
   */
  list(deviceId: string, options: { limit?: number; beginDate?: When; endDate?: When; ascending?: boolean; fields?: string } = {}): Pages<m.DeviceTelemetry, m.DeviceTelemetryConnection> {
    return new Pages(this.transport, { method: "GET", path: "/device/telemetry", isRepeatable: true, query: { deviceId, ...options } }, "items");
  }

  /**
   * Store one telemetry record.
   *
   * The response is sent once the record is committed. The same record sent again is stored once
   * and gets the same response, so retrying is safe. `groupId` is optional; if given, it must be
   * the group of the device.
   *
   * - `timestamp`: When the message was received. RFC 3339, a date alone, or seconds or
   * milliseconds since 1970. Without an offset it is UTC. A JSON number is taken, too.
   *
   * - `groupId`: If given, the device's group.
   *
   * - `deviceType`: The device type.
   *
   * - `duplicates`: One text for each base station or gateway that received the message, mostly
   * JSON.
   *
   * - `data`: What was reported: any text, mostly a JSON object in a string.
   *
   * - `score`: The quality of the link; records of networks have 0 (weakest) to 3 (strongest).
   *
   * - `nbBs`: The number of base stations that received the message; `nbBS` in responses.
   *
   * - `rc`: The number that the vendor's network sends as `rc` with its advanced data; the service
   * does not interpret it.
   *
   * `POST /device/telemetry`; needs `record.create`.
   */
  store(deviceId: string, options: { timestamp: When; groupId?: string; deviceType: string; duplicates?: string[]; data?: string; score?: number; nbBs?: number; rc?: number }): Promise<m.DeviceTelemetry> {
    return this.transport.request({ method: "POST", path: "/device/telemetry", isRepeatable: true, body: { deviceId, ...options } });
  }

  /**
   * Store many telemetry records at once.
   *
   * All are stored, or none; the error names every invalid item.
   *
   * `POST /device/telemetry/batch`; needs `record.create`.
   */
  storeMany(items: m.DeviceTelemetryInput[]): Promise<m.BatchReturn> {
    return this.transport.request({ method: "POST", path: "/device/telemetry/batch", isRepeatable: true, body: { items } });
  }

  /**
   * Delete the telemetry records of one timestamp.
   *
   * All records of this kind with this `timestamp`.
   *
   * - `timestamp`: The timestamp of the records. RFC 3339, a date alone, or seconds or
   * milliseconds since 1970. Without an offset it is UTC.
   *
   * `DELETE /device/telemetry`; needs `record.delete`.
   */
  delete(deviceId: string, options: { timestamp: When }): Promise<m.GenericReturnBoolean> {
    return this.transport.request({ method: "DELETE", path: "/device/telemetry", isRepeatable: false, query: { deviceId, ...options } });
  }
}

export class RecordsNoun extends Noun {
  /**
   * List what arrived in a group.
   *
   * The records of all devices in order of arrival, newest first, whatever their timestamps are. A
   * page looks at 5,000 arrivals at most, so that one with `kinds`, `deviceId` or `filter` may
   * have fewer items than `limit`, or none, although there are more: follow `nextToken`. Records
   * that were deleted or have expired are not listed.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `subgroups`: Include the groups below, 1,000 at most.
   *
   * - `deviceId`: The id of the device.
   *
   * - `kinds`: Only these kinds of records; may be repeated.
   *
   * - `filter`: Only records for which this expression is true; the language is that of a
   * connector's `messageFilter`.
   *
   * - `before`: The `id` of an arrival, which is not listed itself; or a date.
   *
   * - `after`: The `id` of an arrival, which is not listed itself; or a date.
   *
   * - `ascending`: Oldest first; by default newest first.
   *
   * - `fields`: Only these members of each record, with commas between them; by default all. In
   * JSON those that every record of its kind has are always there.
   *
   * `GET /group/records`; needs `record.read`.
   */
  arrivals(groupId: string, options: { limit?: number; subgroups?: boolean; deviceId?: string; kinds?: m.RecordKind[]; filter?: string; before?: string; after?: string; ascending?: boolean; fields?: string } = {}): Pages<m.Arrival, m.ArrivalConnection> {
    return new Pages(this.transport, { method: "GET", path: "/group/records", isRepeatable: true, query: { groupId, ...options } }, "items");
  }

  /**
   * Trace a record.
   *
   * How it came in, what the decoder made of it, and for each connector and notification what
   * became of it, with every attempt, or why it was not taken.
   *
   * - `recordId`: The id of the record.
   *
   * - `messageId`: The id of a message of a connector or a notification about it.
   *
   * - `groupId`: The group of the record, which saves a search.
   *
   * `GET /record/trace`; needs `record.read`.
   */
  trace(options: { recordId?: string; messageId?: string; groupId?: string } = {}): Promise<m.Trace> {
    return this.transport.request({ method: "GET", path: "/record/trace", isRepeatable: true, query: { ...options } });
  }

  /**
   * Get numbers of devices over time.
   *
   * For each span the minimum, maximum, mean, first, last, sum and number of the values of a
   * measurement of up to 20 devices, and what a counter rose. They come from summaries, which are
   * made for years, and are what a count of all records gives. Spans have `timeSpan` seconds, or
   * are hours, days, weeks, months or years of a time zone. The range is the last day unless
   * `beginDate` or `endDate` is given. Of several measurements each device has a series of each.
   *
   * A measurement of class `state` has `states` instead, which are read from the records: where it
   * changed, and to what.
   *
   * With `path` instead of `measurement`, the numbers at a place in the records, whatever is
   * declared. Records without a number there are left out; true and false are 1 and 0. There are
   * at most 2,000 points in all. If a range has more records than one request may read, a sample
   * of every span is read, and `isSampled` is true.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * - `timeSpan`: Seconds per point; by default what gives at most 200 points of a device.
   *
   * - `calendarSpan`: Instead of `timeSpan`; a week begins on Monday.
   *
   * - `timezone`: Whose days `calendarSpan` counts: a name of the IANA database; by default `UTC`.
   *
   * - `format`: `csv`, `ndjson`, `table`, a JSON array, and `parquet`, which the operator may not
   * have installed, have one flat row for each point, as spreadsheets and Grafana read it.
   *
   * - `fresh`: Wait until everything is counted that had arrived before the request, however many
   * records have to be read for it.
   *
   * - `measurement`: One of these devices, or several: given up to 20 times.
   *
   * - `path`: Instead of `measurement`, where the number is in a record: a JSON Pointer (RFC
   * 6901). `data` and `configuration` are read as JSON.
   *
   * - `kind`: With `path`, the kind of records; by default `data`.
   *
   * `GET /device/series`; needs `record.read`.
   */
  series(deviceId: string[], options: { beginDate?: When; endDate?: When; timeSpan?: number; calendarSpan?: m.CalendarSpan; timezone?: string; format?: m.SeriesFormat; fresh?: boolean; measurement?: string[]; path?: string; kind?: m.RecordKind } = {}): Promise<m.Series | m.SeriesRow[] | m.SeriesStateRow> {
    return this.one({ method: "GET", path: "/device/series", isRepeatable: true, query: { deviceId, ...options } });
  }

  /**
   * Export the records of a group or of a device.
   *
   * Of one kind. Those of a group come in order of arrival, and `beginDate` and `endDate` are
   * about their arrival, or with `dates=timestamp` about their timestamps. Those of a device are
   * sorted by timestamp, and the dates are about that; with a `groupId`, those that belong to this
   * group. An interrupted Parquet file cannot be continued.
   *
   * - `groupId`: Records of this group.
   *
   * - `subgroups`: Those of the groups below it, too, 1,000 at most.
   *
   * - `deviceId`: Of this device.
   *
   * - `kind`: The kind of records.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * - `dates`: What `beginDate` and `endDate` are about; by default the arrival of a group's
   * records, and the timestamp of a device's, which can be nothing else. A group's records come in
   * order of arrival either way.
   *
   * - `format`: CSV with a header, one JSON object per line, or a Parquet file, which the operator
   * may not have installed.
   *
   * - `values`: What each record says of these measurements, by their names, with commas between
   * them; 20 at most. In CSV and Parquet each has a column.
   *
   * - `fields`: Only these members of each record, with commas between them; by default all. In
   * JSON those that every record of its kind has are always there.
   *
   * - `after`: Continue after the row of this id; for an export that was interrupted.
   *
   * `GET /records/export`; needs `record.read`.
   */
  export(options: { groupId?: string; subgroups?: boolean; deviceId?: string; kind?: m.RecordKind; beginDate?: When; endDate?: When; dates?: m.ExportDates; format?: m.RecordExportFormat; values?: string; fields?: string; after?: string } = {}): AsyncGenerator<Uint8Array, void, void> {
    return this.transport.stream({ method: "GET", path: "/records/export", isRepeatable: true, query: { ...options } });
  }

  /**
   * Redecode stored payloads.
   *
   * Decodes `__raw` of data records with the current decoder of the device type. Values from an
   * earlier decoding are replaced in `data`; the rest of the record is unchanged, and connectors
   * are not notified. A record that fails to decode is unchanged. One request processes some
   * records and responds with a `nextToken` as long as there are more.
   *
   * - `deviceId`: The id of the device.
   *
   * - `groupId`: With deviceId, its group.
   *
   * - `deviceType`: Only devices of this type.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC. A JSON number is taken, too.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC. A JSON number is taken, too.
   *
   * - `limit`: The maximum number of records to read.
   *
   * - `nextToken`: The nextToken of the previous response.
   *
   * `POST /device/redecode`; needs `record.create`.
   */
  redecode(options: { deviceId?: string; groupId?: string; deviceType?: string; beginDate?: When; endDate?: When; limit?: number; nextToken?: string } = {}): Promise<m.RedecodeReturn> {
    return this.transport.request({ method: "POST", path: "/device/redecode", isRepeatable: true, body: { ...options } });
  }

  /**
   * Delete all records of a device.
   *
   * Data, events, geolocations and telemetry, as far as the caller may delete them. Counters are
   * unchanged.
   *
   * `DELETE /device/data`; needs `record.delete`.
   */
  deleteAll(deviceId: string): Promise<m.GenericReturn> {
    return this.transport.request({ method: "DELETE", path: "/device/data", isRepeatable: false, body: { deviceId } });
  }
}

export class ConnectorsNoun extends Noun {
  /**
   * List the connectors of a group.
   *
   * With `subgroups` also those of the groups below; `groupId` of each says whose it is.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `subgroups`: With those of all groups below it.
   *
   * `GET /connector/connectors`; needs `connector.read`.
   */
  list(groupId: string, options: { limit?: number; subgroups?: boolean } = {}): Pages<m.Connector, m.ConnectorConnection> {
    return new Pages(this.transport, { method: "GET", path: "/connector/connectors", isRepeatable: true, query: { groupId, ...options } }, "test");
  }

  /**
   * Get a connector.
   *
   * Secrets in `params` are masked unless the caller may update it.
   *
   * - `groupId`: The id of the group.
   *
   * `GET /connector`; needs `connector.read`.
   */
  get(connectorId: string, options: { groupId: string }): Promise<m.Connector> {
    return this.transport.request({ method: "GET", path: "/connector", isRepeatable: true, query: { connectorId, ...options } });
  }

  /**
   * Create a connector.
   *
   * From now on it forwards every record of the group's devices that matches `deviceTypes`,
   * `deviceIds` and `messageFilter`. `id` can be chosen if it is not taken.
   *
   * - `params`: A JSON object, as described by the type's `expectedParameters`.
   *
   * - `type`: The connector type: `http`, `mqtt`, `nats`, `amqp` or `kafka`.
   *
   * - `id`: The id of the connector; made by the service if it is left out.
   *
   * - `name`: The name of the connector.
   *
   * - `description`: A text about it, for people.
   *
   * - `deviceTypes`: Only devices of these types; empty for all.
   *
   * - `deviceIds`: Only records of these devices; empty for all.
   *
   * - `messageFilter`: CEL over `message`; records for which it is true are forwarded. Empty: all.
   *
   * - `format`: How a record is encoded in a message.
   *
   * - `dataFailurePolicy`: How long dead letters are kept.
   *
   * - `retryPolicy`: How often a delivery is retried; without it, five attempts in about two
   * hours.
   *
   * - `enabled`: Whether it works; a disabled one does nothing, and is kept.
   *
   * - `tags`: Free words to find it by.
   *
   * `POST /connector`; needs `connector.write`.
   */
  create(groupId: string, options: { params: string; type: string; id?: string; name?: string; description?: string; deviceTypes?: string[]; deviceIds?: string[]; messageFilter?: string; format?: m.MessageFormat; dataFailurePolicy?: m.DataFailurePolicyInput; retryPolicy?: m.RetryPolicyInput; enabled?: boolean; tags?: string[] }): Promise<m.Connector> {
    return this.transport.request({ method: "POST", path: "/connector", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Update a connector.
   *
   * Members left out are unchanged; null removes `name`, `description`, `messageFilter` and
   * `retryPolicy`, of the last two an empty string, too. A mask in `params` keeps the secret.
   * While the connector is disabled, no new deliveries are created, and queued ones are held.
   *
   * - `groupId`: The id of the group.
   *
   * - `params`: A JSON object, as described by the type's `expectedParameters`.
   *
   * - `name`: The new name.
   *
   * - `description`: A text about it, for people.
   *
   * - `type`: The new connector type.
   *
   * - `deviceTypes`: Only devices of these types; empty for all.
   *
   * - `deviceIds`: Only records of these devices; empty for all.
   *
   * - `messageFilter`: CEL over `message`; records for which it is true are forwarded. Empty: all.
   *
   * - `dataFailurePolicy`: How long dead letters are kept.
   *
   * - `retryPolicy`: How to retry; an empty string restores the default.
   *
   * - `format`: How a record is encoded in a message.
   *
   * - `enabled`: Whether it works; a disabled one does nothing, and is kept.
   *
   * - `tags`: Free words to find it by.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `PUT /connector`; needs `connector.write`.
   */
  update(connectorId: string, options: { groupId: string; params?: string; name?: string; description?: string; type?: string; deviceTypes?: string[]; deviceIds?: string[]; messageFilter?: string; dataFailurePolicy?: m.DataFailurePolicyInput; retryPolicy?: string | m.RetryPolicyInput; format?: m.MessageFormat; enabled?: boolean; tags?: string[]; ifUpdatedAt?: When }): Promise<m.Connector> {
    return this.transport.request({ method: "PUT", path: "/connector", isRepeatable: false, body: { connectorId, ...options } });
  }

  /**
   * Delete a connector.
   *
   * Its queued deliveries and its history are deleted as well.
   *
   * - `groupId`: The id of the group.
   *
   * `DELETE /connector`; needs `connector.write`.
   */
  delete(connectorId: string, options: { groupId: string }): Promise<m.Connector> {
    return this.transport.request({ method: "DELETE", path: "/connector", isRepeatable: false, query: { connectorId, ...options } });
  }

  /**
   * List the connector types.
   *
   * - `limit`: The maximum number of items per page.
   *
   * `GET /connector/connectorTypes`.
   */
  types(options: { limit?: number } = {}): Pages<m.ConnectorType, m.ConnectorTypeConnection> {
    return new Pages(this.transport, { method: "GET", path: "/connector/connectorTypes", isRepeatable: true, query: { ...options } }, "items");
  }

  /**
   * Get a connector type.
   *
   * `expectedParameters` is a JSON Schema, as text.
   *
   * `GET /connector/connectorType`.
   */
  type(type: string): Promise<m.ConnectorType> {
    return this.transport.request({ method: "GET", path: "/connector/connectorType", isRepeatable: true, query: { type } });
  }

  /**
   * List the deliveries of a connector.
   *
   * One item per message, by the time of its last change. `stats` count the whole period on every
   * page. `id` is sent to the receiver as `webhook-id`.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `groupId`: The id of the group.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * - `ascending`: false for the newest first.
   *
   * `GET /connector/connectorEvent`; needs `connector.read`.
   */
  events(connectorId: string, options: { limit?: number; groupId: string; beginDate: When; endDate: When; ascending?: boolean }): Pages<m.ConnectorEvent, m.ConnectorEventConnection> {
    return new Pages(this.transport, { method: "GET", path: "/connector/connectorEvent", isRepeatable: true, query: { connectorId, ...options } }, "items");
  }

  /**
   * Get the health of a connector.
   *
   * Whether its last attempts failed, and how many messages wait or are kept for a resend.
   *
   * - `groupId`: The id of the group.
   *
   * `GET /connector/health`; needs `connector.read`.
   */
  health(connectorId: string, options: { groupId: string }): Promise<m.ConnectorHealth> {
    return this.transport.request({ method: "GET", path: "/connector/health", isRepeatable: true, query: { connectorId, ...options } });
  }

  /**
   * Get the metrics of connectors over time.
   *
   * Of one connector, or of all connectors of a group together; in whole minutes, or in whole
   * hours if `timeSpan` is a multiple of 3,600. Kept for a limited time.
   *
   * - `connectorId`: Only this one; by default all of the group together.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * - `timeSpan`: Seconds per item, a multiple of 60; default 3600.
   *
   * `GET /connector/metrics`; needs `metrics.read`.
   */
  metrics(groupId: string, options: { connectorId?: string; beginDate: When; endDate: When; timeSpan?: number }): Promise<m.ConnectorMetrics> {
    return this.transport.request({ method: "GET", path: "/connector/metrics", isRepeatable: true, query: { groupId, ...options } });
  }

  /**
   * Resend dead letters.
   *
   * Every failed message that is still kept is queued again, oldest first, under its old id.
   * Repeating the request while that is in progress changes nothing.
   *
   * - `groupId`: The id of the group.
   *
   * `POST /connector/resendData`; needs `connector.resend`.
   */
  resend(connectorId: string, options: { groupId: string }): Promise<m.Connector> {
    return this.transport.request({ method: "POST", path: "/connector/resendData", isRepeatable: false, body: { connectorId, ...options } });
  }

  /**
   * Preview what a connector would send.
   *
   * For the latest records, and changes of the kinds that it asks for: whether they match, why
   * not, and the request that would be sent. Nothing is sent. With a draft, nothing is saved
   * either, and `matchedBefore` compares it with the saved connector. Records of a device or a
   * period are looked for among the last 5,000.
   *
   * - `connectorId`: The id of the connector; required without a draft.
   *
   * - `draft`: Changes to the connector that are tried, or a whole one.
   *
   * - `limit`: How many of the latest records.
   *
   * - `deviceId`: Only records of this device.
   *
   * - `beginDate`: Only records with a timestamp from here on.
   *
   * - `endDate`: Only records with an earlier timestamp.
   *
   * `POST /connector/preview`; needs `connector.read`.
   */
  preview(groupId: string, options: { connectorId?: string; draft?: m.PreviewDraft; limit?: number; deviceId?: string; beginDate?: When; endDate?: When } = {}): Promise<m.Preview> {
    return this.transport.request({ method: "POST", path: "/connector/preview", isRepeatable: true, body: { groupId, ...options } });
  }

  /**
   * Send a test message.
   *
   * One message, now, through a connector or a draft, whether it is enabled or not and whatever
   * its filter says; the response shows what was sent and what came back. It is no delivery: it is
   * neither queued nor retried, and no counter and no health changes. Its id begins with `test_`;
   * a webhook gets the header `webhook-test`, and the formats `json` and `cloudevents` have a
   * member `test`.
   *
   * - `connectorId`: Required without a draft.
   *
   * - `draft`: Changes to the connector that are not saved, or a whole one.
   *
   * - `recordId`: A stored record of the group, or of a group below it if `subgroups` is set.
   * Requires `record.read`.
   *
   * - `kind`: The kind of the sample.
   *
   * - `data`: The `data` of the sample.
   *
   * `POST /connector/test`; needs `connector.write`.
   */
  test(groupId: string, options: { connectorId?: string; draft?: m.TestDraft; recordId?: string; kind?: m.RecordKind; data?: string } = {}): Promise<m.ConnectorTestReply> {
    return this.transport.request({ method: "POST", path: "/connector/test", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * List what a connector sent and what came back.
   *
   * Of attempts that are kept, as `storeResponses` in its `params` says: the request and the first
   * 4 KiB of the response, newest first; or, with `messageId`, those of one message, oldest first.
   * A process keeps about one exchange of a connector in a second, after 20 at once.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `groupId`: The id of the group.
   *
   * - `messageId`: The id of a message, as a receiver gets it in `webhook-id`.
   *
   * `GET /connector/exchanges`; needs `connector.write`.
   */
  exchanges(connectorId: string, options: { limit?: number; groupId: string; messageId?: string }): Pages<m.Exchange, m.ExchangeConnection> {
    return new Pages(this.transport, { method: "GET", path: "/connector/exchanges", isRepeatable: true, query: { connectorId, ...options } }, "items");
  }

  /**
   * List what fails at a connector, by error.
   *
   * Of messages that last changed in the period: how many failed in which way, what became of
   * them, and for how many devices.
   *
   * - `groupId`: The id of the group.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * `GET /connector/failures`; needs `connector.read`.
   */
  failures(connectorId: string, options: { groupId: string; beginDate?: When; endDate?: When }): Promise<m.ConnectorFailures> {
    return this.transport.request({ method: "GET", path: "/connector/failures", isRepeatable: true, query: { connectorId, ...options } });
  }

  /**
   * Rotate the signing secret of a webhook.
   *
   * From now on requests are signed with the new one, which is in `params` of the response; and
   * until `previousUntil` with the one before it as well, so that receivers may verify with
   * either. While that lasts, another rotation is refused.
   *
   * - `groupId`: The id of the group.
   *
   * - `secret`: The new one: `whsec_` and a key of 24 to 64 bytes in base64. Made by the service
   * if it is left out.
   *
   * - `previousUntil`: Until when the secret before it signs as well, up to 90 days; 24 hours by
   * default. If that is over, it ends at once.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `POST /connector/rotateSecret`; needs `connector.write`.
   */
  rotateSecret(connectorId: string, options: { groupId: string; secret?: string; previousUntil?: When; ifUpdatedAt?: When }): Promise<m.Connector> {
    return this.transport.request({ method: "POST", path: "/connector/rotateSecret", isRepeatable: false, body: { connectorId, ...options } });
  }

  /**
   * End the rotation of a signing secret.
   *
   * The secret before the current one signs no more. Without one nothing changes.
   *
   * - `groupId`: The id of the group.
   *
   * `POST /connector/endSecretRotation`; needs `connector.write`.
   */
  endSecretRotation(connectorId: string, options: { groupId: string }): Promise<m.Connector> {
    return this.transport.request({ method: "POST", path: "/connector/endSecretRotation", isRepeatable: false, body: { connectorId, ...options } });
  }
}

export class MessagesNoun extends Noun {
  /**
   * List the messages of the connectors of a group.
   *
   * Over all of its connectors, by the time of their last change, newest first; with `subgroups`
   * also over those of the groups below.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `subgroups`: With those of all groups below it.
   *
   * - `connectorId`: Only of this connector.
   *
   * - `status`: Only with this status: `processing`, `succeed` or `failed`.
   *
   * - `deviceId`: Only about this device.
   *
   * - `kind`: Only messages of this kind.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * - `ascending`: true for the oldest first.
   *
   * `GET /connector/messages`; needs `connector.read`.
   */
  list(groupId: string, options: { limit?: number; subgroups?: boolean; connectorId?: string; status?: m.DeliveryStatus; deviceId?: string; kind?: m.MessageKind; beginDate?: When; endDate?: When; ascending?: boolean } = {}): Pages<m.ConnectorEvent, m.MessageConnection> {
    return new Pages(this.transport, { method: "GET", path: "/connector/messages", isRepeatable: true, query: { groupId, ...options } }, "items");
  }

  /**
   * Get a message with its attempts.
   *
   * What was sent and what the receiver answered is in `GET /connector/exchanges`, as far as it is
   * kept.
   *
   * `GET /connector/message`; needs `connector.read`.
   */
  get(id: string): Promise<m.Message> {
    return this.transport.request({ method: "GET", path: "/connector/message", isRepeatable: true, query: { id } });
  }

  /**
   * Retry messages now.
   *
   * Those that wait for their next attempt, and those that failed and are still kept for a resend.
   * By ids, up to 1,000; or by a filter, up to 10,000 in one request.
   *
   * - `ids`: Messages of this group.
   *
   * - `connectorId`: Only of this connector.
   *
   * - `deviceId`: Only about this device.
   *
   * - `kind`: Only messages of this kind.
   *
   * - `beginDate`: Last changed from then on.
   *
   * - `endDate`: Last changed before.
   *
   * - `status`: `failed` (default) or `processing`.
   *
   * `POST /connector/messages/retry`; needs `connector.resend`.
   */
  retry(groupId: string, options: { ids?: string[]; connectorId?: string; deviceId?: string; kind?: m.MessageKind; beginDate?: When; endDate?: When; status?: string } = {}): Promise<m.MessagesChanged> {
    return this.transport.request({ method: "POST", path: "/connector/messages/retry", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Cancel messages.
   *
   * Those that are queued; one that is being sent is not changed. By ids, up to 1,000; or by a
   * filter, up to 10,000 in one request.
   *
   * - `ids`: Messages of this group.
   *
   * - `connectorId`: Only of this connector.
   *
   * - `deviceId`: Only about this device.
   *
   * - `kind`: Only messages of this kind.
   *
   * - `beginDate`: Last changed from then on.
   *
   * - `endDate`: Last changed before.
   *
   * `POST /connector/messages/cancel`; needs `connector.resend`.
   */
  cancel(groupId: string, options: { ids?: string[]; connectorId?: string; deviceId?: string; kind?: m.MessageKind; beginDate?: When; endDate?: When } = {}): Promise<m.MessagesChanged> {
    return this.transport.request({ method: "POST", path: "/connector/messages/cancel", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Export the messages of a group's connectors.
   *
   * Connector by connector, in the order in which their records arrived; `beginDate` and `endDate`
   * are about that arrival.
   *
   * - `subgroups`: Include the groups below.
   *
   * - `connectorId`: Only of this connector.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * - `format`: CSV with a header, or one JSON object per line.
   *
   * - `after`: Continue after the row of this id; for an export that was interrupted.
   *
   * `GET /connector/messages/export`; needs `connector.read`.
   */
  export(groupId: string, options: { subgroups?: boolean; connectorId?: string; beginDate?: When; endDate?: When; format?: m.ExportFormat; after?: string } = {}): AsyncGenerator<Uint8Array, void, void> {
    return this.transport.stream({ method: "GET", path: "/connector/messages/export", isRepeatable: true, query: { groupId, ...options } });
  }
}

export class ReplaysNoun extends Noun {
  /**
   * List the last 20 replays of a connector.
   *
   * The newest first; one that runs is always the first.
   *
   * - `groupId`: The id of the group.
   *
   * `GET /connector/replays`; needs `connector.read`.
   */
  list(connectorId: string, options: { groupId: string }): Promise<m.ReplayList> {
    return this.transport.request({ method: "GET", path: "/connector/replays", isRepeatable: true, query: { connectorId, ...options } });
  }

  /**
   * Get the progress of a replay.
   *
   * - `connectorId`: The id of the connector.
   *
   * - `groupId`: The id of the group.
   *
   * `GET /connector/replay`; needs `connector.read`.
   */
  get(replayId: string, options: { connectorId: string; groupId: string }): Promise<m.Replay> {
    return this.transport.request({ method: "GET", path: "/connector/replay", isRepeatable: true, query: { replayId, ...options } });
  }

  /**
   * Replay stored records through a connector.
   *
   * Those with timestamps in the range that match, also from before the connector was created.
   * Records it has had before are sent again under their old id. `queued` is the number queued so
   * far; a long range is processed in the background, see `GET /connector/replay`.
   *
   * - `groupId`: The id of the group.
   *
   * - `beginDate`: The first timestamp of the records. RFC 3339, a date alone, or seconds or
   * milliseconds since 1970. Without an offset it is UTC. A JSON number is taken, too.
   *
   * - `endDate`: The end of the timestamps, which is not part of them. RFC 3339, a date alone, or
   * seconds or milliseconds since 1970. Without an offset it is UTC. A JSON number is taken, too.
   *
   * `POST /connector/replay`; needs `connector.resend`.
   */
  start(connectorId: string, options: { groupId: string; beginDate: When; endDate: When }): Promise<m.ReplayStarted> {
    return this.transport.request({ method: "POST", path: "/connector/replay", isRepeatable: false, body: { connectorId, ...options } });
  }

  /**
   * Cancel a replay.
   *
   * Messages that it has queued are still sent.
   *
   * - `connectorId`: The id of the connector.
   *
   * - `groupId`: The id of the group.
   *
   * `DELETE /connector/replay`; needs `connector.resend`.
   */
  cancel(replayId: string, options: { connectorId: string; groupId: string }): Promise<m.Replay> {
    return this.transport.request({ method: "DELETE", path: "/connector/replay", isRepeatable: false, query: { replayId, ...options } });
  }

  /**
   * Preview a replay: how many records it would send.
   *
   * Nothing is sent. At most 10,000 records are looked at, those that arrived in the range first;
   * beyond, `estimatedMatches` is an estimate.
   *
   * - `groupId`: The id of the group.
   *
   * - `beginDate`: The first timestamp of the records. RFC 3339, a date alone, or seconds or
   * milliseconds since 1970. Without an offset it is UTC. A JSON number is taken, too.
   *
   * - `endDate`: The end of the timestamps, which is not part of them. RFC 3339, a date alone, or
   * seconds or milliseconds since 1970. Without an offset it is UTC. A JSON number is taken, too.
   *
   * `POST /connector/replay/preview`; needs `connector.resend`.
   */
  preview(connectorId: string, options: { groupId: string; beginDate: When; endDate: When }): Promise<m.ReplayPreview> {
    return this.transport.request({ method: "POST", path: "/connector/replay/preview", isRepeatable: true, body: { connectorId, ...options } });
  }
}

export class NotificationsNoun extends Noun {
  /**
   * List the notifications of a group, or all that the caller can see.
   *
   * With `subgroups` also those of the groups below `groupId`.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `groupId`: Only of this group.
   *
   * - `subgroups`: With those of all groups below `groupId`.
   *
   * `GET /notification/notifications`; needs `notification.read`.
   */
  list(options: { limit?: number; groupId?: string; subgroups?: boolean } = {}): Pages<m.Notification, m.NotificationConnection> {
    return new Pages(this.transport, { method: "GET", path: "/notification/notifications", isRepeatable: true, query: { ...options } }, "items");
  }

  /**
   * Get a notification.
   *
   * Secrets in `params` are masked unless the caller may update it.
   *
   * - `groupId`: If given, it must be the group of the notification.
   *
   * `GET /notification`; needs `notification.read`.
   */
  get(notificationId: string, options: { groupId?: string } = {}): Promise<m.Notification> {
    return this.transport.request({ method: "GET", path: "/notification", isRepeatable: true, query: { notificationId, ...options } });
  }

  /**
   * Create a notification.
   *
   * From now on it is sent when a device of the group sends a record with its `reason`, or when
   * the service itself raises that reason, if `deviceId`, `deviceTypes`, `schedule` and the
   * condition `when` in `params` match.
   *
   * - `params`: A JSON object, as described by the type's `expectedParameters`.
   *
   * - `type`: The notification type: `email`, `webhook`, `push`, `chat` or `contactPoints`.
   *
   * - `name`: The name of the notification.
   *
   * - `description`: A text about it, for people.
   *
   * - `deviceId`: Only records of this device; empty for all.
   *
   * - `reason`: The `reason` of a data record, the `type` of an event, or one that the service
   * raises itself. Left out or empty, every event triggers it.
   *
   * - `schedule`: When it may be sent, in the time zone of `params`. An object, or a string in the
   * form of the responses; an empty string removes it.
   *
   * - `deviceTypes`: Only devices of these types; empty for all.
   *
   * - `tags`: Free words to find it by.
   *
   * - `enabled`: Whether it works; a disabled one does nothing, and is kept.
   *
   * `POST /notification`; needs `notification.write`.
   */
  create(groupId: string, options: { params: string; type: string; name: string; description?: string; deviceId?: string; reason?: string; schedule?: string | m.Schedule; deviceTypes?: string[]; tags?: string[]; enabled?: boolean }): Promise<m.Notification> {
    return this.transport.request({ method: "POST", path: "/notification", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Update a notification.
   *
   * Members left out are unchanged; null removes `name`, `description`, `deviceId`, `reason` and
   * `schedule`, of the last three an empty string, too. A mask in `params` keeps the secret. A new
   * `reason` or geofence resets the trigger state; otherwise nothing is sent again.
   *
   * - `groupId`: The id of the group.
   *
   * - `params`: A JSON object, as described by the type's `expectedParameters`.
   *
   * - `name`: The new name.
   *
   * - `description`: A text about it, for people.
   *
   * - `type`: The new notification type.
   *
   * - `deviceId`: Only records of this device; empty for all.
   *
   * - `reason`: The `reason` of a data record, the `type` of an event, or one that the service
   * raises itself. Left out or empty, every event triggers it.
   *
   * - `schedule`: When it may be sent, in the time zone of `params`. An object, or a string in the
   * form of the responses; an empty string removes it.
   *
   * - `enabled`: Whether it works; a disabled one does nothing, and is kept.
   *
   * - `deviceTypes`: Only devices of these types; empty for all.
   *
   * - `tags`: Free words to find it by.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `PUT /notification`; needs `notification.write`.
   */
  update(notificationId: string, options: { groupId: string; params?: string; name?: string; description?: string; type?: string; deviceId?: string; reason?: string; schedule?: string | m.Schedule; enabled?: boolean; deviceTypes?: string[]; tags?: string[]; ifUpdatedAt?: When }): Promise<m.Notification> {
    return this.transport.request({ method: "PUT", path: "/notification", isRepeatable: false, body: { notificationId, ...options } });
  }

  /**
   * Delete a notification.
   *
   * `name` is the id of the group. Queued messages are deleted as well.
   *
   * - `groupId`: The id of the **group**; the interface calls it so.
   *
   * `DELETE /notification`; needs `notification.write`.
   */
  delete(notificationId: string, options: { groupId: string }): Promise<m.Notification> {
    return this.transport.request({ method: "DELETE", path: "/notification", isRepeatable: false, query: renamed({ notificationId, ...options }, { groupId: "name" }) });
  }

  /**
   * List the notification types.
   *
   * - `limit`: The maximum number of items per page.
   *
   * `GET /notification/notificationTypes`.
   */
  types(options: { limit?: number } = {}): Pages<m.NotificationType, m.NotificationTypeConnection> {
    return new Pages(this.transport, { method: "GET", path: "/notification/notificationTypes", isRepeatable: true, query: { ...options } }, "items");
  }

  /**
   * Get a notification type.
   *
   * `expectedParameters` is a JSON Schema, as text.
   *
   * `GET /notification/notificationType`.
   */
  type(type: string): Promise<m.NotificationType> {
    return this.transport.request({ method: "GET", path: "/notification/notificationType", isRepeatable: true, query: { type } });
  }

  /**
   * Send a test notification.
   *
   * With sample content to every recipient, regardless of schedule and throttle. The outcome is
   * visible in `lastSentAt` and `error`. Limited to a few requests per minute and caller.
   *
   * - `groupId`: The id of the group.
   *
   * `POST /notification/test`; needs `notification.write`.
   */
  test(notificationId: string, options: { groupId: string }): Promise<m.NotificationTest> {
    return this.transport.request({ method: "POST", path: "/notification/test", isRepeatable: false, body: { notificationId, ...options } });
  }

  /**
   * Find out when a notification would have raised alarms.
   *
   * One with the reason `measurement`, stored or not, is tried with what its devices have sent in
   * a range of time, as it would have been then: with its duration, its hysteresis, and what it
   * does when values stay away. Nothing is sent and nothing is stored. What the devices are and
   * what they are configured to is as of now; records of other groups they were in do not count.
   *
   * An answer has the next devices, as far as one request goes; `nextToken` goes on behind them,
   * and its messages are to be added.
   *
   * - `notification`: One that is not stored, as `POST /notification` takes it; or
   * `notificationId`.
   *
   * - `notificationId`: A stored one of this group.
   *
   * - `beginDate`: It is as if it had been created then.
   *
   * - `endDate`: The end of the range, at most 366 days behind its begin.
   *
   * - `limit`: How many devices are examined at most.
   *
   * - `nextToken`: The nextToken of the answer before.
   *
   * `POST /notification/backtest`; needs `notification.read`.
   */
  backtest(groupId: string, options: { notification?: m.NotificationDraftInput; notificationId?: string; beginDate: When; endDate: When; limit?: number; nextToken?: string }): Promise<m.BacktestResult> {
    return this.transport.request({ method: "POST", path: "/notification/backtest", isRepeatable: true, body: { groupId, ...options } });
  }
}

export class ContactPointsNoun extends Noun {
  /**
   * List the contact points of a group.
   *
   * With `usable` also those that groups above share with it, of which only the name and the type
   * are shown to callers who may not read notifications there. With `subgroups` also those of the
   * groups below; not both.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `subgroups`: With those of all groups below it.
   *
   * - `usable`: Also those of groups above that notifications of this group may use.
   *
   * `GET /group/contactPoints`; needs `notification.read`.
   */
  list(groupId: string, options: { limit?: number; subgroups?: boolean; usable?: boolean } = {}): Pages<m.ContactPoint, m.ContactPointConnection> {
    return new Pages(this.transport, { method: "GET", path: "/group/contactPoints", isRepeatable: true, query: { groupId, ...options } }, "items");
  }

  /**
   * Get a contact point.
   *
   * Secrets in `params` are masked unless the caller may update it.
   *
   * - `groupId`: The id of the group.
   *
   * `GET /contactPoint`; needs `notification.read`.
   */
  get(contactPointId: string, options: { groupId?: string } = {}): Promise<m.ContactPoint> {
    return this.transport.request({ method: "GET", path: "/contactPoint", isRepeatable: true, query: { contactPointId, ...options } });
  }

  /**
   * Create a contact point.
   *
   * Notifications of the group name it by its id in `contactPoints` or `escalateTo` of their
   * `params`; with `subgroups` in its own, those of the groups below as well.
   *
   * - `name`: Its name.
   *
   * - `type`: The contact point type: `email`, `webhook`, `push`, `chat` or `rota`.
   *
   * - `params`: A JSON object, as described by the type's `expectedParameters`.
   *
   * - `description`: A text about it, for people.
   *
   * `POST /contactPoint`; needs `notification.write`.
   */
  create(groupId: string, options: { name: string; type: string; params: string; description?: string }): Promise<m.ContactPoint> {
    return this.transport.request({ method: "POST", path: "/contactPoint", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Update a contact point.
   *
   * Members left out are unchanged; null removes `name` and `description`. A mask in `params`
   * keeps the secret. Messages that wait go to the new recipients only if these were meant before.
   *
   * - `groupId`: The id of the group.
   *
   * - `name`: Its name.
   *
   * - `type`: The contact point type: `email`, `webhook`, `push`, `chat` or `rota`.
   *
   * - `params`: A JSON object, as described by the type's `expectedParameters`.
   *
   * - `description`: A text about it, for people.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `PUT /contactPoint`; needs `notification.write`.
   */
  update(contactPointId: string, options: { groupId: string; name?: string; type?: string; params?: string; description?: string; ifUpdatedAt?: When }): Promise<m.ContactPoint> {
    return this.transport.request({ method: "PUT", path: "/contactPoint", isRepeatable: false, body: { contactPointId, ...options } });
  }

  /**
   * Delete a contact point.
   *
   * Its queued messages are deleted as well.
   *
   * - `groupId`: The id of the group.
   *
   * `DELETE /contactPoint`; needs `notification.write`.
   */
  delete(contactPointId: string, options: { groupId: string }): Promise<m.ContactPoint> {
    return this.transport.request({ method: "DELETE", path: "/contactPoint", isRepeatable: false, query: { contactPointId, ...options } });
  }

  /**
   * List the contact point types.
   *
   * - `limit`: The maximum number of items per page.
   *
   * `GET /contactPoint/contactPointTypes`.
   */
  types(options: { limit?: number } = {}): Pages<m.ContactPointType, m.ContactPointTypeConnection> {
    return new Pages(this.transport, { method: "GET", path: "/contactPoint/contactPointTypes", isRepeatable: true, query: { ...options } }, "items");
  }

  /**
   * Send a test to a contact point.
   *
   * To all who would be notified now. The outcome is visible in `lastSentAt` and `error`. Limited
   * to a few requests per minute and caller.
   *
   * - `groupId`: The id of the group.
   *
   * `POST /contactPoint/test`; needs `notification.write`.
   */
  test(contactPointId: string, options: { groupId: string }): Promise<m.NotificationTest> {
    return this.transport.request({ method: "POST", path: "/contactPoint/test", isRepeatable: false, body: { contactPointId, ...options } });
  }
}

export class ReportsNoun extends Noun {
  /**
   * List the reports of a group.
   *
   * With what became of each last; with `subgroups` also those of the groups below.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `subgroups`: With those of all groups below it.
   *
   * `GET /group/reports`; needs `notification.read`.
   */
  list(groupId: string, options: { limit?: number; subgroups?: boolean } = {}): Pages<m.Report, m.ReportConnection> {
    return new Pages(this.transport, { method: "GET", path: "/group/reports", isRepeatable: true, query: { groupId, ...options } }, "items");
  }

  /**
   * Create a report.
   *
   * A file that is made and sent every day, week or month, by mail to members who have accepted,
   * or to addresses in domains that the operator allows, or to a webhook. It is read with the
   * permissions that its creator has at that time. If the service was not running when it was due,
   * it is sent as soon as that is, once. A file that is too large for a mail is kept for a week,
   * and the mail has a link to it.
   *
   * - `name`: What it is called, in the subject of its mails.
   *
   * - `content`: What is in it: records that arrived in the period, numbers of a measurement in
   * it, the devices as they are now, or alarms that were raised in it.
   *
   * - `parameters`: What to choose, as in the query of `GET /records/export`, `GET /group/series`,
   * `GET /devices/export` or `GET /group/alarms`; without dates, formats and pages.
   *
   * - `every`: How often, and the period that it is about: the day, the week from Monday to Sunday
   * or the month before. A weekly one is sent on Mondays, a monthly one on the first.
   *
   * - `at`: When, on the clock of `timezone`. Where that leaves the time out, it is sent when the
   * clock is changed, and where it shows it twice, the first time.
   *
   * - `timezone`: Whose days it is about: a name of the IANA database.
   *
   * - `format`: Of the file.
   *
   * - `to`: To whom it goes.
   *
   * - `enabled`: Whether it is sent; by default it is.
   *
   * `POST /report`; needs `notification.write`.
   */
  create(groupId: string, options: { name: string; content: m.ReportContent; parameters?: Record<string, unknown>; every: m.ReportSpan; at: string; timezone?: string; format?: m.ReportFormat; to: m.ReportContact; enabled?: boolean }): Promise<m.Report> {
    return this.transport.request({ method: "POST", path: "/report", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Update a report.
   *
   * Members left out are unchanged. From now on it is read with the permissions of the caller.
   *
   * - `reportId`: The id of the report.
   *
   * - `name`: What it is called, in the subject of its mails.
   *
   * - `content`: What is in it: records that arrived in the period, numbers of a measurement in
   * it, the devices as they are now, or alarms that were raised in it.
   *
   * - `parameters`: What to choose, as in the query of `GET /records/export`, `GET /group/series`,
   * `GET /devices/export` or `GET /group/alarms`; without dates, formats and pages.
   *
   * - `every`: How often, and the period that it is about: the day, the week from Monday to Sunday
   * or the month before. A weekly one is sent on Mondays, a monthly one on the first.
   *
   * - `at`: When, on the clock of `timezone`. Where that leaves the time out, it is sent when the
   * clock is changed, and where it shows it twice, the first time.
   *
   * - `timezone`: Whose days it is about: a name of the IANA database.
   *
   * - `format`: Of the file.
   *
   * - `to`: To whom it goes.
   *
   * - `enabled`: Whether it is sent.
   *
   * - `ifUpdatedAt`: The `updatedAt` that the update is based on; 409 if there is another by now.
   *
   * `PUT /report`; needs `notification.write`.
   */
  update(groupId: string, options: { reportId: string; name?: string; content?: m.ReportContent; parameters?: Record<string, unknown>; every?: m.ReportSpan; at?: string; timezone?: string; format?: m.ReportFormat; to?: m.ReportContact; enabled?: boolean; ifUpdatedAt?: When }): Promise<m.Report> {
    return this.transport.request({ method: "PUT", path: "/report", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Delete a report.
   *
   * What was not sent yet is not sent any more, and links to its files lead nowhere.
   *
   * - `groupId`: The id of the group.
   *
   * `DELETE /report`; needs `notification.write`.
   */
  delete(reportId: string, options: { groupId: string }): Promise<m.Report> {
    return this.transport.request({ method: "DELETE", path: "/report", isRepeatable: false, query: { reportId, ...options } });
  }

  /**
   * Send a report now.
   *
   * About the last whole day, week or month, to its recipients; its schedule stays as it is.
   * `lastRun` says what became of it. Limited to a few requests per minute and caller.
   *
   * - `groupId`: The id of the group.
   *
   * `POST /report/send`; needs `notification.write`.
   */
  send(reportId: string, options: { groupId: string }): Promise<m.Report> {
    return this.transport.request({ method: "POST", path: "/report/send", isRepeatable: false, body: { reportId, ...options } });
  }

  /**
   * Get what the link of a report opens.
   *
   * With the secret of the link as the access token, as for its file.
   *
   * `GET /report/link`.
   */
  link(): Promise<m.ReportDownload> {
    return this.transport.request({ method: "GET", path: "/report/link", isRepeatable: true });
  }

  /**
   * Download the file of a report.
   *
   * With the secret of the link in its mail as the access token, which opens nothing else, for a
   * week; not if the report was deleted meanwhile, or its creator may not read this any more.
   *
   * `GET /report/file`.
   */
  download(): AsyncGenerator<Uint8Array, void, void> {
    return this.transport.stream({ method: "GET", path: "/report/file", isRepeatable: true });
  }
}

export class SharesNoun extends Noun {
  /**
   * List the links that show something of a group.
   *
   * With how often each was used, the newest first; until a week after they expire.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `subgroups`: With those of all groups below it.
   *
   * `GET /group/shares`; needs `notification.read`.
   */
  list(groupId: string, options: { limit?: number; subgroups?: boolean } = {}): Pages<m.ShareLink, m.ShareLinkConnection> {
    return new Pages(this.transport, { method: "GET", path: "/group/shares", isRepeatable: true, query: { groupId, ...options } }, "items");
  }

  /**
   * Create a link that shows something of a group.
   *
   * To whoever has it, without signing in, until it expires or is deleted: a chart, what a device
   * says now, a list of devices or a map. It is read with the permissions that its creator has at
   * that time, and shows nothing as soon as they could not create it any more. Only pages of
   * `origins` may embed it.
   *
   * - `name`: Its name.
   *
   * - `expiresInDays`: How long the link works; up to 31 days if an app client creates it.
   *
   * - `origins`: Of pages that may embed it; no other may.
   *
   * - `chart`: Numbers over time.
   *
   * - `device`: What a device says now.
   *
   * - `list`: Devices with some of their current values.
   *
   * - `map`: Where the devices are.
   *
   * `POST /share`; needs `notification.write`.
   */
  create(groupId: string, options: { name: string; expiresInDays: number; origins?: string[]; chart?: m.SharedChart; device?: m.SharedDevice; list?: m.SharedList; map?: m.SharedMap }): Promise<m.NewShareLink> {
    return this.transport.request({ method: "POST", path: "/share", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * Revoke a link.
   *
   * It shows nothing from now on. The audit log keeps what it showed, and when it was used.
   *
   * - `groupId`: The id of the group.
   *
   * `DELETE /share`; needs `notification.write`.
   */
  delete(shareId: string, options: { groupId: string }): Promise<m.ShareLink> {
    return this.transport.request({ method: "DELETE", path: "/share", isRepeatable: false, query: { shareId, ...options } });
  }

  /**
   * Get what a link shows.
   *
   * With the secret of the link as the access token, which opens nothing else.
   *
   * `GET /share/link`.
   */
  view(): Promise<m.SharedView> {
    return this.transport.request({ method: "GET", path: "/share/link", isRepeatable: true });
  }

  /**
   * Get the numbers of a shared chart.
   *
   * With the secret of the link as the access token.
   *
   * `GET /share/series`.
   */
  series(): Promise<m.SharedSeries> {
    return this.transport.request({ method: "GET", path: "/share/series", isRepeatable: true });
  }

  /**
   * List the devices of a shared list, or get a shared device.
   *
   * With their current values, and with the secret of the link as the access token.
   *
   * - `limit`: The maximum number of items per page.
   *
   * `GET /share/devices`.
   */
  devices(options: { limit?: number } = {}): Pages<m.SharedColumn, m.SharedDevices> {
    return new Pages(this.transport, { method: "GET", path: "/share/devices", isRepeatable: true, query: { ...options } }, "columns");
  }

  /**
   * List the positions of a shared map.
   *
   * With the secret of the link as the access token.
   *
   * - `limit`: The maximum number of items per page.
   *
   * `GET /share/positions`.
   */
  positions(options: { limit?: number } = {}): Pages<m.SharedPosition, m.SharedPositions> {
    return new Pages(this.transport, { method: "GET", path: "/share/positions", isRepeatable: true, query: { ...options } }, "items");
  }
}

export class AlarmsNoun extends Noun {
  /**
   * List the alarms of a group.
   *
   * What is wrong now with its devices and connectors, or was, as its notifications and those of
   * groups above say it; those that were raised last first.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `subgroups`: With those of all groups below it.
   *
   * - `state`: `open`, whether acknowledged or not, `resolved` or `all`.
   *
   * - `deviceId`: The id of the device.
   *
   * - `severity`: That of a notification.
   *
   * - `reason`: Of its notification: `measurement`, `deviceSilent`, `batteryLow`,
   * `configurationDrift`, `geofenceEnter`, `geofenceExit`, `connectorFailing` or `messagesFailed`.
   *
   * - `silenceId`: Those of which this silence has held messages back, ended or not.
   *
   * - `beginDate`: Raised at or after this.
   *
   * - `endDate`: Raised before this.
   *
   * `GET /group/alarms`; needs `notification.read`.
   */
  list(groupId: string, options: { limit?: number; subgroups?: boolean; state?: m.ListedAlarms; deviceId?: string; severity?: m.Severity; reason?: string; silenceId?: string; beginDate?: When; endDate?: When } = {}): Pages<m.Alarm, m.AlarmConnection> {
    return new Pages(this.transport, { method: "GET", path: "/group/alarms", isRepeatable: true, query: { groupId, ...options } }, "items");
  }

  /**
   * Acknowledge an alarm.
   *
   * Says that somebody cares about it. One that is acknowledged already stays as it is. One with
   * the reason `messagesFailed` is resolved by that.
   *
   * - `groupId`: The group of the alarm.
   *
   * - `comment`: What is said about it.
   *
   * `POST /alarm/acknowledge`; needs `notification.write`.
   */
  acknowledge(alarmId: string, options: { groupId: string; comment?: string }): Promise<m.Alarm> {
    return this.transport.request({ method: "POST", path: "/alarm/acknowledge", isRepeatable: false, body: { alarmId, ...options } });
  }

  /**
   * Silence alarms.
   *
   * They are recorded, and nobody is notified of them until it ends; those that are still open are
   * sent then, once.
   *
   * - `subgroups`: Also about devices and connectors of the groups below it.
   *
   * - `deviceIds`: Only about these devices.
   *
   * - `tags`: Only about devices with all of these tags.
   *
   * - `types`: Only about devices of these types.
   *
   * - `severity`: Only alarms of this severity.
   *
   * - `from`: From when on; now unless given.
   *
   * - `until`: When it ends.
   *
   * - `schedule`: When it may be sent, in the time zone of `params`. An object, or a string in the
   * form of the responses; an empty string removes it.
   *
   * - `timezone`: The zone that the schedule is meant in, by its IANA name.
   *
   * - `reason`: Why, for whoever wonders.
   *
   * `POST /alarm/silence`; needs `notification.write`.
   */
  silence(groupId: string, options: { subgroups?: boolean; deviceIds?: string[]; tags?: string[]; types?: string[]; severity?: m.Severity; from?: When; until: When; schedule?: string | m.Schedule; timezone?: string; reason: string }): Promise<m.Silence> {
    return this.transport.request({ method: "POST", path: "/alarm/silence", isRepeatable: false, body: { groupId, ...options } });
  }

  /**
   * List the silences of a group.
   *
   * With of how many alarms each has held messages back; those that end last first. They are
   * listed for 30 days after their end.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `subgroups`: With those of all groups below it.
   *
   * `GET /group/silences`; needs `notification.read`.
   */
  silences(groupId: string, options: { limit?: number; subgroups?: boolean } = {}): Pages<m.Silence, m.SilenceConnection> {
    return new Pages(this.transport, { method: "GET", path: "/group/silences", isRepeatable: true, query: { groupId, ...options } }, "items");
  }

  /**
   * End a silence.
   *
   * What it has held back is sent within a minute, if the alarm is still open.
   *
   * - `groupId`: The id of the group.
   *
   * `DELETE /alarm/silence`; needs `notification.write`.
   */
  endSilence(silenceId: string, options: { groupId: string }): Promise<m.Silence> {
    return this.transport.request({ method: "DELETE", path: "/alarm/silence", isRepeatable: false, query: { silenceId, ...options } });
  }
}

export class JobsNoun extends Noun {
  /**
   * List the jobs of a group.
   *
   * Newest first, with who started them and why; with `subgroups` also those of the groups below.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `subgroups`: With those of all groups below it.
   *
   * - `state`: Only jobs in this state.
   *
   * `GET /jobs`; needs `device.read`.
   */
  list(groupId: string, options: { limit?: number; subgroups?: boolean; state?: m.JobState } = {}): Pages<m.Job, m.JobConnection> {
    return new Pages(this.transport, { method: "GET", path: "/jobs", isRepeatable: true, query: { groupId, ...options } }, "items");
  }

  /**
   * Get a job and its progress.
   *
   * - `groupId`: The id of the group.
   *
   * `GET /job`; needs `device.read`.
   */
  get(jobId: string, options: { groupId: string }): Promise<m.Job> {
    return this.transport.request({ method: "GET", path: "/job", isRepeatable: true, query: { jobId, ...options } });
  }

  /**
   * Start a job.
   *
   * It works in the background, in small steps, with the permissions that its starter has at each
   * step; see `GET /job`. With `dryRun` nothing is started: the response has the number of devices
   * and some of them. `filter` is evaluated when a device is reached; devices that are created
   * later are not part of the job.
   *
   * - `groupId`: The id of the group.
   *
   * - `deviceIds`: Devices of the group. Or else `filter`.
   *
   * - `filter`: Which devices of the group. Or else `deviceIds`.
   *
   * - `parameters`: What this kind of job needs.
   *
   * - `reason`: Why, for whoever looks at the list of jobs or at the audit log.
   *
   * - `dryRun`: Only count the devices, and list some of them; nothing is changed.
   *
   * `POST /job`; needs `device.read`.
   */
  start(kind: m.StartableJobKind, options: { groupId: string; deviceIds?: string[]; filter?: m.JobFilter; parameters?: m.JobParameters; reason?: string; dryRun?: boolean }): Promise<m.JobReturn> {
    return this.transport.request({ method: "POST", path: "/job", isRepeatable: false, body: { kind, ...options } });
  }

  /**
   * List what a job did with single devices.
   *
   * In the order in which they were processed. Those that were changed are listed as long as the
   * job can be undone; of those that were skipped or failed, the first 10,000. Devices for which
   * there was nothing to change are only counted.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `groupId`: The id of the group.
   *
   * - `outcome`: Only devices with this outcome.
   *
   * `GET /job/items`; needs `device.read`.
   */
  items(jobId: string, options: { limit?: number; groupId: string; outcome?: m.JobOutcome }): Pages<m.JobItem, m.JobItemConnection> {
    return new Pages(this.transport, { method: "GET", path: "/job/items", isRepeatable: true, query: { jobId, ...options } }, "items");
  }

  /**
   * Get the file of an export.
   *
   * For 24 hours after the end of the job, for everybody who may export the same; of the audit
   * log, for whoever has started the job.
   *
   * - `groupId`: The id of the group.
   *
   * `GET /job/result`; needs `device.read`.
   */
  result(jobId: string, options: { groupId: string }): AsyncGenerator<Uint8Array, void, void> {
    return this.transport.stream({ method: "GET", path: "/job/result", isRepeatable: true, query: { jobId, ...options } });
  }

  /**
   * Delete the file of an export before it expires.
   *
   * It makes room for others. A job without a file is unchanged.
   *
   * - `groupId`: The id of the group.
   *
   * `DELETE /job/result`; needs `device.read`.
   */
  deleteResult(jobId: string, options: { groupId: string }): Promise<m.Job> {
    return this.transport.request({ method: "DELETE", path: "/job/result", isRepeatable: false, query: { jobId, ...options } });
  }

  /**
   * Cancel a job.
   *
   * What it has done stays done, and can be undone; messages that a resend or replay has queued
   * are still sent, see `POST /connector/messages/cancel`. A job that has ended is unchanged.
   *
   * - `groupId`: The id of the group.
   *
   * `POST /job/cancel`; needs `device.read`.
   */
  cancel(jobId: string, options: { groupId: string }): Promise<m.Job> {
    return this.transport.request({ method: "POST", path: "/job/cancel", isRepeatable: false, body: { jobId, ...options } });
  }

  /**
   * Undo a job.
   *
   * For 24 hours after its end. The undo is a job as well, which is returned. It skips devices
   * that were changed since, and lists them with `GET /job/items`.
   *
   * - `groupId`: The id of the group.
   *
   * - `reason`: Why, for whoever looks at the list of jobs or at the audit log.
   *
   * `POST /job/undo`; needs `device.read`.
   */
  undo(jobId: string, options: { groupId: string; reason?: string }): Promise<m.Job> {
    return this.transport.request({ method: "POST", path: "/job/undo", isRepeatable: false, body: { jobId, ...options } });
  }
}

export class AuditNoun extends Noun {
  /**
   * List the audit log of a group.
   *
   * Every change in the group, newest first: who made it, in which request, and what the changed
   * fields were before and after. Operators also see the address of the caller. A page with
   * filters reads 2,000 entries at most, so it can be short, or empty, and still have a
   * `nextToken`.
   *
   * - `limit`: The maximum number of items per page.
   *
   * - `subgroups`: Include the groups below.
   *
   * - `objectId`: Only changes of this object.
   *
   * - `actorId`: Only changes by this user or app client.
   *
   * - `action`: Only this action, like `device.update`.
   *
   * - `requestId`: Only changes by this request.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * `GET /group/audit`; needs `audit.read`.
   */
  list(groupId: string, options: { limit?: number; subgroups?: boolean; objectId?: string; actorId?: string; action?: string; requestId?: string; beginDate?: When; endDate?: When } = {}): Pages<m.AuditEntry, m.AuditEntryConnection> {
    return new Pages(this.transport, { method: "GET", path: "/group/audit", isRepeatable: true, query: { groupId, ...options } }, "items");
  }

  /**
   * Export the audit log of a group.
   *
   * With the filters of its list, newest first.
   *
   * - `subgroups`: Include the groups below.
   *
   * - `objectId`: Only changes of this object.
   *
   * - `actorId`: Only changes by this user or app client.
   *
   * - `action`: Only this action, like `device.update`.
   *
   * - `requestId`: Only changes by this request.
   *
   * - `beginDate`: The begin of the range, which is part of it. RFC 3339, a date alone, or seconds
   * or milliseconds since 1970. Without an offset it is UTC.
   *
   * - `endDate`: The end of the range, which is not part of it; a date without a time includes
   * that day. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it
   * is UTC.
   *
   * - `format`: CSV with a header, or one JSON object per line.
   *
   * - `after`: Continue after the row of this id; for an export that was interrupted.
   *
   * `GET /group/audit/export`; needs `audit.read`.
   */
  export(groupId: string, options: { subgroups?: boolean; objectId?: string; actorId?: string; action?: string; requestId?: string; beginDate?: When; endDate?: When; format?: m.ExportFormat; after?: string } = {}): AsyncGenerator<Uint8Array, void, void> {
    return this.transport.stream({ method: "GET", path: "/group/audit/export", isRepeatable: true, query: { groupId, ...options } });
  }
}

export class NetworksNoun extends Noun {
  /**
   * Take a message of the vendor's network: data.
   *
   * The device is looked up by the network's own id, in the group of the token or below it. The
   * response is sent once the records are committed; the same message sent again is stored once.
   * Without a body, the message is read from the query.
   *
   * `POST /network/vendor/data`.
   */
  vendorData(body: Record<string, unknown>): Promise<Record<string, unknown>> {
    return this.transport.request({ method: "POST", path: "/network/vendor/data", isRepeatable: true, body });
  }

  /**
   * Take a message of the vendor's network: dataAdvanced.
   *
   * The device is looked up by the network's own id, in the group of the token or below it. The
   * response is sent once the records are committed; the same message sent again is stored once.
   * Without a body, the message is read from the query.
   *
   * `POST /network/vendor/dataAdvanced`.
   */
  vendorDataAdvanced(body: Record<string, unknown>): Promise<Record<string, unknown>> {
    return this.transport.request({ method: "POST", path: "/network/vendor/dataAdvanced", isRepeatable: true, body });
  }

  /**
   * Take a message of the vendor's network: status.
   *
   * The device is looked up by the network's own id, in the group of the token or below it. The
   * response is sent once the records are committed; the same message sent again is stored once.
   * Without a body, the message is read from the query.
   *
   * `POST /network/vendor/status`.
   */
  vendorStatus(body: Record<string, unknown>): Promise<Record<string, unknown>> {
    return this.transport.request({ method: "POST", path: "/network/vendor/status", isRepeatable: true, body });
  }

  /**
   * Take a message of the vendor's network: acknowledge.
   *
   * The device is looked up by the network's own id, in the group of the token or below it. The
   * response is sent once the records are committed; the same message sent again is stored once.
   * Without a body, the message is read from the query.
   *
   * `POST /network/vendor/acknowledge`.
   */
  vendorAcknowledge(body: Record<string, unknown>): Promise<Record<string, unknown>> {
    return this.transport.request({ method: "POST", path: "/network/vendor/acknowledge", isRepeatable: true, body });
  }

  /**
   * Take a message of the vendor's network: error.
   *
   * The device is looked up by the network's own id, in the group of the token or below it. The
   * response is sent once the records are committed; the same message sent again is stored once.
   * Without a body, the message is read from the query.
   *
   * `POST /network/vendor/error`.
   */
  vendorError(body: Record<string, unknown>): Promise<Record<string, unknown>> {
    return this.transport.request({ method: "POST", path: "/network/vendor/error", isRepeatable: true, body });
  }

  /**
   * Take an event of ChirpStack's HTTP integration.
   *
   * The device is looked up by the network's own id, in the group of the token or below it. The
   * response is sent once the records are committed; the same message sent again is stored once.
   * Without a body, the message is read from the query.
   *
   * - `event`: The type of the event; ChirpStack adds it.
   *
   * `POST /network/chirpstack`.
   */
  chirpstack(body: Record<string, unknown>, options: { event: m.ChirpstackEvent }): Promise<Record<string, unknown>> {
    return this.transport.request({ method: "POST", path: "/network/chirpstack", isRepeatable: true, body, query: { ...options } });
  }

  /**
   * Take a message of a webhook of The Things Stack.
   *
   * The device is looked up by the network's own id, in the group of the token or below it. The
   * response is sent once the records are committed; the same message sent again is stored once.
   * Without a body, the message is read from the query.
   *
   * `POST /network/ttn`.
   */
  ttn(body: Record<string, unknown>): Promise<Record<string, unknown>> {
    return this.transport.request({ method: "POST", path: "/network/ttn", isRepeatable: true, body });
  }

  /**
   * Take a message of an HTTP output of LORIOT.
   *
   * The device is looked up by the network's own id, in the group of the token or below it. The
   * response is sent once the records are committed; the same message sent again is stored once.
   * Without a body, the message is read from the query.
   *
   * - `encoding`: How payloads are written. Without it they must be hex in lower case.
   *
   * `POST /network/loriot`.
   */
  loriot(body: Record<string, unknown>, options: { encoding?: m.PayloadEncoding } = {}): Promise<Record<string, unknown>> {
    return this.transport.request({ method: "POST", path: "/network/loriot", isRepeatable: true, body, query: { ...options } });
  }

  /**
   * Take a report of ThingPark's network server.
   *
   * The device is looked up by the network's own id, in the group of the token or below it. The
   * response is sent once the records are committed; the same message sent again is stored once.
   * Without a body, the message is read from the query.
   *
   * `POST /network/thingpark`.
   */
  thingpark(body: Record<string, unknown>): Promise<Record<string, unknown>> {
    return this.transport.request({ method: "POST", path: "/network/thingpark", isRepeatable: true, body });
  }
}

export class Nouns {
  readonly groups: GroupsNoun;
  readonly members: MembersNoun;
  readonly measurements: MeasurementsNoun;
  readonly roles: RolesNoun;
  readonly permissions: PermissionsNoun;
  readonly users: UsersNoun;
  readonly appClients: AppClientsNoun;
  readonly devices: DevicesNoun;
  readonly unknownDevices: UnknownDevicesNoun;
  readonly deviceTypes: DeviceTypesNoun;
  readonly downlinks: DownlinksNoun;
  readonly data: DataNoun;
  readonly events: EventsNoun;
  readonly geolocations: GeolocationsNoun;
  readonly telemetry: TelemetryNoun;
  readonly records: RecordsNoun;
  readonly connectors: ConnectorsNoun;
  readonly messages: MessagesNoun;
  readonly replays: ReplaysNoun;
  readonly notifications: NotificationsNoun;
  readonly contactPoints: ContactPointsNoun;
  readonly reports: ReportsNoun;
  readonly shares: SharesNoun;
  readonly alarms: AlarmsNoun;
  readonly jobs: JobsNoun;
  readonly audit: AuditNoun;
  readonly networks: NetworksNoun;

  constructor(protected readonly transport: Transport) {
    this.groups = new GroupsNoun(transport);
    this.members = new MembersNoun(transport);
    this.measurements = new MeasurementsNoun(transport);
    this.roles = new RolesNoun(transport);
    this.permissions = new PermissionsNoun(transport);
    this.users = new UsersNoun(transport);
    this.appClients = new AppClientsNoun(transport);
    this.devices = new DevicesNoun(transport);
    this.unknownDevices = new UnknownDevicesNoun(transport);
    this.deviceTypes = new DeviceTypesNoun(transport);
    this.downlinks = new DownlinksNoun(transport);
    this.data = new DataNoun(transport);
    this.events = new EventsNoun(transport);
    this.geolocations = new GeolocationsNoun(transport);
    this.telemetry = new TelemetryNoun(transport);
    this.records = new RecordsNoun(transport);
    this.connectors = new ConnectorsNoun(transport);
    this.messages = new MessagesNoun(transport);
    this.replays = new ReplaysNoun(transport);
    this.notifications = new NotificationsNoun(transport);
    this.contactPoints = new ContactPointsNoun(transport);
    this.reports = new ReportsNoun(transport);
    this.shares = new SharesNoun(transport);
    this.alarms = new AlarmsNoun(transport);
    this.jobs = new JobsNoun(transport);
    this.audit = new AuditNoun(transport);
    this.networks = new NetworksNoun(transport);
  }
}
