// The preview of a draft on the last records, while it is being written.
import { useRef } from "react";
import { useQuery } from "@tanstack/react-query";
import { ApiProblem, api, read, type Schemas } from "~/api/client";
import { DeviceName } from "~/pages/messages/device-name";
import { Button } from "~/ui/button";
import { copyText } from "~/ui/copy";
import { Card } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { useSettled } from "~/ui/settled";
import { showToast } from "~/ui/toast";
import { TimeText } from "~/ui/time-text";
import { KINDS } from "./kinds";
import { countPreview, curlOfRequest, mistakeIn, requestText, verdictOf, type PreviewItem } from "./preview";
import { t } from "~/messages/connectors";

const LOOKED_AT = 100;
const REASONS_SHOWN = 2;
const PAUSE_MS = 300;

export interface PreviewState {
  // Of the last draft without a mistake.
  items: readonly PreviewItem[] | null;
  // Kinds of which nothing is stored that it could be tried on.
  without?: readonly string[];
  problem: ApiProblem | null;
  error: Error | null;
  isFetching: boolean;
}

// Without a draft: what the saved connector would do.
export function usePreview(groupId: string, connectorId: string | null, draft: Schemas["PreviewDraft"] | null, isEnabled = true): PreviewState {
  const settled = useSettled(draft, PAUSE_MS);
  const query = useQuery({
    queryKey: ["connector-preview", groupId, connectorId, settled],
    queryFn: ({ signal }) => {
      const body = { groupId, limit: LOOKED_AT, ...(connectorId ? { connectorId } : {}), ...(settled ? { draft: settled } : {}) };
      return read(api.POST("/connector/preview", { body, signal }));
    },
    // Not for a draft that is older than what says that it is complete.
    enabled: isEnabled && JSON.stringify(settled) === JSON.stringify(draft),
    staleTime: 5_000,
  });
  const last = useRef<readonly PreviewItem[] | null>(null);
  if (query.data) last.current = query.data.items;
  // What was wrong stays until the service has said what is wrong now: nothing moves or unfolds
  // because somebody writes elsewhere.
  const error = useRef<Error | null>(null);
  if (!query.isPending || !query.isFetching) error.current = query.error;
  const problem = error.current instanceof ApiProblem ? error.current : null;
  return { items: last.current, without: query.data?.kindsWithoutExamples ?? [], problem, error: error.current, isFetching: query.isFetching };
}

export function MistakePlace({ expression, message }: { expression: string; message: string | undefined }) {
  if (!message) return null;
  const mistake = mistakeIn(expression, message);
  if (!mistake) return <p className="field-error">{message}</p>;
  return (
    <div className="mistake" role="status">
      <p className="field-error">
        {t("LineLineColumnColumnText", { line: mistake.line, column: mistake.column, text: mistake.text })}
      </p>
      <pre>
        {mistake.before}
        <mark>{mistake.at}</mark>
        {mistake.after}
      </pre>
    </div>
  );
}

export function PreviewSummary({ preview, isChanged }: { preview: PreviewState; isChanged: boolean }) {
  if (!preview.items) return null;
  const counts = countPreview(preview.items);
  const without = (preview.without ?? []).map((kind) => KINDS.find((each) => each.kind === kind)?.label.toLowerCase() ?? kind);
  const missing = without.length ? t("NoValueAreStoredYetTo", { value: without.join(" and no ") }) : "";
  if (counts.total === 0) return <p className="ink-2">{missing || t("ThereAreNoRecordsYetTo")}</p>;
  const isBad = counts.pass === 0 || counts.errors.length > 0;
  return (
    <p className={isChanged ? "preview-summary preview-changed" : "preview-summary"} role="status">
      {t.rich("valueLastRecordsStrongValue2", { value: isChanged && preview.problem ? t("BeforeMistakeOn") : t("On"), strong: <strong className={isBad ? "figure-warn" : undefined}>
        {t("passOfTotalValue", { pass: counts.pass, total: counts.total, value: t("pass", { count: counts.pass }) })}
      </strong>, value2: isChanged && counts.passedBefore !== null && t("passedBeforeDidWithSavedOne", { passedBefore: counts.passedBefore }) })}
      {counts.errors.slice(0, REASONS_SHOWN).map(([reason, count]) => (
        <span key={reason}>
          {" "}
          {t("ForCountFilterCannotBeEvaluated", { count, reason })}
        </span>
      ))}
      {counts.missing.slice(0, REASONS_SHOWN).map(([field, count]) => (
        <span key={field}>
          {" "}
          {t.rich("countValueNoCode", { count, value: t("have", { count }), code: <code>{field}</code> })}
        </span>
      ))}
      {missing && <span> {missing}</span>}
    </p>
  );
}

const SHOWN_MAX = 100;

export function PreviewRows({ items, chosen, onChoose, isChanged }: { items: readonly PreviewItem[]; chosen: number; onChoose: (index: number) => void; isChanged: boolean }) {
  // Rows that change their answer come first: they are what an edit is about.
  const order = items.map((item, index) => ({ item, index }));
  if (isChanged) order.sort((a, b) => Number(b.item.matches !== b.item.matchedBefore) - Number(a.item.matches !== a.item.matchedBefore));
  return (
    <div className="preview-rows" tabIndex={0} role="region" aria-label={t("RecordsThatWereTried")}>
      <table className="plain">
        <thead>
          <tr>
            <th>{t("Time")}</th>
            <th>{t("Device")}</th>
            <th>{t("Passes")}</th>
            <th>{t("WhyNot")}</th>
          </tr>
        </thead>
        <tbody>
          {order.slice(0, SHOWN_MAX).map(({ item, index }) => {
            const verdict = verdictOf(item);
            return (
              <tr key={index} className={index === chosen ? "preview-chosen" : undefined}>
                <td className="number">
                  <button type="button" className="link" aria-pressed={index === chosen} title={t("ShowWhatWouldBeSent")} onClick={() => onChoose(index)}>
                    <TimeText at={item.timestamp} precision="recent" />
                  </button>
                </td>
                <td>
                  {item.deviceId ? <DeviceName deviceId={item.deviceId} /> : "-"}
                </td>
                <td>
                  <Pill tone={verdict.tone}>{verdict.label}</Pill>
                </td>
                <td className="ink-2">{item.reason}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

// The record that is chosen, else the first that passes.
export function chosenIndex(items: readonly PreviewItem[], chosen: number | null): number {
  if (chosen !== null && items[chosen]) return chosen;
  const first = items.findIndex((each) => each.matches);
  return first < 0 ? 0 : first;
}

export function WouldSend({ item }: { item: PreviewItem | undefined }) {
  const request = item?.request;
  const curl = request ? curlOfRequest(request) : null;
  const copy = async () => showToast((await copyText(curl ?? "")) ? t("CommandCopied") : t("browserDoesNotLetThisPage"));
  return (
    <Card
      title={t("Preview")}
      note={
        item ? (
          <>
            {t.rich("recordOfTimeNothingIsSent", { time: <TimeText at={item.timestamp} precision="recent" /> })}
          </>
        ) : undefined
      }
    >
      {!item && <p className="ink-2">{t("ThereAreNoRecordsYetToShowItWith")}</p>}
      {item && !request && <p className="ink-2">{t("NothingValue", { value: item.reason || t("requestCannotBeBuilt") })}</p>}
      {request && (
        <div className="would-send">
          <pre tabIndex={0}>{requestText(request)}</pre>
          {curl && <Button onClick={() => void copy()}>{t("CopyAsCurl")}</Button>}
        </div>
      )}
    </Card>
  );
}
