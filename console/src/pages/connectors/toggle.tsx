// Enable and disable: at once, with undo, and with what it means.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { Button } from "~/ui/button";
import { showToast } from "~/ui/toast";
import { nameOr } from "~/ui/name";
import { refreshConnector, type Connector } from "./queries";
import { t } from "~/messages/connectors";

export const DISABLED_MEANS =
  t("WhileItIsDisabledNoDeliveries");

export function useToggle(connector: Connector) {
  const client = useQueryClient();
  const put = (enabled: boolean) =>
    read(api.PUT("/connector", { body: { groupId: connector.groupId, connectorId: connector.id, enabled } }));
  const failed = (error: Error) => {
    void client.invalidateQueries({ queryKey: ["connectors"] });
    void client.invalidateQueries({ queryKey: ["connector", connector.groupId, connector.id] });
    showToast(error.message, { tone: "bad" });
  };
  return useMutation({
    mutationFn: put,
    onMutate: (enabled) => {
      refreshConnector(client, { ...connector, enabled });
      return connector;
    },
    onSuccess: (changed, enabled) => {
      refreshConnector(client, changed);
      const name = nameOr(connector.name, connector.id);
      const words = enabled ? t("nameForwardsAgainReplayFetchesWhat", { name }) : t("nameIsDisabledDISABLEDMEANS", { name, DISABLED_MEANS });
      const undo = () => put(!enabled).then((back) => refreshConnector(client, back), failed);
      showToast(words, { action: { label: t("Undo"), run: undo } });
    },
    onError: (error, _enabled, before) => {
      // Without the service nothing else would say how it is.
      if (before) refreshConnector(client, before);
      failed(error);
    },
  });
}

export function Switch({ isOn, label, title, onChange }: { isOn: boolean; label: string; title?: string; onChange: (isOn: boolean) => void }) {
  return (
    <Button look="plain" writes role="switch" aria-checked={isOn} aria-label={label} title={title} className="switch" onClick={() => onChange(!isOn)}>
      <span className="switch-knob" />
    </Button>
  );
}
