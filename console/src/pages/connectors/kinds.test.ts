import { expect, test } from "vitest";
import { chosenKinds, kindsText } from "./kinds";

test("without a choice all records are chosen, and that is no choice again", () => {
  const records = chosenKinds("");
  expect(records).toEqual(["data", "event", "geoloc", "telemetry"]);
  const more = kindsText(records, "alarm", true);
  expect(more).toBe("data, event, geoloc, telemetry, alarm");
  expect(kindsText(chosenKinds(more), "alarm", false)).toBe("");
  expect(kindsText(chosenKinds("alarm"), "registry", true)).toBe("alarm, registry");
});
