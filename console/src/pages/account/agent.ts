// "Firefox on Linux" out of the text that browsers send; the whole text where it is unusual.
import { t } from "~/messages/account";

// `key` is in the text, and the first that is decides.
const BROWSERS = [
  { key: "Firefox", name: "Firefox" },
  { key: "Edg", name: "Edge" },
  { key: "Chrome", name: "Chrome" },
  { key: "Safari", name: "Safari" },
] as const;
const SYSTEMS = [{ name: "Android" }, { name: "iPhone" }, { name: "Windows" }, { name: "Mac OS" }, { name: "Linux" }] as const;

export function describeAgent(agent: string): string {
  const browser = BROWSERS.find(({ key }) => agent.includes(key))?.name;
  const system = SYSTEMS.find(({ name }) => agent.includes(name))?.name;
  if (!browser) return agent || t("aProgram");
  return system ? t("browserOnSystem", { browser, system }) : browser;
}
