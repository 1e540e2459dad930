// How a connector is, before anything else: since when, why, what is lost, what waits, and what can
// be done about it.
import type { ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { useRange } from "~/frame/page-state";
import { ago, momentOf } from "~/time";
import { TimeText, useNow } from "~/ui/time-text";
import { countText, stateOf, type Health } from "./health";
import { adviceOf } from "./failure-words";
import { failuresQuery, healthQuery, type Connector } from "./queries";
import { ResendButton } from "./resend";
import { SendTest } from "./send-test";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/connectors";

interface StatusProps {
  connector: Connector;
  health: Health | undefined;
}

function Headline({ connector, health }: StatusProps) {
  const { code } = stateOf(connector, health);
  const failingSince = health?.failingSince ?? connector.error?.since;
  if (code === "failing" && failingSince)
    return (
      <>
        {t.rich("FailingSinceTime", { time: <TimeText at={failingSince} /> })}
      </>
    );
  if (code === "failing") return <>{t("Failing")}</>;
  if (code === "lastFailed") return <>{t("lastAttemptFailed2")}</>;
  if (code === "filterFailing")
    return (
      <>
        {t.rich("filterFailsSinceTime", { time: <TimeText at={connector.filterFailing?.since} /> })}
      </>
    );
  if (code === "stopped") return <>{t("receiverHasStoppedThisConnector")}</>;
  if (code === "disabled") return <>{t("Disabled")}</>;
  if (code === "resending") return <>{t("DeadLettersAreBeingSentAgain2")}</>;
  if (code === "heldBack") return <>{t("DeliveriesAreHeldBack")}</>;
  if (code === "rateLimited") return <>{t("AtItsRateLimit")}</>;
  if (code === "deadLetters") return <>{t("ForwardingAgainWithDeadLetters")}</>;
  if (code === "unknown") return <>{t("stateIsBeingRead")}</>;
  return <>{t("Forwarding")}</>;
}

function Cause({ connector, health }: StatusProps) {
  const { range } = useRange();
  const failures = useQuery(failuresQuery(connector.groupId, connector.id, range)).data?.items ?? [];
  const { code } = stateOf(connector, health);
  const { error, filterFailing } = connector;
  const failure = failures.find((each) => each.message === error?.message);
  if (code === "disabled") return <p>{t("NothingIsQueuedForItAnd")}</p>;
  if (code === "filterFailing" && filterFailing)
    return (
      <p>
        {t("ItCannotBeEvaluatedForFailed", { failed: filterFailing.failed, evaluated: filterFailing.evaluated, message: error?.message })}
      </p>
    );
  if (code === "rateLimited") return <p>{t("MoreDeliveriesAreDueThanThis")}</p>;
  if (code === "forwarding" || code === "unknown" || !error?.message) return null;
  return (
    <>
      <p>
        {t.rich("LastErrorStrongPart", { strong: <strong>{error.message}</strong>, part: <span className="ink-2">
          <TimeText at={error.at} withAgo />
        </span> })}
      </p>
      {failure && code !== "deadLetters" && code !== "resending" && <p>{adviceOf(failure)}</p>}
      {code === "heldBack" && <p>{t("ThisConnectorIsOrderedDeliveriesOf")}</p>}
    </>
  );
}

function Figure({ name, value, tone, children }: { name: string; value: ReactNode; tone?: "bad" | "warn" | undefined; children?: ReactNode }) {
  return (
    <div className="status-figure">
      <dt>{name}</dt>
      <dd>
        <span className={tone ? `status-value figure-${tone}` : "status-value"}>{value}</span>
        {children && <span className="status-note">{children}</span>}
      </dd>
    </div>
  );
}

function NextAttempt({ at }: { at: string }) {
  const now = useNow();
  const moment = momentOf(at) ?? now;
  return <>{moment > now ? ago(moment, now) : "now"}</>;
}

function waitingNote(health: Health): string {
  if (health.heldBack > 0) return t("heldBackForEarlierOneOfTheir", { heldBack: countText(health.heldBack) });
  if (health.rateLimited > 0) return t("rateLimitedForRateLimit", { rateLimited: countText(health.rateLimited) });
  return "";
}

function Figures({ connector, health }: { connector: Connector; health: Health }) {
  const { range } = useRange();
  const failures = useQuery(failuresQuery(connector.groupId, connector.id, range)).data;
  const items = failures?.items ?? [];
  const lost = items.reduce((total, each) => total + each.lost, 0);
  const keptUntil = items.flatMap((each) => each.keptUntil ?? []).sort()[0];
  return (
    <dl className="status-figures">
      <Figure name="Dead letters" value={countText(health.deadLetters)} tone={health.deadLetters > 0 ? "warn" : undefined}>
        {health.deadLetters > 0 && keptUntil && (
          <>
            {t.rich("keptFirstUntilTime", { time: <TimeText at={keptUntil} precision="minute" /> })}
          </>
        )}
      </Figure>
      <Figure name="Lost in this range" value={failures ? `${lost.toLocaleString(LOCALE)}${lost > 0 && failures.isMore ? "+" : ""}` : "…"} tone={lost > 0 ? "bad" : undefined}>
        {lost > 0 && t("givenUpAndNoLongerKept")}
      </Figure>
      <Figure name="Waiting" value={countText(health.waiting)} tone={health.heldBack > 0 ? "warn" : undefined}>
        {waitingNote(health)}
      </Figure>
      <Figure name="Next attempt" value={health.nextAttemptAt ? <NextAttempt at={health.nextAttemptAt} /> : "–"}>
        {health.nextAttemptAt && <TimeText at={health.nextAttemptAt} />}
      </Figure>
    </dl>
  );
}

export function StatusCard({ connector }: { connector: Connector }) {
  const health = useQuery(healthQuery(connector.groupId, connector.id)).data;
  const { tone } = stateOf(connector, health);
  return (
    <section className={`card status-card status-${tone}`} aria-labelledby="connector-status">
      <header className="status-head">
        <h2 id="connector-status">
          <Headline connector={connector} health={health} />
        </h2>
        <div className="form-actions">
          <ResendButton connector={connector} />
          <SendTest connector={connector} />
        </div>
      </header>
      <div className="status-cause">
        <Cause connector={connector} health={health} />
      </div>
      {health ? <Figures connector={connector} health={health} /> : <div className="status-figures" aria-busy="true" />}
    </section>
  );
}
