import { expect, test } from "vitest";
import { describeAgent } from "./agent";

test.each([
  ["Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"],
  ["Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"],
  ["Mozilla/5.0 (iPhone) AppleWebKit/605.1 Version/18.0 Safari/604.1", "Safari on iPhone"],
  ["curl/8.0", "curl/8.0"],
  ["", "A program"],
])("%s", (agent, words) => {
  expect(describeAgent(agent)).toBe(words);
});
