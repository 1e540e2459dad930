// A job in words: what it does, with which devices, and how far it is.
import type { Schemas } from "~/api/client";
import type { Tone } from "~/ui/pill";

export type Job = Schemas["Job"];

export const KIND_WORDS: Readonly<Record<string, string>> = {
  tag: "Tag devices",
  type: "Change the type",
  transfer: "Move devices",
  configuration: "Set the configuration",
  delete: "Delete devices",
  redecode: "Redecode records",
  resend: "Resend dead letters",
  replay: "Replay records",
  export: "Export",
  undo: "Undo a job",
};

export const STATE_TONES: Readonly<Record<string, Tone>> = { succeeded: "good", failed: "bad", running: "warn" };

export function isOpen(job: Pick<Job, "state">): boolean {
  return job.state === "waiting" || job.state === "running";
}

export function jobTitle(job: Pick<Job, "kind">): string {
  return KIND_WORDS[job.kind] ?? job.kind;
}

const SEEN: Readonly<Record<string, string>> = {
  hour: "seen in the last hour",
  day: "seen in the last day",
  week: "seen in the last week",
  longer: "seen longer ago than a week",
  never: "never seen",
  silent: "that are silent",
};

type Filter = Schemas["JobFilterReply"];

export function filterWords(filter: Filter | null | undefined): string {
  if (!filter) return "The devices that were named";
  const parts = [
    filter.type && `of type ${filter.type}`,
    filter.network && `on ${filter.network}`,
    filter.tag && `tagged ${filter.tag}`,
    filter.q && `that match “${filter.q}”`,
    filter.seen && (SEEN[filter.seen] ?? filter.seen),
    typeof filter.batteryBelow === "number" && `with a battery below ${filter.batteryBelow} %`,
  ].filter(Boolean);
  return `All devices${parts.length ? ` ${parts.join(", ")}` : ""}${filter.subgroups ? ", with the groups below" : ""}`;
}

const PARAMETER_LABELS: Readonly<Record<string, string>> = {
  toGroupId: "To group",
  addTags: "Add tags",
  removeTags: "Remove tags",
  type: "New type",
  configuration: "Configuration",
  connectorId: "Connector",
  beginDate: "From",
  endDate: "To",
  content: "Content",
  format: "Format",
  recordKind: "Kind of records",
  deviceId: "Device",
  objectId: "Thing",
  actorId: "By",
  action: "Action",
  subgroups: "With groups below",
};

export function parameterRows(parameters: Schemas["JobParametersReply"] | null | undefined): [string, string, string][] {
  return Object.entries(parameters ?? {})
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => [name, PARAMETER_LABELS[name] ?? name, Array.isArray(value) ? value.join(", ") : typeof value === "boolean" ? (value ? "yes" : "no") : String(value)]);
}

export function progressWords(job: Pick<Job, "done" | "total" | "changed" | "skipped" | "failed">): string {
  const number = (value: number) => value.toLocaleString("en");
  const parts = [
    `${number(job.done)} of ${typeof job.total === "number" ? number(job.total) : "?"}`,
    job.changed > 0 && `${number(job.changed)} changed`,
    job.skipped > 0 && `${number(job.skipped)} skipped`,
    job.failed > 0 && `${number(job.failed)} failed`,
  ];
  return parts.filter(Boolean).join(" · ");
}

const NO_UNDO: Readonly<Record<string, string>> = {
  messages_sent: "what was sent cannot be recalled",
  values_replaced: "the old values are not kept; redecode again with the old decoder",
  nothing_changed: "an export changes nothing",
  is_undo: "an undo is not undone; start the job again",
};

// Why a job cannot be undone now; null if it can.
export function noUndoReason(job: Pick<Job, "state" | "noUndo" | "undoneBy" | "undoUntil" | "changed" | "endedAt">, now: number): string | null {
  if (job.noUndo) return NO_UNDO[job.noUndo] ?? job.noUndo;
  if (isOpen(job)) return "it has not ended yet";
  if (job.undoneBy) return "it is undone";
  if (!job.undoUntil || Date.parse(job.undoUntil) <= now) return "its 24 hours are over";
  return job.changed === 0 ? "it changed nothing" : null;
}

const ERRORS: Readonly<Record<string, string>> = {
  not_allowed: "Whoever started it has lost a permission it needs.",
  actor_gone: "The app client that started it was deleted or has expired.",
  type_gone: "The device type was deleted.",
  connector_gone: "The connector was deleted.",
  result_too_large: "There is no room for its file. Delete older files, or export less.",
  internal: "The service failed; its operator finds why in the log.",
};

export function errorWords(code: string): string {
  return ERRORS[code] ?? code;
}

const CODES: Readonly<Record<string, string>> = {
  gone: "was deleted or moved meanwhile",
  too_many_tags: "would have too many tags",
  changed_meanwhile: "was changed since",
  original_id_taken: "another device has its original id now",
  type_gone: "its type does not exist any more",
  not_allowed: "is in a group where whoever started the job lacks a permission",
  not_kept: "its old values were not kept",
  rejected: "the decoder rejected some of its payloads",
};

export function codeWords(code: string | null | undefined): string {
  return code ? (CODES[code] ?? code) : "";
}
