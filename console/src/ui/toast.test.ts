import { expect, test, vi } from "vitest";
import { dropHeld, hasHeld, hold } from "./toast";

test("what somebody was about to send is not sent once the session is somebody else's", () => {
  vi.useFakeTimers();
  const send = vi.fn(() => Promise.resolve());
  const restore = vi.fn();
  hold("Deleting a device", send, restore);
  dropHeld();
  vi.runAllTimers();
  expect(hasHeld()).toBe(false);
  expect(send).not.toHaveBeenCalled();
  expect(restore).toHaveBeenCalledOnce();
  vi.useRealTimers();
});
