import { expect, it } from "vitest";
import { parseViews, withView } from "./views";

it("keeps views by name, and reads nothing else", () => {
  const view = { groupId: "1", name: "Water", search: "?measurement=volume" };
  const views = withView(withView([view], { ...view, name: "Air" }), { ...view, search: "?per=day" });
  expect(views.map((each) => [each.name, each.search])).toEqual([
    ["Air", "?measurement=volume"],
    ["Water", "?per=day"],
  ]);
  expect(parseViews(JSON.stringify([...views, { name: 5 }]))).toEqual(views);
  expect([parseViews(""), parseViews("{"), parseViews("{}")]).toEqual([[], [], []]);
});
