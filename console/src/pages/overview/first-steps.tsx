// From nothing to a forwarded record. Each step ticks itself when the service has seen it.
import { useEffect, useRef, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { Schemas } from "~/api/client";
import { mayCall, type Rights } from "~/api/may";
import { listen } from "~/live/connection";
import { NetworkToken } from "~/pages/groups/network-token";
import { Locked } from "~/ui/why";
import { firstRecordQuery, groupTotalsQuery } from "./queries";

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

function useSteps(groupId: string, rights: Rights, overview: Schemas["GroupOverview"]): StepState | null {
  const client = useQueryClient();
  const mayRead = mayCall(rights, "GET /group/records");
  const first = useQuery({ ...firstRecordQuery(groupId), enabled: mayRead });
  // Whole hours: one question for everybody who opens the page.
  const end = (Math.floor(Date.now() / HOUR_MS) + 1) * HOUR_MS;
  const totals = groupTotalsQuery(groupId, { begin: end - FORWARDED_DAYS * DAY_MS, end });
  const forwarded = useQuery({ ...totals, staleTime: 0 });
  const hasRecord = (first.data?.items.length ?? 0) > 0;
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
  return { hasDevice: overview.devices.total > 0, hasRecord, hasConnector: overview.connectors.total > 0, hasForwarded };
}

export function FirstSteps({ groupId, rights, overview }: { groupId: string; rights: Rights; overview: Schemas["GroupOverview"] }) {
  const steps = useSteps(groupId, rights, overview);
  // Once it was shown it stays for this visit, so that the last step can be seen to tick.
  const wasShown = useRef(false);
  if (steps === null) return null;
  wasShown.current ||= !steps.hasDevice || !steps.hasRecord || !steps.hasConnector;
  if (!wasShown.current) return null;
  const isDone = steps.hasDevice && steps.hasRecord && steps.hasForwarded;
  return (
    <section className="card overview-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">{isDone ? "All four steps are done: records arrive and are forwarded" : "Four steps to the first forwarded record"}</h2>
      <ol>
        <Step isDone={steps.hasDevice} title="Create a device" text="Records belong to devices. A device has the id that its network knows it by.">
          {mayCall(rights, "POST /device") ? (
            <p className="form-actions">
              <Link to="/g/$groupId/devices" params={{ groupId }} className="button button-primary">
                Devices
              </Link>
              <Link to="/g/$groupId/devices/import" params={{ groupId }} className="button button-normal">
                Import
              </Link>
            </p>
          ) : (
            <Locked label="Create a device" operation="POST /device" groupId={groupId} />
          )}
        </Step>
        <Step isDone={steps.hasRecord} title="Point a network here" text="Enter this URL and token at the network, or post records through the API.">
          {mayCall(rights, "PUT /group") ? <NetworkToken groupId={groupId} /> : <Locked label="See the token" operation="PUT /group" groupId={groupId} />}
        </Step>
        <Step isDone={steps.hasRecord} isWaiting={steps.hasDevice && !steps.hasRecord} title="Receive the first record" text="It is seen here as soon as it arrives.">
          <Link to="/g/$groupId/live" params={{ groupId }}>
            Watch what arrives
          </Link>
        </Step>
        <Step
          isDone={steps.hasForwarded}
          isWaiting={steps.hasConnector && !steps.hasForwarded}
          title="Forward it"
          text={steps.hasConnector ? "There is a connector; the next record that it takes is delivered." : "A connector delivers every record to a system of yours, and loses none."}
        >
          {mayCall(rights, "POST /connector") ? (
            <Link to="/g/$groupId/connectors/new" params={{ groupId }} className="button button-normal">
              New connector
            </Link>
          ) : (
            <Locked label="New connector" operation="POST /connector" groupId={groupId} />
          )}
        </Step>
      </ol>
    </section>
  );
}

function Step({ isDone, isWaiting = false, title, text, children }: { isDone: boolean; isWaiting?: boolean; title: string; text: string; children: ReactNode }) {
  const state = isDone ? "done" : isWaiting ? "waiting" : "to do";
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
      </div>
    </li>
  );
}
