// Asks who was invited to the group in the address whether they want to be a member: opening a page is
// no consent.
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { groupQuery, queryClient } from "~/api/queries";
import { setPreference } from "~/preferences";
import { Button } from "~/ui/button";
import { useSubmission } from "~/ui/submit";
import { t } from "~/messages/frame";

export function InvitationBar({ groupId }: { groupId: string }) {
  const group = useQuery(groupQuery(groupId));
  const navigate = useNavigate();
  const { run, isBusy, error } = useSubmission();
  if (!group.data?.isInvited) return null;
  const accept = () =>
    run(async () => {
      await read(api.POST("/group/accept", { body: { groupId } }));
      await queryClient.invalidateQueries({ queryKey: ["group"] });
    });
  const decline = () =>
    run(async () => {
      await read(api.DELETE("/group/user", { params: { query: { groupId } } }));
      setPreference("lastGroup", "");
      await navigate({ to: "/groups" });
      await queryClient.invalidateQueries();
    });
  return (
    <div className="invitation" role="status">
      <p>
        {error ?? (
          <>
            {t.rich("YouAreInvitedToGroupStrong", { strong: <strong>{group.data.name ?? groupId}</strong> })}
          </>
        )}
      </p>
      <Button look="primary" disabled={isBusy} onClick={() => void accept()}>
        {t("Accept")}
      </Button>
      <Button disabled={isBusy} onClick={() => void decline()}>
        {t("Decline")}
      </Button>
    </div>
  );
}
