// How long after the first step each step of a trace was: "+ 3 ms".
import { t } from "~/messages/trace";

export function offsetText(moment: number | null, first: number | null): string {
  if (moment === null || first === null) return "";
  const ms = moment - first;
  const sign = ms < 0 ? "−" : "+";
  const size = Math.abs(ms);
  if (size < 1_000) return `${sign} ${Math.round(size)} ms`;
  if (size < 60_000) return `${sign} ${(size / 1_000).toFixed(2)} s`;
  if (size < 3_600_000) return `${sign} ${Math.floor(size / 60_000)} min ${Math.round((size % 60_000) / 1_000)} s`;
  return `${sign} ${(size / 3_600_000).toFixed(1)} h`;
}

const SOURCES: Readonly<Record<string, string>> = {
  api: t("API"),
  batch: t("APIInBatch"),
  mqtt: "MQTT",
  system: t("serviceItself"),
  chirpstack: "ChirpStack",
  ttn: t("ThingsStack"),
  loriot: "LORIOT",
  thingpark: "ThingPark",
  vendor: t("vendorsNetwork"),
};

export function sourceWords(source: string): string {
  return SOURCES[source] ?? source;
}

export function isNetwork(source: string): boolean {
  return !["api", "batch", "mqtt", "system"].includes(source);
}

// A JSON text in one line with spaces; with line breaks where that is too long; else as it is.
export function prettyJson(text: string, widthMax = 400): string {
  try {
    const value: unknown = JSON.parse(text);
    const tall = JSON.stringify(value, null, 1);
    // Line breaks in strings are escaped, so every one here is between members.
    const line = tall.replace(/(?<=[[{])\n *|\n *(?=[\]}])/g, "").replace(/\n */g, " ");
    return line.length <= widthMax ? line : JSON.stringify(value, null, 2);
  } catch {
    return text;
  }
}

export function curlOf(origin: string, path: string): string {
  return `curl -H "Authorization: Bearer $TOKEN" \\
  "${origin}${path}"`;
}
