// "Why may I not?": the path of groups, the roles that would do, and who can give one.
import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { NEEDS, type Operation } from "~/api/permissions";
import { nameOr } from "./name";
import { Dialog } from "./dialog";
import { QueryView } from "./state";
import { t } from "~/messages/ui";

function Explanation({ permission, groupId }: { permission: string; groupId: string }) {
  const query = useQuery({
    queryKey: ["access", groupId, permission],
    queryFn: ({ signal }) => read(api.GET("/access", { params: { query: { groupId, permission } }, signal })),
  });
  return (
    <QueryView query={query} skeletonRows={3} noun={t("group")}>
      {(access) => (
        <>
          <p>
            {access.isAllowed ? t("ThisIsAllowedToYouNow") : t("ItNeedsPermissionPermission", { permission })}
          </p>
          <ul className="why-path">
            {access.path.map((step) => (
              <li key={step.groupId}>
                {t.rich("InStrongValue", { strong: <strong>{nameOr(step.name, step.groupId)}</strong>, value: step.role ? t("yourRoleIsNameValue", { name: step.role.name, value: step.holds ? t("whichHoldsIt") : t("whichDoesNotHoldIt") }) : t("youHaveNoRoleOfYour") })}
              </li>
            ))}
          </ul>
          {access.roles.length > 0 && <p>{t("RolesThatHoldItValue", { value: access.roles.map((role) => role.name).join(", ") })}</p>}
          {access.askable.length > 0 ? (
            <p>
              {t("valueCanGiveItToYou", { value: access.askable.map((user) => user.name ?? user.email).join(", ") })}
            </p>
          ) : (
            <p className="ink-2">{t("AskAdministratorOfThisGroup")}</p>
          )}
        </>
      )}
    </QueryView>
  );
}

export function Why({ operation, groupId, permission }: { operation?: Operation; permission?: string; groupId: string }) {
  const [isOpen, setOpen] = useState(false);
  const needed = permission ?? (operation ? NEEDS[operation] : "");
  return (
    <>
      <button type="button" className="link" onClick={() => setOpen(true)}>
        {t("Why")}
      </button>
      {isOpen && (
        <Dialog title={t("WhyMayINot")} onClose={() => setOpen(false)}>
          <Explanation permission={needed} groupId={groupId} />
        </Dialog>
      )}
    </>
  );
}

function LockIcon() {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <rect x="3" y="7" width="10" height="6.5" rx="1" />
      <path d="M5 7V5a3 3 0 0 1 6 0v2" />
    </svg>
  );
}

// An action that is the point of a page: locked, with its reason, where the right is missing.
export function Locked({ label, operation, groupId }: { label: string; operation: Operation; groupId: string }) {
  return (
    <span className="locked">
      <LockIcon /> {label} <Why operation={operation} groupId={groupId} />
    </span>
  );
}
