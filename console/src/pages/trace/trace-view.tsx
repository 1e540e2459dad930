// One rail from the network to every attempt: how a record came in, and what became of it.
import { useState, type ReactNode } from "react";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, read, type Schemas } from "~/api/client";
import { groupQuery } from "~/api/queries";
import { SERVICE_URL } from "~/base-path";
import { useZone } from "~/frame/page-state";
import { AttemptsTable, MessageActions } from "~/pages/messages/attempts";
import { isDelivered, notTakenWords, stateWords, type Message } from "~/pages/messages/words";
import { ago, duration, formatTime, momentOf } from "~/time";
import { Button } from "~/ui/button";
import { CopyButton, IdText, copyText } from "~/ui/copy";
import { Dialog } from "~/ui/dialog";
import { Card, PageHeader } from "~/ui/page";
import { KindLabel, Pill, type Tone } from "~/ui/pill";
import { QueryView } from "~/ui/state";
import { showToast } from "~/ui/toast";
import { TimeText, useNow } from "~/ui/time-text";
import { nameOr } from "~/ui/name";
import { parseRadio, radioWords } from "./radio";
import { curlOf, isNetwork, offsetText, prettyJson, sourceWords } from "./steps";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/trace";
import "./trace.css";

export type Trace = Schemas["Trace"];

const MOVING_MS = 2_000;
const RESTING_MS = 15_000;

const isMoving = (message: Message | null | undefined) => message?.state === "queued" || message?.state === "sending";

export function useTrace(query: { recordId: string } | { messageId: string }): UseQueryResult<Trace> {
  return useQuery({
    queryKey: ["trace", query],
    queryFn: ({ signal }) => read(api.GET("/record/trace", { params: { query }, signal })),
    refetchInterval: ({ state }) => (state.data?.connectors.some((each) => isMoving(each.message)) ? MOVING_MS : RESTING_MS),
  });
}

// A step of the rail: when, a dot, and what happened.
function Step({ at, first, tone = "idle", children }: { at?: string | null; first: number | null; tone?: Tone | "accent"; children: ReactNode }) {
  const moment = momentOf(at);
  const isFirst = moment !== null && moment === first;
  return (
    <li className="step">
      <div className="step-time">
        {isFirst && <TimeText at={at} precision="time" />}
        {!isFirst && moment !== null && <span title={at ?? undefined}>{offsetText(moment, first)}</span>}
      </div>
      <div className="step-dot" data-tone={tone} aria-hidden="true" />
      <div className="step-body">{children}</div>
    </li>
  );
}

