// "Firefox on Linux" out of the text that browsers send; the whole text where it is unusual.
const BROWSERS: readonly (readonly [string, string])[] = [
  ["Firefox", "Firefox"],
  ["Edg", "Edge"],
  ["Chrome", "Chrome"],
  ["Safari", "Safari"],
];
const SYSTEMS = ["Android", "iPhone", "Windows", "Mac OS", "Linux"] as const;

export function describeAgent(agent: string): string {
  const browser = BROWSERS.find(([mark]) => agent.includes(mark))?.[1];
  const system = SYSTEMS.find((each) => agent.includes(each));
  if (!browser) return agent || "A program";
  return system ? `${browser} on ${system}` : browser;
}
