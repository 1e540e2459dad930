// What somebody may do in a group: GET /access for every permission there is.
import { useQueries, useQuery } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { Dialog } from "~/ui/dialog";
import { Pill } from "~/ui/pill";
import { QueryView } from "~/ui/state";
import { permissionsQuery } from "~/pages/roles/queries";
import { nameOr } from "~/ui/name";
import { t } from "~/messages/people";

function Answers({ groupId, userId, permissions }: { groupId: string; userId: string; permissions: readonly string[] }) {
  const answers = useQueries({
    queries: permissions.map((permission) => ({
      queryKey: ["access", groupId, permission, userId],
      queryFn: ({ signal }: { signal: AbortSignal }) => read(api.GET("/access", { params: { query: { groupId, permission, userId } }, signal })),
    })),
  });
  return (
    <table className="plain">
      <thead>
        <tr>
          <th>{t("Permission")}</th>
          <th>{t("Allowed")}</th>
          <th>{t("Through")}</th>
        </tr>
      </thead>
      <tbody>
        {permissions.map((permission, index) => {
          const access = answers[index]?.data;
          const step = access?.path.find((each) => each.holds);
          return (
            <tr key={permission}>
              <td>
                <code>{permission}</code>
              </td>
              <td>{access && (access.isAllowed ? <Pill tone="good">{t("yes")}</Pill> : <Pill tone="idle">{t("no")}</Pill>)}</td>
              <td className="ink-2">{access?.isOperator ? "operator" : step ? t("nameInName2", { name: step.role?.name ?? "role", name2: nameOr(step.name, step.groupId) }) : ""}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

export function WhatMay({ groupId, userId, name, onClose }: { groupId: string; userId: string; name: string; onClose: () => void }) {
  const permissions = useQuery(permissionsQuery);
  return (
    <Dialog title={t("WhatMayNameDoHere", { name })} width="wide" onClose={onClose}>
      <QueryView query={permissions}>{({ items }) => <Answers groupId={groupId} userId={userId} permissions={items.map((each) => each.id)} />}</QueryView>
    </Dialog>
  );
}
