// Sends the dead letters of a connector again.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { Button } from "~/ui/button";
import { showToast } from "~/ui/toast";
import { countText } from "./health";
import { healthQuery, refreshConnector, type Connector } from "./queries";
import { t } from "~/messages/connectors";

export function ResendButton({ connector }: { connector: Connector }) {
  const client = useQueryClient();
  const health = useQuery(healthQuery(connector.groupId, connector.id)).data;
  const mayResend = useMay(connector.groupId, "POST /connector/resendData");
  const resend = useMutation({
    mutationFn: () => read(api.POST("/connector/resendData", { body: { groupId: connector.groupId, connectorId: connector.id } })),
    onSuccess: (changed) => {
      refreshConnector(client, changed);
      for (const key of ["messages", "connector-failures"]) void client.invalidateQueries({ queryKey: [key] });
      showToast(t("DeadLettersAreBeingSentAgain"));
    },
    onError: (error) => showToast(error.message, { tone: "bad" }),
  });
  // How many there are comes later than that there are some; the button has its place from the beginning.
  const isAny = health ? health.deadLetters > 0 : connector.dataFailurePolicy?.hasData === true;
  if (!mayResend || !isAny) return null;
  const isResending = connector.dataFailurePolicy?.resending === true;
  const waits = isResending ? t("ItIsBeingDone") : health ? undefined : t("TheyAreBeingCounted");
  return (
    <Button writes onClick={() => resend.mutate()} disabledReason={waits} disabled={resend.isPending}>
      {isResending ? t("Resending") : t("ResendValueValue2", { value: health ? countText(health.deadLetters) : "…", value2: t("deadLetters", { count: health?.deadLetters ?? 0 }) })}
    </Button>
  );
}
