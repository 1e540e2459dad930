// The kinds of messages that a connector forwards, as a choice and as the text of its parameter.
import { words } from "./form";
import type { Params } from "./params";

export interface KindChoice {
  readonly kind: string;
  readonly label: string;
  readonly hint?: string;
}

const RECORD_KINDS: readonly string[] = ["data", "event", "geoloc", "telemetry"];

export const KINDS: readonly KindChoice[] = [
  { kind: "data", label: "Data" },
  { kind: "event", label: "Events" },
  { kind: "geoloc", label: "Geolocations" },
  { kind: "telemetry", label: "Telemetry" },
  { kind: "alarm", label: "Alarms", hint: "When one is raised, acknowledged or resolved." },
  { kind: "registry", label: "Changes of devices", hint: "When one is created, changed, moved, deleted or gets other hardware." },
];

// Those that stored parameters name.
export function namedKinds(params: Params): string[] {
  return Array.isArray(params.kinds) ? params.kinds.map(String) : [];
}

// Without a choice: all records.
export function chosenKinds(text: string | undefined): readonly string[] {
  const named = words(text ?? "");
  return named.length ? named : RECORD_KINDS;
}

export function kindsText(chosen: readonly string[], kind: string, isOn: boolean): string {
  const kept = KINDS.map((each) => each.kind).filter((each) => (each === kind ? isOn : chosen.includes(each)));
  const isDefault = kept.length === RECORD_KINDS.length && RECORD_KINDS.every((each) => kept.includes(each));
  return isDefault ? "" : kept.join(", ");
}
