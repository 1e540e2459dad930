// From nothing to a forwarded record. Each step ticks itself when the service has seen it.
import { useEffect, useRef, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { Schemas } from "~/api/client";
import { mayCall, type Rights } from "~/api/may";
import { listen } from "~/live/connection";
import { NetworkGuide } from "~/pages/groups/network-token";
import { Locked } from "~/ui/why";
import { Arrivals, useArrivals } from "./arrivals";
import { NextThings } from "./next-things";
import { firstRecordQuery, groupTotalsQuery } from "./queries";
import { UseSample } from "./sample-bar";
import { t } from "~/messages/overview";

const FORWARDED_DAYS = 30;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const COUNTED_MS = 5_500;

interface StepState {
  readonly hasDevice: boolean;
  readonly hasRecord: boolean;
  readonly hasConnector: boolean;
  readonly hasForwarded: boolean;
}

// Devices of one's own, of which a sample is none: how many there are, and whether one has reported.
function ownDevices({ devices }: Schemas["GroupOverview"], sample: Schemas["Device"] | null): { count: number; haveReported: boolean } {
  const count = (devices?.total ?? 0) - (sample ? 1 : 0);
  const silent = devices?.never;
  return { count, haveReported: silent === null || silent === undefined || count > silent };
}

function useSteps(groupId: string, rights: Rights, overview: Schemas["GroupOverview"], sample: Schemas["Device"] | null): StepState | null {
  const client = useQueryClient();
  const mayRead = mayCall(rights, "GET /group/records");
  const first = useQuery({ ...firstRecordQuery(groupId), enabled: mayRead });
  // Whole hours: one question for everybody who opens the page.
  const end = (Math.floor(Date.now() / HOUR_MS) + 1) * HOUR_MS;
  const totals = groupTotalsQuery(groupId, { begin: end - FORWARDED_DAYS * DAY_MS, end });
  const forwarded = useQuery({ ...totals, staleTime: 0 });
  const own = ownDevices(overview, sample);
  const hasRecord = (first.data?.items.length ?? 0) > 0 && own.haveReported;
  const hasForwarded = (forwarded.data?.totalConnectorMessageProcessed ?? 0) > 0;
  const isDone = hasRecord && hasForwarded;
  useEffect(() => {
    if (!mayRead || isDone) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = () => {
      void client.invalidateQueries({ queryKey: firstRecordQuery(groupId).queryKey });
      void client.invalidateQueries({ queryKey: ["group-metrics", groupId] });
      void client.invalidateQueries({ queryKey: ["overview", groupId] });
    };
    const stop = listen({ groupId }, true, (event) => {
      if (event.type !== "records" && event.type !== "deliveries" && event.type !== "changed") return;
      // The service counts every few seconds at most, so the first answer may be an older one.
      if (timer === undefined) ask();
      clearTimeout(timer);
      timer = setTimeout(() => {
        timer = undefined;
        ask();
      }, COUNTED_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [groupId, mayRead, isDone, client]);
  if (!overview.devices || !overview.connectors || !first.data || !forwarded.data) return null;
  return { hasDevice: own.count > 0, hasRecord, hasConnector: overview.connectors.total > 0, hasForwarded };
}

export function FirstSteps({
  groupId,
  rights,
  overview,
  sample,
}: {
  groupId: string;
  rights: Rights;
  overview: Schemas["GroupOverview"];
  sample: Schemas["Device"] | null;
}) {
  const steps = useSteps(groupId, rights, overview, sample);
  // Once it was shown it stays for this visit, so that the last step can be seen to tick.
  const wasShown = useRef(false);
  if (steps !== null) wasShown.current ||= !steps.hasDevice || !steps.hasRecord || !steps.hasConnector;
  const isDone = steps !== null && steps.hasDevice && steps.hasRecord && steps.hasForwarded;
  const arrived = useArrivals(groupId, wasShown.current && !isDone && mayCall(rights, "GET /group/unknownDevices"));
  if (steps === null || !wasShown.current) return null;
  return (
    <section className="card overview-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">{isDone ? t("AllFourStepsAreDoneRecords") : t("FourStepsToFirstForwardedRecord")}</h2>
      {!isDone && sample === null && <UseSample groupId={groupId} rights={rights} />}
      <ol>
        <Step
          isDone={steps.hasRecord || arrived.length > 0}
          title={t("ConnectNetwork")}
          text={t("EnterTheseValuesAtYourNetwork")}
          always={!steps.hasRecord && (mayCall(rights, "PUT /group") ? <NetworkGuide groupId={groupId} /> : <Locked label={t("SeeToken")} operation="PUT /group" groupId={groupId} />)}
        />
        <Step
          isDone={steps.hasDevice}
          title={t("CreateDevice")}
          text={t("RecordsBelongToDevicesDeviceHas")}
          always={<Arrivals groupId={groupId} rights={rights} devices={arrived} />}
        >
          {mayCall(rights, "POST /device") ? (
            <p className="form-actions">
              <Link to="/g/$groupId/devices" params={{ groupId }} className="button button-normal">
                {t("Devices")}
              </Link>
              <Link to="/g/$groupId/devices/import" params={{ groupId }} className="button button-normal">
                {t("Import")}
              </Link>
            </p>
          ) : (
            <Locked label={t("CreateDevice")} operation="POST /device" groupId={groupId} />
          )}
        </Step>
        <Step isDone={steps.hasRecord} isWaiting={steps.hasDevice && !steps.hasRecord} title={t("ReceiveFirstRecord")} text={t("ItIsSeenHereAsSoon")}>
          <Link to="/g/$groupId/live" params={{ groupId }}>
            {t("WatchWhatArrives")}
          </Link>
        </Step>
        <Step
          isDone={steps.hasForwarded}
          isWaiting={steps.hasConnector && !steps.hasForwarded}
          title={t("ForwardIt")}
          text={steps.hasConnector ? t("ThereIsConnectorNextRecordThat") : t("connectorDeliversEveryRecordToSystem")}
        >
          {mayCall(rights, "POST /connector") ? (
            <Link to="/g/$groupId/connectors/new" params={{ groupId }} className="button button-normal">
              {t("NewConnector")}
            </Link>
          ) : (
            <Locked label={t("NewConnector")} operation="POST /connector" groupId={groupId} />
          )}
        </Step>
      </ol>
      {isDone && <NextThings groupId={groupId} rights={rights} />}
    </section>
  );
}

// `always` is shown of a step that is done, too.
function Step({
  isDone,
  isWaiting = false,
  title,
  text,
  always,
  children,
}: {
  isDone: boolean;
  isWaiting?: boolean;
  title: string;
  text: string;
  always?: ReactNode;
  children?: ReactNode;
}) {
  const state = isDone ? "done" : isWaiting ? "waiting" : t("toDo");
  return (
    <li className="overview-step" data-state={state}>
      <span className="overview-tick" aria-hidden="true">
        {isDone ? "✓" : ""}
      </span>
      <div className="overview-step-text">
        <h3>
          {title} <span className={isDone || isWaiting ? "ink-2" : "visually-hidden"}>· {state}</span>
        </h3>
        {!isDone && (
          <>
            <p className="ink-2">{text}</p>
            {children}
          </>
        )}
        {always}
      </div>
    </li>
  );
}
