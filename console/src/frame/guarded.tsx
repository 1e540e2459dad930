// A screen for those who may see it. The others see why not, and nothing of it.
import type { ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { mayCall, useRights } from "~/api/may";
import type { Operation } from "~/api/permissions";
import { groupQuery } from "~/api/queries";
import { PageHeader } from "~/ui/page";
import { Why } from "~/ui/why";
import { t } from "~/messages/frame";

export function Guarded({ groupId, operation, title, children }: { groupId: string; operation: Operation; title: string; children: ReactNode }) {
  const rights = useRights(groupId);
  const group = useQuery(groupQuery(groupId));
  // Until they are known the screen loads: most may see what they open.
  if (!rights.isKnown || mayCall(rights, operation)) return children;
  return (
    <>
      <PageHeader title={title} above={group.data?.name} />
      <div className="state">
        <p>
          {t.rich("YouSeeNameButMayNotSeeThis", { name: group.data?.name ?? t("thisGroup"), why: <Why operation={operation} groupId={groupId} /> })}
        </p>
      </div>
    </>
  );
}
