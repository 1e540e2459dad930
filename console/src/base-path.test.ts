import { expect, it } from "vitest";
import { basePathOf } from "./base-path";

it.each([
  ["/console/1a2b/assets/index.js", "/console/g/1/overview", ""],
  ["/console/src/base-path.ts", "/console/", ""],
  ["/longwire/console/1a2b/assets/index.js", "/longwire/console/g/1/overview", "/longwire"],
  ["/a/console/console/1a2b/assets/index.js", "/a/console/console/", "/a/console"],
  // Past the proxy.
  ["/longwire/console/1a2b/assets/index.js", "/console/groups", ""],
])("with the script at %s the page at %s is below %j", (script, page, path) => {
  expect(basePathOf(script, page)).toBe(path);
});
