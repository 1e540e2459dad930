import type { Schemas } from "~/api/client";
import type { Rights } from "~/api/may";

type Role = Schemas["Role"];
type Member = Schemas["PublicUser"];

// Roles that somebody may give: those that hold nothing that they lack.
export function grantable(roles: readonly Role[], rights: Rights): Role[] {
  if (rights.isOperator) return [...roles];
  return roles.filter((role) => role.permissions.every((permission) => rights.permissions.has(permission)));
}

// A group keeps somebody who can manage its members.
export function isLastAdministrator(member: Member, members: readonly Member[]): boolean {
  const manages = (each: Member) => each.role?.permissions.includes("member.write") ?? false;
  return manages(member) && members.filter(manages).length === 1;
}
