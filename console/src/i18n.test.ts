import { expect, test, vi } from "vitest";

test.each([
  [["de-CH", "en-US"], "de-CH"],
  [["en-US@posix", "en-IE"], "en-IE"],
  [["fr-FR@euro"], "fr"],
])("numbers are written as the first region that is one, of %j", async (languages, locale) => {
  vi.resetModules();
  vi.stubGlobal("navigator", { languages });
  const { LOCALE } = await import("./i18n");
  expect(LOCALE).toBe(locale);
  vi.unstubAllGlobals();
});
