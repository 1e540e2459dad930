// The name of a group, and above a page whose it is that it shows.
import { useQuery } from "@tanstack/react-query";
import { mayCall, useRights } from "~/api/may";
import { childGroupsQuery, groupQuery } from "~/api/queries";
import { useScope } from "./page-state";
import { t } from "~/messages/frame";

export function GroupName({ groupId }: { groupId: string }) {
  const group = useQuery(groupQuery(groupId));
  return <>{group.data?.name ?? (group.isError ? groupId : "…")}</>;
}

// Null until it is known. Who may not list groups may have some below nonetheless.
export function useHasGroupsBelow(groupId: string | null): boolean | null {
  const rights = useRights(groupId);
  const mayList = groupId !== null && mayCall(rights, "GET /groups");
  const children = useQuery({ ...childGroupsQuery(groupId), enabled: mayList });
  if (groupId === null) return false;
  if (!mayList) return rights.isPending ? null : rights.isKnown;
  return children.isPending ? null : (children.data?.items.length ?? 0) > 0;
}

export function GroupLine({ groupId }: { groupId: string }) {
  const hasBelow = useHasGroupsBelow(groupId);
  const { withBelow } = useScope();
  return (
    <>
      <GroupName groupId={groupId} />
      {hasBelow && withBelow && ` ${t("withGroupsBelow")}`}
      {hasBelow && !withBelow && ` ${t("withoutGroupsBelow")}`}
    </>
  );
}
