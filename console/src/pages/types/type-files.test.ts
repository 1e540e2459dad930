import { expect, test } from "vitest";
import { chooseFiles, listDevices } from "./type-files";

const FILES = {
  "acme/vendor.toml": "[vendor]",
  "acme/devices/sonar.toml": '[device]\n[[device.firmware]]\ncodec = "sonar.js"',
  "acme/devices/radar.toml": '[device]\n[[device.firmware]]\ncodec = "radar.js"',
  "acme/codecs/sonar.js": "radar.js",
  "acme/codecs/radar.js": "",
  "acme/codecs/test_decode_sonar.json": "[]",
  "acme/codecs/test_decode_radar.json": "[]",
};

test("a device comes with what its file names, and with the examples of its codec", () => {
  expect([...listDevices(FILES).keys()].sort()).toEqual(["radar", "sonar"]);
  expect(Object.keys(chooseFiles(FILES, "sonar"))).toEqual(["acme/codecs/sonar.js", "acme/codecs/test_decode_sonar.json", "acme/devices/sonar.toml", "acme/vendor.toml"]);
  const things = { "x/probe.yaml": "firmwareVersions:\n  - codec: probe-codec", "x/probe-codec.yaml": "fileName: a.js", "x/a.js": "", "x/b.js": "" };
  expect(Object.keys(chooseFiles(things, "probe"))).toEqual(["x/a.js", "x/probe-codec.yaml", "x/probe.yaml"]);
  expect(chooseFiles({ "a.js": "" }, "")).toEqual({ "a.js": "" });
});
