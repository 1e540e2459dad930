// The kinds of messages that a connector forwards, as a choice and as the text of its parameter.
import { words } from "./form";
import type { Params } from "./params";
import { t } from "~/messages/connectors";

export interface KindChoice {
  readonly kind: string;
  readonly label: string;
  readonly hint?: string;
}

const RECORD_KINDS: readonly string[] = ["data", "event", "geoloc", "telemetry"];

export const KINDS: readonly KindChoice[] = [
  { kind: "data", label: t("Data") },
  { kind: "event", label: t("Events") },
  { kind: "geoloc", label: t("Geolocations") },
  { kind: "telemetry", label: t("Telemetry") },
  { kind: "alarm", label: t("Alarms"), hint: t("WhenOneIsRaisedAcknowledgedOr") },
  { kind: "registry", label: t("ChangesOfDevices"), hint: t("WhenOneIsCreatedChangedMoved") },
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
