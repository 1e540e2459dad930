import { expect, test } from "vitest";
import type { Schemas } from "~/api/client";
import { grantable, isLastAdministrator } from "./grants";

const role = (id: string, ...permissions: string[]): Schemas["Role"] => ({ id, name: id, description: "", permissions });
const ADMIN = role("admin", "member.write", "device.read");
const VIEWER = role("viewer", "device.read");
const member = (id: string, held: Schemas["Role"]): Schemas["PublicUser"] => ({ id, role: held });

test("a role can be given by who holds all of it, and by operators", () => {
  const viewer = { isOperator: false, permissions: new Set(["device.read"]) };
  expect(grantable([ADMIN, VIEWER], viewer)).toEqual([VIEWER]);
  expect(grantable([ADMIN, VIEWER], { ...viewer, isOperator: true })).toEqual([ADMIN, VIEWER]);
});

test("only the last one who can manage members is locked", () => {
  const ada = member("ada", ADMIN);
  const grace = member("grace", VIEWER);
  expect(isLastAdministrator(ada, [ada, grace])).toBe(true);
  expect(isLastAdministrator(grace, [ada, grace])).toBe(false);
  expect(isLastAdministrator(ada, [ada, member("eve", ADMIN)])).toBe(false);
});
