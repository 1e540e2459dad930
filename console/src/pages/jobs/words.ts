// A job in words: what it does, with which devices, and how far it is.
import type { Schemas } from "~/api/client";
import type { Tone } from "~/ui/pill";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/jobs";

export type Job = Schemas["Job"];

export const KIND_WORDS: Readonly<Record<string, string>> = {
  tag: t("TagDevices"),
  type: "Change the type",
  transfer: t("MoveDevices"),
  configuration: t("SetConfiguration"),
  delete: t("DeleteDevices"),
  redecode: t("RedecodeRecords"),
  resend: t("ResendDeadLetters"),
  replay: t("ReplayRecords"),
  export: t("Export"),
  undo: t("UndoJob"),
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
  week: t("seenInLastWeek"),
  longer: t("seenLongerAgoThanWeek"),
  never: t("neverSeen"),
  silent: t("thatAreSilent"),
};

type Filter = Schemas["JobFilterReply"];

export function filterWords(filter: Filter | null | undefined): string {
  if (!filter) return t("devicesThatWereNamed");
  const parts = [
    filter.type && t("ofTypeType", { type: filter.type }),
    filter.network && t("onNetwork", { network: filter.network }),
    filter.tag && t("taggedTag", { tag: filter.tag }),
    filter.q && t("thatMatchQ", { q: filter.q }),
    filter.seen && (SEEN[filter.seen] ?? filter.seen),
    typeof filter.batteryBelow === "number" && t("withBatteryBelowBatteryBelow", { batteryBelow: filter.batteryBelow }),
  ].filter(Boolean);
  return t("AllDevicesValueValue2", { value: parts.length ? ` ${parts.join(", ")}` : "", value2: filter.subgroups ? t("withGroupsBelow") : "" });
}

const PARAMETER_LABELS: Readonly<Record<string, string>> = {
  toGroupId: t("ToGroup"),
  addTags: t("AddTags"),
  removeTags: t("RemoveTags"),
  type: "New type",
  configuration: t("Configuration"),
  connectorId: t("Connector"),
  beginDate: t("From"),
  endDate: t("To"),
  content: t("Content"),
  format: "Format",
  recordKind: t("KindOfRecords"),
  deviceId: t("Device"),
  objectId: t("Thing"),
  actorId: t("By"),
  action: t("Action"),
  subgroups: t("WithGroupsBelow"),
};

export function parameterRows(parameters: Schemas["JobParametersReply"] | null | undefined): [string, string, string][] {
  return Object.entries(parameters ?? {})
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => [name, PARAMETER_LABELS[name] ?? name, Array.isArray(value) ? value.join(", ") : typeof value === "boolean" ? (value ? "yes" : "no") : String(value)]);
}

export function progressWords(job: Pick<Job, "done" | "total" | "changed" | "skipped" | "failed">): string {
  const number = (value: number) => value.toLocaleString(LOCALE);
  const parts = [
    t("doneOfValue", { done: number(job.done), value: typeof job.total === "number" ? number(job.total) : "?" }),
    job.changed > 0 && t("changedChanged", { changed: number(job.changed) }),
    job.skipped > 0 && t("skippedSkipped", { skipped: number(job.skipped) }),
    job.failed > 0 && t("failedFailed", { failed: number(job.failed) }),
  ];
  return parts.filter(Boolean).join(" · ");
}

const NO_UNDO: Readonly<Record<string, string>> = {
  messages_sent: t("whatWasSentCannotBeRecalled"),
  values_replaced: t("oldValuesAreNotKeptRedecode"),
  nothing_changed: t("exportChangesNothing"),
  is_undo: t("undoIsNotUndoneStartJob"),
};

// Why a job cannot be undone now; null if it can.
export function noUndoReason(job: Pick<Job, "state" | "noUndo" | "undoneBy" | "undoUntil" | "changed" | "endedAt">, now: number): string | null {
  if (job.noUndo) return NO_UNDO[job.noUndo] ?? job.noUndo;
  if (isOpen(job)) return t("itHasNotEndedYet");
  if (job.undoneBy) return t("itIsUndone");
  if (!job.undoUntil || Date.parse(job.undoUntil) <= now) return t("its24HoursAreOver");
  return job.changed === 0 ? t("itChangedNothing") : null;
}

const ERRORS: Readonly<Record<string, string>> = {
  not_allowed: t("WhoeverStartedItHasLostPermission"),
  actor_gone: t("appClientThatStartedItWas"),
  type_gone: t("deviceTypeWasDeleted"),
  connector_gone: t("connectorWasDeleted"),
  result_too_large: t("ThereIsNoRoomForIts"),
  internal: t("serviceFailedItsOperatorFindsWhy"),
};

export function errorWords(code: string): string {
  return ERRORS[code] ?? code;
}

const CODES: Readonly<Record<string, string>> = {
  gone: t("wasDeletedOrMovedMeanwhile"),
  too_many_tags: t("wouldHaveTooManyTags"),
  changed_meanwhile: t("wasChangedSince"),
  original_id_taken: t("anotherDeviceHasItsOriginalId"),
  type_gone: t("itsTypeDoesNotExistAny"),
  not_allowed: t("isInGroupWhereWhoeverStarted"),
  not_kept: t("itsOldValuesWereNotKept"),
  rejected: t("decoderRejectedSomeOfItsPayloads"),
};

export function codeWords(code: string | null | undefined): string {
  return code ? (CODES[code] ?? code) : "";
}
