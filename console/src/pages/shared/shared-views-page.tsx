// The links that show something of a group to people without an account, and how they are used.
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { queryClient } from "~/api/queries";
import { SERVICE_URL } from "~/base-path";
import { Guarded } from "~/frame/guarded";
import { GroupLine, GroupName } from "~/frame/group-name";
import { useScope } from "~/frame/page-state";
import { usePeople } from "~/pages/jobs/queries";
import { Button } from "~/ui/button";
import { PageHeader } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { Empty, QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { showToast } from "~/ui/toast";
import { CLOSED_WORDS, CONTENT_LABELS, type ShareLink } from "./words";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/shared";

const route = getRouteApi("/frame/g/$groupId/shared-views");
const PAGE_ITEMS = 200;

const STATE_WORDS: Readonly<Record<ShareLink["state"], string>> = { open: t("open"), expired: t("expired"), forbidden: t("notAllowed"), gone: t("gone") };

function Shown({ link }: { link: ShareLink }) {
  const measured = link.chart?.measurements.join(", ") ?? link.list?.values?.join(", ");
  return (
    <>
      {CONTENT_LABELS[link.content]}
      {measured && <div className="ink-2">{measured}</div>}
      {link.device && (
        <div>
          <Link to="/d/$deviceId" params={{ deviceId: link.device.deviceId }}>
            {link.device.position ? t("withItsPosition") : t("currentValues")}
          </Link>
        </div>
      )}
    </>
  );
}

function Uses({ link }: { link: ShareLink }) {
  if (!link.lastUsedAt) return <span className="ink-3">{t("neverUsed")}</span>;
  return (
    <>
      {t("countUses", { count: link.uses })}
      <div className="ink-2">
        {t.rich("lastTime", { time: <TimeText at={link.lastUsedAt} withAgo precision="minute" /> })}
      </div>
    </>
  );
}

function Row({ link, nameOf, mayRevoke }: { link: ShareLink; nameOf: (id: string) => string; mayRevoke: boolean }) {
  const revoke = useMutation({
    mutationFn: () => read(api.DELETE("/share", { params: { query: { groupId: link.groupId, shareId: link.id } } })),
    onSuccess: async () => {
      showToast(t("linkToNameShowsNothingAny", { name: link.name }));
      await queryClient.invalidateQueries({ queryKey: ["shares"] });
    },
    onError: (error) => void showToast(error.message, { tone: "bad" }),
  });
  return (
    <tr>
      <td>
        <strong>{link.name}</strong>
        <div className="ink-2">
          <GroupName groupId={link.groupId} />
        </div>
      </td>
      <td data-label={t("Shows")}>
        <Shown link={link} />
      </td>
      <td data-label={t("State")}>
        {link.state === "open" ? (
          <Pill tone="good">{STATE_WORDS.open}</Pill>
        ) : (
          <Pill tone={link.state === "expired" ? "idle" : "warn"} title={CLOSED_WORDS[link.state]}>
            {STATE_WORDS[link.state]}
          </Pill>
        )}
      </td>
      <td data-label={t("Until")}>
        <TimeText at={link.expiresAt} withAgo precision="minute" />
        {link.origins.length > 0 && <div className="ink-2">{t("inPagesOf", { origins: link.origins.join(", ") })}</div>}
      </td>
      <td data-label={t("Used")}>
        <Uses link={link} />
      </td>
      <td data-label={t("SharedBy")}>
        {nameOf(link.createdBy)}
        <div className="ink-2">
          <TimeText at={link.createdAt} precision="minute" />
        </div>
      </td>
      <td className="row-actions">
        {mayRevoke && (
          <Button writes disabled={revoke.isPending} onClick={() => revoke.mutate()} aria-label={t("RevokeLinkToName", { name: link.name })}>
            {t("Revoke")}
          </Button>
        )}
      </td>
    </tr>
  );
}

function SharedViews() {
  const { groupId } = route.useParams();
  const nameOf = usePeople(groupId);
  const { withBelow } = useScope();
  const mayRevoke = useMay(groupId, "DELETE /share");
  const query = useQuery({
    queryKey: ["shares", groupId, withBelow],
    queryFn: async ({ signal }) => (await read(api.GET("/group/shares", { params: { query: { groupId, subgroups: withBelow, limit: PAGE_ITEMS } }, signal }))).items,
    refetchInterval: 15_000,
  });
  return (
    <>
      <PageHeader
        title={t("SharedViews")}
        above={<GroupLine groupId={groupId} />}
        state={query.data && <span className="count">{query.data.length.toLocaleString(LOCALE)}</span>}
      />
      <QueryView query={query} operation="GET /group/shares" groupId={groupId} noun="group">
        {(links) =>
          links.length === 0 ? (
            <Empty
              text={t("NothingOfThisGroupIsShared")}
              curl={`curl -H "Authorization: Bearer $TOKEN" \\
  "${SERVICE_URL}/group/shares?groupId=${groupId}"`}
            />
          ) : (
            <div className="card">
              <table className="plain stacked" aria-label={t("SharedViews")}>
                <thead>
                  <tr>
                    <th>{t("Title")}</th>
                    <th>{t("Shows")}</th>
                    <th>{t("State")}</th>
                    <th>{t("Until")}</th>
                    <th>{t("Used")}</th>
                    <th>{t("SharedBy")}</th>
                    <th>
                      <span className="visually-hidden">{t("Actions")}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {links.map((each) => (
                    <Row key={each.id} link={each} nameOf={nameOf} mayRevoke={mayRevoke} />
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </QueryView>
    </>
  );
}

export function SharedViewsPage() {
  const { groupId } = route.useParams();
  return (
    <Guarded groupId={groupId} operation="GET /group/shares" title={t("SharedViews")}>
      <SharedViews />
    </Guarded>
  );
}
