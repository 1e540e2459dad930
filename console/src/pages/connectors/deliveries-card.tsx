// Deliveries over time; a span that is dragged over them can be replayed.
import { useState } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { useRange, useZone } from "~/frame/page-state";
import { duration, formatTime, momentOf, spanOf, type Span } from "~/time";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { Card, Facts } from "~/ui/page";
import { Series } from "~/ui/series";
import { QueryView } from "~/ui/state";
import { showToast } from "~/ui/toast";
import { nameOr } from "~/ui/name";
import { totalsOf } from "./health";
import { metricsQuery, type Connector } from "./queries";
import { secondsWords } from "~/seconds";
import { ReplayProgress, replaysQuery } from "./replays";
import { estimateWords } from "./replay-words";
import { t } from "~/messages/connectors";

function spanText(span: Span, zone: string): string {
  const isOneDay = formatTime(span.begin, zone, "day") === formatTime(span.end, zone, "day");
  return `${formatTime(span.begin, zone, "minute")} – ${formatTime(span.end, zone, isOneDay ? "clock" : "minute")}`;
}

function ReplayOffer({ connector, span, onDone }: { connector: Connector; span: Span; onDone: () => void }) {
  const zone = useZone();
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const body = {
    groupId: connector.groupId,
    connectorId: connector.id,
    beginDate: new Date(span.begin).toISOString(),
    endDate: new Date(span.end).toISOString(),
  };
  const estimate = useQuery({
    queryKey: ["replay-preview", body, connector.updatedAt],
    queryFn: ({ signal }) => read(api.POST("/connector/replay/preview", { body, signal })),
    staleTime: 30_000,
  });
  const start = useMutation({
    mutationFn: () => read(api.POST("/connector/replay", { body })),
    onSuccess: () => {
      setAsking(false);
      void client.invalidateQueries({ queryKey: replaysQuery(connector.groupId, connector.id).queryKey });
      onDone();
    },
    onError: (error) => {
      setAsking(false);
      showToast(error.message, { tone: "bad" });
    },
  });
  return (
    <div className="replay-offer">
      <QueryView query={estimate} skeletonRows={1} operation="POST /connector/replay/preview" groupId={connector.groupId}>
        {(found) => {
          const words = estimateWords(found);
          return (
            <>
              <p>
                {spanText(span, zone)} · <strong>{words.records}</strong>
                {words.before && `; ${words.before}`}
              </p>
              <div className="form-actions">
                <Button writes onClick={() => setAsking(true)} disabledReason={found.estimatedMatches === 0 ? t("NoRecordOfThisSpanPasses") : undefined}>
                  {t("ReplayCount", { count: words.count })}
                </Button>
                <Button look="quiet" onClick={onDone}>
                  {t("Clear")}
                </Button>
              </div>
              {isAsking && (
                <Dialog
                  title={t("ReplayCountRecords", { count: words.count })}
                  onClose={() => setAsking(false)}
                  actions={
                    <Button look="primary" onClick={() => start.mutate()} disabled={start.isPending}>
                      {t("ReplayCount", { count: words.count })}
                    </Button>
                  }
                >
                  <p>
                    {t("RecordsWithTimesInSpanAre", { span: spanText(span, zone), name: nameOr(connector.name, connector.id) })}
                  </p>
                  <p>
                    {t("valueWhatIsQueuedCanBe", { value: found.sentBefore
                      ? t("sentBeforeOfThemWereSentBefore", { sentBefore: found.sentBefore })
                      : t("NoneOfThemWasSentBefore") })}
                  </p>
                </Dialog>
              )}
            </>
          );
        }}
      </QueryView>
    </div>
  );
}

export function DeliveriesCard({ connector, span, onSpan }: { connector: Connector; span: Span | null; onSpan: (span: Span | null) => void }) {
  const { range } = useRange();
  const query = useQuery(metricsQuery(connector.groupId, connector.id, range));
  const mayReplay = useMay(connector.groupId, "POST /connector/replay");
  return (
    <Card title={t("Deliveries")} note={query.data ? t("perTimeSpanValue", { timeSpan: secondsWords(query.data.spans.timeSpan), value: mayReplay ? t("dragOverSpanToReplayIt") : "" }) : undefined}>
      <QueryView query={query} skeletonRows={4} operation="GET /connector/metrics" groupId={connector.groupId}>
        {({ spans }) => (
          <>
            <Series
              label={t("Deliveries")}
              look="bars"
              height={150}
              times={spans.items.map((each) => momentOf(each.timestamp) ?? 0)}
              bucketMs={spans.timeSpan * 1_000}
              span={spanOf(range, Date.now())}
              series={[
                { id: "succeeded", label: "delivered", color: "--line-strong", values: spans.items.map((each) => each.succeeded ?? 0) },
                { id: "failed", label: "failed", color: "--bad", values: spans.items.map((each) => each.failed ?? 0) },
                { id: "retried", label: "retries", color: "--warn", values: spans.items.map((each) => each.retried ?? 0) },
              ]}
              selection={span}
              onRange={mayReplay ? onSpan : undefined}
              onBack={() => onSpan(null)}
            />
            {mayReplay && !span && (
              <p className="replay-hint">
                <button type="button" className="link" onClick={() => onSpan(spanOf(range, Date.now()))}>
                  {t("ReplayAllOfThisRange")}
                </button>
              </p>
            )}
          </>
        )}
      </QueryView>
      {span && mayReplay && <ReplayOffer connector={connector} span={span} onDone={() => onSpan(null)} />}
      <ReplayProgress connector={connector} />
    </Card>
  );
}

export function ResponseTimeCard({ connector }: { connector: Connector }) {
  const { range } = useRange();
  const query = useQuery(metricsQuery(connector.groupId, connector.id, range));
  return (
    <Card title={t("ResponseTime")} note={t("ofAttemptsInThisRange")}>
      <QueryView query={query} skeletonRows={4} operation="GET /connector/metrics" groupId={connector.groupId}>
        {({ spans, all }) => {
          const totals = totalsOf(spans.items);
          const ms = all?.ms;
          return (
            <Facts
              rows={[
                ["median", ms ? duration(ms.p50) : "–"],
                ["95 of 100", ms ? duration(ms.p95) : "–"],
                ["slowest", ms ? duration(ms.max) : "–"],
                [t("attemptsPerDelivery"), totals.attemptsPerMessage === null ? "–" : totals.attemptsPerMessage.toFixed(2)],
              ]}
            />
          );
        }}
      </QueryView>
    </Card>
  );
}
