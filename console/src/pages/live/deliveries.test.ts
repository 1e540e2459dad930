import { describe, expect, it } from "vitest";
import { recordOfMessage, wentByRecord, wentWords } from "./deliveries";

describe("where records went", () => {
  it.each([
    ["msg_2a_19805e2c41a0003", "rec_19805e2c41a0003"],
    ["msg_1_f", "rec_f"],
    ["msg_1", null],
    ["", null],
  ])("%s is about %s", (message, record) => expect(recordOfMessage(message)).toBe(record));

  it("counts the messages of each record by how they are", () => {
    const message = (id: string, status: "succeed" | "failed" | "processing") => ({ connectorId: "c", id, status });
    const found = wentByRecord([message("msg_1_a", "succeed"), message("msg_2_a", "failed"), message("msg_3_a", "succeed"), message("msg_1_b", "processing"), message("?", "failed")]);
    expect([...found]).toEqual([
      ["rec_a", { delivered: 2, waiting: 0, failed: 1 }],
      ["rec_b", { delivered: 0, waiting: 1, failed: 0 }],
    ]);
  });

  it("says it in words", () => expect(wentWords({ delivered: 2, waiting: 0, failed: 1 })).toBe("2 delivered, 1 failed"));
});
