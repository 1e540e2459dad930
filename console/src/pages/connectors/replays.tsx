import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { useMay } from "~/api/may";
import { Button } from "~/ui/button";
import { Pill, type Tone } from "~/ui/pill";
import { Empty, QueryView } from "~/ui/state";
import { showToast } from "~/ui/toast";
import { TimeText } from "~/ui/time-text";
import type { Connector } from "./queries";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/connectors";

type Replay = Schemas["Replay"];

const isRunning = (replay: Replay) => replay.status === "running";

export function replaysQuery(groupId: string, connectorId: string) {
  return queryOptions({
    queryKey: ["replays", groupId, connectorId],
    queryFn: async ({ signal }) => (await read(api.GET("/connector/replays", { params: { query: { groupId, connectorId } }, signal }))).items,
    refetchInterval: ({ state }) => (state.data?.some(isRunning) ? 1_000 : 15_000),
  });
}

function toneOf(status: string): Tone {
  return { running: "warn", done: "good", failed: "bad" }[status] as Tone | undefined ?? "idle";
}

function StopReplay({ replay }: { replay: Replay }) {
  const client = useQueryClient();
  const mayStop = useMay(replay.groupId, "DELETE /connector/replay");
  const stop = useMutation({
    mutationFn: () => {
      const { groupId, connectorId, replayId } = replay;
      return read(api.DELETE("/connector/replay", { params: { query: { groupId, connectorId, replayId } } }));
    },
    onSuccess: () => void client.invalidateQueries({ queryKey: ["replays", replay.groupId, replay.connectorId] }),
    onError: (error) => showToast(error.message, { tone: "bad" }),
  });
  if (!mayStop) return null;
  return (
    <Button writes onClick={() => stop.mutate()} disabled={stop.isPending} title={t("WhatIsQueuedAlreadyIsStill")}>
      {t("Stop")}
    </Button>
  );
}

// The newest replay, while it runs and after it: below the chart that it was started from.
export function ReplayProgress({ connector }: { connector: Connector }) {
  const { data } = useQuery(replaysQuery(connector.groupId, connector.id));
  const newest = data?.[0];
  if (!newest) return null;
  return (
    <p className="replay-progress" role="status">
      <Pill tone={toneOf(newest.status)}>{t("replayStatus", { status: newest.status })}</Pill>
      <span>
        {t("lookedAtRecordsLookedAtQueuedQueued", { lookedAt: newest.lookedAt, queued: newest.queued })}
      </span>
      {isRunning(newest) && <StopReplay replay={newest} />}
    </p>
  );
}

export function ReplaysTab({ connector }: { connector: Connector }) {
  const query = useQuery(replaysQuery(connector.groupId, connector.id));
  return (
    <QueryView query={query} operation="GET /connector/replays" groupId={connector.groupId}>
      {(replays) =>
        replays.length === 0 ? (
          <Empty text={t("NoReplayYetReplaySendsStored")} />
        ) : (
          <div className="table-scroll">
            <table className="plain">
              <thead>
                <tr>
                  <th>{t("Started")}</th>
                  <th>{t("RecordsFrom")}</th>
                  <th>{t("Until")}</th>
                  <th>{t("State")}</th>
                  <th className="cell-end">{t("LookedAt")}</th>
                  <th className="cell-end">{t("Queued")}</th>
                  <th>
                    <span className="visually-hidden">{t("Actions")}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {replays.map((each) => (
                  <tr key={each.replayId}>
                    <td>
                      <TimeText at={each.createdAt} />
                    </td>
                    <td>
                      <TimeText at={each.beginDate} precision="minute" />
                    </td>
                    <td>
                      <TimeText at={each.endDate} precision="minute" />
                    </td>
                    <td>
                      <Pill tone={toneOf(each.status)}>{each.status}</Pill>
                    </td>
                    <td className="number cell-end">{each.lookedAt.toLocaleString(LOCALE)}</td>
                    <td className="number cell-end">{each.queued.toLocaleString(LOCALE)}</td>
                    <td>{isRunning(each) && <StopReplay replay={each} />}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )
      }
    </QueryView>
  );
}
