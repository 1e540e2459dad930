// The name of a group, and above a page whose it is that it shows.
import { useQuery } from "@tanstack/react-query";
import { childGroupsQuery, groupQuery } from "~/api/queries";
import { useScope } from "./page-state";

export function GroupName({ groupId }: { groupId: string }) {
  const group = useQuery(groupQuery(groupId));
  return <>{group.data?.name ?? (group.isError ? groupId : "…")}</>;
}

export function useHasGroupsBelow(groupId: string | null): boolean {
  const children = useQuery({ ...childGroupsQuery(groupId), enabled: groupId !== null });
  return (children.data?.items.length ?? 0) > 0;
}

export function GroupLine({ groupId }: { groupId: string }) {
  const hasBelow = useHasGroupsBelow(groupId);
  const { withBelow } = useScope();
  return (
    <>
      <GroupName groupId={groupId} />
      {hasBelow && withBelow && " · with the groups below"}
      {hasBelow && !withBelow && " · without the groups below"}
    </>
  );
}
