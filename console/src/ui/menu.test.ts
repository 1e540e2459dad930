import { describe, expect, it } from "vitest";
import { offeredItems, type MenuItem } from "./menu";

const item = (given: Partial<MenuItem>): MenuItem => ({ label: "Rename", writes: true, onSelect: () => {}, ...given });
const reasons = (items: readonly MenuItem[], isUnreachable: boolean) => offeredItems(items, isUnreachable).map((each) => each.disabledReason);

describe("a menu", () => {
  it("offers nothing that writes while the service is unreachable, whatever it looks like", () => {
    const items = [item({}), item({ look: "danger" }), item({ writes: false })];
    expect(reasons(items, true)).toEqual(["The service cannot be reached", "The service cannot be reached", undefined]);
    expect(reasons(items, false)).toEqual([undefined, undefined, undefined]);
  });

  it("says why an item is disabled for a reason of its own", () => {
    const items = [item({ disabledReason: "The last administrator stays." }), item({ writes: false, disabledReason: "One moment" })];
    expect(reasons(items, false)).toEqual(["The last administrator stays.", "One moment"]);
    expect(reasons(items, true)).toEqual(["The service cannot be reached", "One moment"]);
  });
});
