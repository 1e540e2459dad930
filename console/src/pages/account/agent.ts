// "Firefox on Linux" out of the text that browsers send; the whole text where it is unusual.
import { t } from "~/messages/account";

const BROWSERS: readonly (readonly [string, string])[] = [
  [t("Firefox"), t("Firefox")],
  [t("Edg"), t("Edge")],
  [t("Chrome"), t("Chrome")],
  [t("Safari"), t("Safari")],
];
const SYSTEMS = [t("Android"), "iPhone", t("Windows"), t("MacOS"), t("Linux")] as const;

export function describeAgent(agent: string): string {
  const browser = BROWSERS.find(([mark]) => agent.includes(mark))?.[1];
  const system = SYSTEMS.find((each) => agent.includes(each));
  if (!browser) return agent || "A program";
  return system ? t("browserOnSystem", { browser, system }) : browser;
}
