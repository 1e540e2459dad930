// What the signed-in person may do in a group, by the operation that would be called.
import { useQuery } from "@tanstack/react-query";
import { groupQuery, queryClient, sessionQuery } from "./queries";
import { NEEDS, type Operation } from "./permissions";

export interface Rights {
  readonly isOperator: boolean;
  readonly permissions: ReadonlySet<string>;
}

export function mayCall(rights: Rights, operation: Operation): boolean {
  return rights.isOperator || rights.permissions.has(NEEDS[operation]);
}

const NO_RIGHTS: Rights = { isOperator: false, permissions: new Set() };

// While rights are not known yet, nothing is allowed and `isKnown` is false: a page shows neither
// a button that ends in a refusal nor a lock that opens a moment later. `isPending` is true until they
// are known or cannot be had: what would be moved by what they allow waits for that.
export function useRights(groupId: string | null): Rights & { isKnown: boolean; isPending: boolean } {
  const session = useQuery(sessionQuery);
  const group = useQuery({ ...groupQuery(groupId ?? ""), enabled: groupId !== null });
  const isOperator = session.data?.isOperator ?? false;
  if (!group.data) return { ...NO_RIGHTS, isOperator, isKnown: isOperator, isPending: !isOperator && group.isLoading && !group.isFetched };
  return { isOperator, permissions: new Set(group.data.role?.permissions ?? []), isKnown: true, isPending: false };
}

// The same outside of a page; null where the group cannot be had.
export async function fetchRights(groupId: string): Promise<Rights | null> {
  const session = await queryClient.ensureQueryData(sessionQuery);
  const group = await queryClient.ensureQueryData(groupQuery(groupId)).catch(() => null);
  return group && { isOperator: session?.isOperator ?? false, permissions: new Set(group.role?.permissions ?? []) };
}

export function useMay(groupId: string | null, operation: Operation): boolean {
  return mayCall(useRights(groupId), operation);
}
