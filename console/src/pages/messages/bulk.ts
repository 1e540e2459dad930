// Retry or cancel many messages: by ids in steps of 1,000, or all that match, connector by
// connector, until none is left or somebody stops it.
import { api, read, type Schemas } from "~/api/client";
import { spanOf, type TimeRange } from "~/time";
import { present, type MessageFilter } from "./queries";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/messages";

export type Verb = "retry" | "cancel";
type Changed = Schemas["MessagesChanged"];

export const STEP = 1_000;

export interface BulkResult {
  readonly changed: number;
  readonly skipped: number;
  readonly isStopped: boolean;
}

export type BulkTarget =
  | { readonly ids: readonly string[] }
  | { readonly filter: MessageFilter; readonly range: TimeRange; readonly connectorIds: readonly string[] };

export function stepsOf(ids: readonly string[], size = STEP): string[][] {
  const steps: string[][] = [];
  for (let begin = 0; begin < ids.length; begin += size) steps.push(ids.slice(begin, begin + size));
  return steps;
}

type Send = (verb: Verb, body: Schemas["RetryMessagesInput"]) => Promise<Changed>;

const send: Send = (verb, body) => {
  if (verb === "retry") return read(api.POST("/connector/messages/retry", { body }));
  const { status: _status, ...rest } = body;
  return read(api.POST("/connector/messages/cancel", { body: rest }));
};

export async function changeMessages(
  verb: Verb,
  groupId: string,
  target: BulkTarget,
  onProgress: (result: BulkResult) => void,
  isStopped: () => boolean,
  sendStep: Send = send,
): Promise<BulkResult> {
  let result: BulkResult = { changed: 0, skipped: 0, isStopped: false };
  const add = (done: Changed) => {
    result = { ...result, changed: result.changed + done.changed, skipped: result.skipped + done.skipped };
    onProgress(result);
  };
  if ("ids" in target) {
    for (const ids of stepsOf(target.ids)) {
      if (isStopped()) return { ...result, isStopped: true };
      add(await sendStep(verb, { groupId, ids }));
    }
    return result;
  }
  const { begin, end } = spanOf(target.range, Date.now());
  const { connectorId: _one, status, ...filter } = target.filter;
  for (const connectorId of target.connectorIds) {
    let isMore = true;
    while (isMore) {
      if (isStopped()) return { ...result, isStopped: true };
      const asked = { groupId, connectorId, ...filter, beginDate: String(Math.floor(begin)), endDate: String(Math.ceil(end)) };
      const done = await sendStep(verb, present({ ...asked, status: status === "processing" ? status : undefined }));
      add(done);
      isMore = done.isMore && done.changed > 0;
    }
  }
  return result;
}

export function resultWords(verb: Verb, result: BulkResult): string {
  const done = `${result.changed.toLocaleString(LOCALE)} ${t("deliveries", { count: result.changed })} ${verb === "retry" ? t("queuedAgain") : "cancelled"}`;
  const skipped = result.skipped ? t("skippedInStateInWhichThat", { skipped: result.skipped }) : "";
  return `${result.isStopped ? `${t("Stopped")} ` : ""}${done}${skipped}.`;
}
