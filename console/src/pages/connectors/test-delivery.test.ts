import { expect, test } from "vitest";
import { onlyThis } from "./test-delivery";

test("a test takes one record and nothing else", () => {
  expect(onlyThis({ deviceId: "dev_1", kind: "data", timestamp: "2026-11-15T08:30:00.000Z" })).toBe(
    "message.deviceId == 'dev_1' && message.kind == 'data' && message.timestamp == '2026-11-15T08:30:00.000Z'",
  );
  expect(onlyThis({ deviceId: "it's \\", kind: "data", timestamp: "" })).toContain("'it\\'s \\\\'");
});
