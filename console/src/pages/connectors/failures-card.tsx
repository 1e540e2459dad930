// What failed in the range, by error, each with a request and its response side by side.
import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "~/api/client";
import { useMay } from "~/api/may";
import { useRange, useZone } from "~/frame/page-state";
import { ExchangeSides } from "~/pages/messages/exchanges";
import { exchangesQuery } from "~/pages/messages/queries";
import { phaseWords } from "~/pages/messages/words";
import { duration, rangeLabel } from "~/time";
import { Button } from "~/ui/button";
import { Card } from "~/ui/page";
import { QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { Why } from "~/ui/why";
import { adviceOf } from "./failure-words";
import { failuresQuery, type Connector } from "./queries";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/connectors";

type Failure = Schemas["ConnectorFailure"];

function Example({ connector, failure }: { connector: Connector; failure: Failure }) {
  const { groupId, id } = connector;
  const mayChange = useMay(groupId, "GET /connector/exchanges");
  const mayRead = useMay(groupId, "GET /group/records");
  const query = useQuery({ ...exchangesQuery(groupId, id, failure.messageId, failure.lastAt), enabled: mayChange && mayRead });
  if (!mayChange || !mayRead)
    return (
      <p className="ink-2">
        {t.rich("WhatWasSentAndWhatReceiver", { why: <Why operation={mayChange ? "GET /group/records" : "GET /connector/exchanges"} groupId={groupId} /> })}
      </p>
    );
  return (
    <QueryView query={query} noun={t("exchange")} skeletonRows={3}>
      {({ items }) => {
        const newest = items[items.length - 1];
        if (!newest)
          return (
            <p className="ink-2">
              {connector.type === "http" ? t("WhatWasSentAndAnsweredIs") : t("RequestsAndResponsesAreKeptFor")}
            </p>
          );
        return (
          <>
            <p className="ink-2">
              {t.rich("ForExampleAtTimeAfterDurationMs", { time: <TimeText at={newest.timestamp} precision="recent" />, durationMs: duration(newest.durationMs), value: !newest.response && <>{t("whilePhase", { phase: phaseWords(newest.phase) })}</> })}
            </p>
            <ExchangeSides request={newest.request} response={newest.response} phase={newest.phase} />
          </>
        );
      }}
    </QueryView>
  );
}

function Count({ count, words, tone = "" }: { count: number; words: string; tone?: string }) {
  if (count === 0) return null;
  return (
    <span className={tone}>
      {count.toLocaleString(LOCALE)} {words}
    </span>
  );
}

function FailureGroup({ connector, failure, isFirst, onMessage }: { connector: Connector; failure: Failure; isFirst: boolean; onMessage: (id: string) => void }) {
  const [isOpen, setOpen] = useState(isFirst);
  // The state above says it of the last error.
  const advice = failure.message === connector.error?.message ? "" : adviceOf(failure);
  return (
    <details className="failure" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <strong className="failure-error">{failure.message}</strong>
        <span className="failure-count">
          <Count count={failure.count} words={t("deliveries", { count: failure.count })} />
          <Count count={failure.devices} words={t("devices", { count: failure.devices })} />
        </span>
        <span className="failure-times ink-2">
          <TimeText at={failure.firstAt} precision="recent" /> – <TimeText at={failure.lastAt} precision="recent" />
        </span>
      </summary>
      {isOpen && (
        <div className="failure-body">
          {advice && <p>{advice}</p>}
          <p className="failure-parts">
            <Count count={failure.deadLetters} words={t("deadLetters", { count: failure.deadLetters })} />
            <Count count={failure.waiting} words={t("areAttemptedAgain", { count: failure.waiting })} />
            <Count count={failure.lost} words="lost" tone="figure-bad" />
          </p>
          <Example connector={connector} failure={failure} />
          <div className="form-actions">
            <Button onClick={() => onMessage(failure.messageId)}>{t("ShowThisDelivery")}</Button>
            <Link
              to="/g/$groupId/messages"
              params={{ groupId: connector.groupId }}
              search={{ connector: connector.id, status: failure.deadLetters + failure.lost > 0 ? "failed" : "processing" }}
              className="button"
            >
              {t("AllThatFailed")}
            </Link>
          </div>
        </div>
      )}
    </details>
  );
}

export function FailuresCard({ connector, onMessage }: { connector: Connector; onMessage: (id: string) => void }) {
  const { range } = useRange();
  const zone = useZone();
  const query = useQuery(failuresQuery(connector.groupId, connector.id, range));
  return (
    <Card title={t("FailuresByError")} note={rangeLabel(range, zone)}>
      <QueryView query={query} skeletonRows={2} operation="GET /connector/failures" groupId={connector.groupId}>
        {({ items, isMore }) => (
          <>
            {items.length === 0 && <p className="ink-2">{isMore ? t("NothingOfWhatWasLookedAt") : t("NothingFailedInThisRange")}</p>}
            {items.map((failure, index) => (
              <FailureGroup key={failure.message} connector={connector} failure={failure} isFirst={index === 0} onMessage={onMessage} />
            ))}
            {items.length > 0 && isMore && <p className="ink-2">{t("OnlyNewestDeliveriesOfThisRange")}</p>}
          </>
        )}
      </QueryView>
    </Card>
  );
}
