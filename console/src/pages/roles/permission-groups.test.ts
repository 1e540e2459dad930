import { expect, test } from "vitest";
import { NEEDS } from "~/api/permissions";
import { groupPermissions } from "./permission-groups";

test("every permission of the service stands once, in a group that says what it is about", () => {
  const ids = [...new Set(Object.values(NEEDS))].filter((each) => each.includes("."));
  const groups = groupPermissions(ids.map((id) => ({ id })));
  expect(groups.map(({ title }) => title)).toEqual(["Groups and people", "Devices", "Records", "Connectors and notifications", "Oversight", "Platform"]);
  expect(groups.flatMap(({ permissions }) => permissions.map(({ id }) => id)).sort()).toEqual(ids.sort());
});

test("a permission that was added stands by itself", () => {
  expect(groupPermissions([{ id: "turbine.stop" }]).map(({ title }) => title)).toEqual(["Added here"]);
});