function Gateways({ body }: { body: string | null | undefined }) {
  const { gateways } = parseRadio(body);
  if (gateways.length < 2) return null;
  return (
    <details>
      <summary>{t("AllGateways")}</summary>
      <table className="plain">
        <thead>
          <tr>
            <th>{t("Gateway")}</th>
            <th className="cell-end">{t("RSSIDBm")}</th>
            <th className="cell-end">{t("SNRDB")}</th>
          </tr>
        </thead>
        <tbody>
          {gateways.map((each, index) => (
            <tr key={index}>
              <td>
                <code>{each.gateway || t("notNamed")}</code>
              </td>
              <td className="number cell-end">{each.rssi ?? "–"}</td>
              <td className="number cell-end">{each.snr ?? "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function RawBody({ reception }: { reception: Schemas["Reception"] }) {
  const text = reception.body ?? reception.bodyBase64;
  if (!text) return <p className="ink-2">{t("bodyIsNotKept")}</p>;
  return (
    <details>
      <summary>{t("RawBodyValue", { value: reception.body ? "" : t("inBase64") })}</summary>
      <pre tabIndex={0}>{prettyJson(text)}</pre>
      <CopyButton text={text} label={t("CopyBody")} />
    </details>
  );
}

function Received({ trace, first }: { trace: Trace; first: number | null }) {
  const { arrival, reception } = trace;
  const words = radioWords(parseRadio(reception?.body));
  const source = sourceWords(arrival.source);
  return (
    <>
      <Step at={arrival.record.timestamp} first={first} tone="accent">
        <p>
          <strong>{isNetwork(arrival.source) ? t("ReceivedBySource", { source }) : t("SentBySource", { source })}</strong>{" "}
          <span className="ink-2">{words || t("timeThatRecordHas")}</span>
        </p>
        <Gateways body={reception?.body} />
      </Step>
      {reception && (
        <Step at={reception.receivedAt} first={first} tone="good">
          <p>
            <strong>{t("Request")}</strong>{" "}
            <span className="ink-2">
              {t("valueValue2SizeBytesRequest", { value: reception.query ? `${reception.query} · ` : "", value2: reception.contentType ? `${reception.contentType} · ` : "", size: reception.size })}
            </span>{" "}
            <IdText id={reception.requestId} />
          </p>
          <RawBody reception={reception} />
        </Step>
      )}
    </>
  );
}

function dataText(record: Trace["arrival"]["record"]): string {
  const data = "data" in record ? record.data : null;
  if (data) return data;
  const { deviceId: _device, timestamp: _time, groupId: _group, ...rest } = record as Record<string, unknown>;
  return JSON.stringify(rest);
}

function Decoded({ trace, first }: { trace: Trace; first: number | null }) {
  const { decoding, arrival } = trace;
  const record = arrival.record as { __raw?: string | null; deviceType?: string | null };
  const raw = record.__raw;
  return (
    <Step first={first} tone={decoding?.error ? "bad" : "good"}>
      <p>
        <strong>{decoding ? (decoding.error ? t("NotDecoded") : t("Decoded")) : t("Read")}</strong>{" "}
        <span className="ink-2">
          {decoding?.error ? `${decoding.error} · ` : ""}
          {decoding ? `${t("valueDecoderOf", { value: decoding.decoder || "no" })} ` : t("asItWasSent")}
          {record.deviceType ? (
            <>
              {!decoding && `${t("byDeviceOfType")} `}
              <Link to="/types/$type" params={{ type: record.deviceType }}>
                {record.deviceType}
              </Link>
            </>
          ) : (
            decoding && t("typeThatIsNotKnown")
          )}
          {decoding && decoding.names.length > 0 ? ` ${t("addedValue", { value: decoding.names.join(", ") })}` : ""}
        </span>
      </p>
      <pre tabIndex={0}>
        {raw ? `0x${raw} → ` : ""}
        {prettyJson(dataText(arrival.record))}
      </pre>
    </Step>
  );
}

function toneOf(message: Message): Tone {
  return stateWords(message.state, message.attempts.filter((each) => !isDelivered(each)).length).tone;
}

function MessageHead({ message }: { message: Message }) {
  const now = useNow();
  const failed = message.attempts.filter((each) => !isDelivered(each)).length;
  const words = stateWords(message.state, failed);
  const last = message.attempts[message.attempts.length - 1];
  const due = momentOf(message.dueAt);
  return (
    <>
      <Pill tone={words.tone}>{words.label}</Pill>{" "}
      {message.state === "succeeded" && last && (
        <span className="ink-2">
          {message.attempts.length} {t("attempts", { count: message.attempts.length })} · {duration(last.durationMs)}
          {last.status ? ` ${t("statusStatus", { status: last.status })}` : ""}
        </span>
      )}
      {message.state === "queued" && due !== null && failed > 0 && <span className="ink-2">{t("nextValue", { value: due > now ? ago(due, now) : "now" })}</span>}
      {message.resent > 0 && (
        <span className="ink-2">
          {" "}
          {t("sentAgainResentValue", { resent: message.resent, value: t("times", { count: message.resent }) })}
        </span>
      )}
    </>
  );
}

export function ConnectorStep({ name, connectorId, message, first }: { name: string; connectorId: string; message: Message; first: number | null }) {
  const isSimple = message.state === "succeeded" && message.attempts.length === 1;
  return (
    <Step at={message.createdAt} first={first} tone={toneOf(message)}>
      <div className="step-line">
        <Link to="/g/$groupId/connectors/$connectorId" params={{ groupId: message.groupId, connectorId }} className="step-name">
          {name}
        </Link>{" "}
        <MessageHead message={message} />
        <MessageActions message={message} />
      </div>
      {isSimple ? (
        <details>
          <summary>
            {t.rich("AttemptAndCode", { code: <code>webhook-id</code> })}
          </summary>
          <AttemptsTable attempts={message.attempts} label={t("AttemptsOfName", { name })} />
          <IdText id={message.event.id ?? ""} />
        </details>
      ) : (
        <>
          <AttemptsTable attempts={message.attempts} dueAt={message.dueAt} label={t("AttemptsOfName", { name })} />
          <p className="ink-2">
            <code>webhook-id</code> <IdText id={message.event.id ?? ""} />
          </p>
        </>
      )}
    </Step>
  );
}

function NotificationSteps({ trace, first, groupId }: { trace: Trace; first: number | null; groupId: string }) {
  return trace.notifications.map((each) =>
    each.deliveries.map((delivery) => {
      const words = stateWords(delivery.state, delivery.attempts.filter((one) => !isDelivered(one)).length);
      return (
        <Step key={delivery.id} at={delivery.attempts[0]?.timestamp ?? delivery.timestamp} first={first} tone={words.tone}>
          <div className="step-line">
            {t.rich("linkNotificationPill", { link: <Link
              to="/g/$groupId/notifications/$notificationId"
              params={{ groupId, notificationId: each.notificationId }}
              className="step-name"
            >
              {nameOr(each.name, each.notificationId)}
            </Link>, pill: <Pill tone={words.tone}>{words.label}</Pill> })} {delivery.error && <span className="ink-2">{delivery.error}</span>}
          </div>
          <AttemptsTable attempts={delivery.attempts} label={t("AttemptsOfName", { name: each.name ?? t("notification") })} />
        </Step>
      );
    }),
  );
}

function counted(count: number, one: string, many: string): string {
  return `${count.toLocaleString(LOCALE)} ${count === 1 ? one : many}`;
}

function Rest({ trace }: { trace: Trace }) {
  const notTaken = trace.connectors.filter((each) => each.notTaken);
  const hidden = [
    trace.hiddenConnectors ? counted(trace.hiddenConnectors, "connector", "connectors") : "",
    trace.hiddenNotifications ? counted(trace.hiddenNotifications, "notification", "notifications") : "",
  ].filter(Boolean);
  return (
    <li className="step step-rest">
      <div className="step-time" />
      <div />
      <div className="step-body">
        {notTaken.length > 0 && (
          <p className="ink-2">
            {t.rich("NotForwardedByValueByWhat", { value: notTaken.map((each, index) => (
              <span key={each.connectorId}>
                {index > 0 && ", "}
                <strong>{nameOr(each.name, each.connectorId)}</strong> ({notTakenWords(each.notTaken ?? "")})
              </span>
            )) })}
          </p>
        )}
        {trace.hasMoreConnectors && <p className="ink-2">{t("ThereAreMoreConnectorsThanAre")}</p>}
        {hidden.length > 0 && <p className="ink-2">{t("ItAlsoWentToValueThat", { value: hidden.join(" and ") })}</p>}
      </div>
    </li>
  );
}

function summary(trace: Trace): string {
  const messages = trace.connectors.flatMap((each) => (each.message ? [each.message] : []));
  const waiting = messages.filter(isMoving).length;
  const failed = messages.filter((each) => each.state === "failed" || each.state === "expired").length;
  return [
    counted(messages.length, "connector", "connectors"),
    trace.notifications.length ? counted(trace.notifications.length, "notification", "notifications") : "",
    waiting ? t("waitingStillWaiting", { waiting }) : "",
    failed ? t("failedFailed", { failed }) : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

function Above({ trace }: { trace: Trace }) {
  const { record, deviceName } = trace.arrival;
  const groupId = record.groupId ?? "";
  const group = useQuery({ ...groupQuery(groupId), enabled: groupId !== "" });
  return (
    <>
      {group.data && (
        <>
          <Link to="/g/$groupId/devices" params={{ groupId }}>
            {group.data.name ?? groupId}
          </Link>{" "}
          /{" "}
        </>
      )}
      {t.rich("linkRecordOfTime", { link: <Link to="/d/$deviceId" params={{ deviceId: record.deviceId }}>
        {deviceName || record.deviceId}
      </Link>, time: <TimeText at={record.timestamp} precision="millisecond" /> })}
    </>
  );
}

export function TraceActions({ value, curl }: { value: unknown; curl: string }) {
  const [showsJson, setShowsJson] = useState(false);
  const json = JSON.stringify(value, null, 2);
  const copy = async (text: string, what: string) => showToast((await copyText(text)) ? t("whatCopied", { what }) : t("browserDoesNotAllowThisPage"));
  return (
    <>
      <Button onClick={() => void copy(location.href, t("Link"))}>{t("CopyLink")}</Button>
      <Button onClick={() => void copy(curl, t("Command"))}>{t("CopyAsCurl")}</Button>
      <Button onClick={() => setShowsJson(true)}>{t("JSON")}</Button>
      {showsJson && (
        <Dialog title={t("TraceAsJSON")} width="wide" onClose={() => setShowsJson(false)} actions={<CopyButton text={json} label={t("CopyAll")} />}>
          <pre tabIndex={0}>{json}</pre>
        </Dialog>
      )}
    </>
  );
}

export function TraceView({ query }: { query: UseQueryResult<Trace> }) {
  const zone = useZone();
  return (
    <QueryView query={query} noun={t("record")} skeletonRows={6}>
      {(trace) => {
        const { arrival } = trace;
        const first = momentOf(arrival.record.timestamp);
        const groupId = arrival.record.groupId ?? "";
        const day = first === null ? "" : formatTime(first, zone, "day");
        return (
          <>
            <PageHeader
              title={t("OneRecordFromNetworkToEvery")}
              above={<Above trace={trace} />}
              below={
                <>
                  {day} · <KindLabel kind={arrival.kind} /> · <IdText id={arrival.id} /> · {summary(trace)}
                </>
              }
              actions={<TraceActions value={trace} curl={curlOf(SERVICE_URL, `/record/trace?recordId=${arrival.id}`)} />}
            />
            <Card>
              <ol className="rail">
                <Received trace={trace} first={first} />
                <Decoded trace={trace} first={first} />
                <Step at={arrival.arrivedAt} first={first} tone="good">
                  <p>
                    <strong>{t("Stored")}</strong> <span className="ink-2">{t("withItsDeliveriesInOneCommit")}</span>
                  </p>
                </Step>
                {trace.connectors.map(
                  (each) =>
                    each.message && (
                      <ConnectorStep key={each.connectorId} name={nameOr(each.name, each.connectorId)} connectorId={each.connectorId} message={each.message} first={first} />
                    ),
                )}
                <NotificationSteps trace={trace} first={first} groupId={groupId} />
                <Rest trace={trace} />
              </ol>
            </Card>
          </>
        );
      }}
    </QueryView>
  );
}
