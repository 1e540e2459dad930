// For which alarms nobody is notified at the moment, until when, and what was held back.
import { useMutation, useQuery } from "@tanstack/react-query";
import { refreshAlarms } from "~/alarms/queries";
import { api, read, type Schemas } from "~/api/client";
import { useMay } from "~/api/may";
import { SERVICE_URL } from "~/base-path";
import { useDeviceNames } from "~/pages/devices/device-picker";
import { GroupName } from "~/pages/devices/devices-page";
import { usePeople } from "~/pages/jobs/queries";
import { Button } from "~/ui/button";
import { Pill, type Tone } from "~/ui/pill";
import { Empty, QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { showToast } from "~/ui/toast";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/alarms";

type Silence = Schemas["Silence"];

const PAGE_ITEMS = 200;
const TONES: Readonly<Record<string, Tone>> = { active: "warn", pending: "idle", expired: "idle" };

function About({ silence }: { silence: Silence }) {
  const names = useDeviceNames(silence.groupId, silence.deviceIds ?? []);
  const parts = [names.join(", "), silence.types?.join(", "), silence.tags && t("taggedValue", { value: silence.tags.join(", ") }), silence.severity && t("severityAlone", { severity: silence.severity })].filter(Boolean);
  return (
    <>
      {parts.length > 0 ? parts.join(" · ") : t("allAlarms")}
      <div className="ink-2">
        <GroupName groupId={silence.groupId} />
        {silence.subgroups && ` ${t("andBelow")}`}
      </div>
    </>
  );
}

function Row({ silence, nameOf, mayEnd }: { silence: Silence; nameOf: (id: string) => string; mayEnd: boolean }) {
  const end = useMutation({
    mutationFn: () => read(api.DELETE("/alarm/silence", { params: { query: { groupId: silence.groupId, silenceId: silence.id } } })),
    onSuccess: async () => {
      showToast(t("EndedWhatIsStillOpenIs"));
      await refreshAlarms();
    },
    onError: (error) => void showToast(error.message, { tone: "bad" }),
  });
  return (
    <tr>
      <td>
        <About silence={silence} />
      </td>
      <td data-label={t("State")}>
        <Pill tone={TONES[silence.state] ?? "idle"}>{silence.state}</Pill>
      </td>
      <td data-label={t("Until")}>
        <TimeText at={silence.until} withAgo precision="minute" />
      </td>
      <td data-label={t("Reason")}>
        {silence.reason}
        <div className="ink-2">{nameOf(silence.createdBy)}</div>
      </td>
      <td data-label={t("HeldBack")} className="number">
        {silence.heldBack.toLocaleString(LOCALE)} {t("alarms", { count: silence.heldBack })}
      </td>
      <td className="row-actions">
        {mayEnd && silence.state !== "expired" && (
          <Button writes disabled={end.isPending} onClick={() => end.mutate()} aria-label={t("EndSilenceReason", { reason: silence.reason })}>
            {t("End")}
          </Button>
        )}
      </td>
    </tr>
  );
}

export function Silences({ groupId, subgroups, onCreate }: { groupId: string; subgroups: boolean; onCreate: (() => void) | undefined }) {
  const nameOf = usePeople(groupId);
  const mayEnd = useMay(groupId, "DELETE /alarm/silence");
  const query = useQuery({
    queryKey: ["alarms", groupId, "silences", subgroups],
    queryFn: async ({ signal }) => (await read(api.GET("/group/silences", { params: { query: { groupId, subgroups, limit: PAGE_ITEMS } }, signal }))).items,
    refetchInterval: 15_000,
  });
  return (
    <QueryView query={query} operation="GET /group/silences" groupId={groupId} noun={t("group")}>
      {(silences) =>
        silences.length === 0 ? (
          <Empty
            text={t("NothingIsSilencedDuringMaintenanceSilence")}
            action={onCreate && <Button onClick={onCreate}>{t("SilenceThisGroup")}</Button>}
            curl={`curl -H "Authorization: Bearer $TOKEN" \\
  "${SERVICE_URL}/group/silences?groupId=${groupId}&subgroups=true"`}
          />
        ) : (
          <div className="card">
            <table className="plain stacked" aria-label={t("Silences")}>
              <thead>
                <tr>
                  <th>{t("About")}</th>
                  <th>{t("State")}</th>
                  <th>{t("Until")}</th>
                  <th>{t("Reason")}</th>
                  <th>{t("HeldBack")}</th>
                  <th>
                    <span className="visually-hidden">{t("Actions")}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {silences.map((each) => (
                  <Row key={each.id} silence={each} nameOf={nameOf} mayEnd={mayEnd} />
                ))}
              </tbody>
            </table>
          </div>
        )
      }
    </QueryView>
  );
}
