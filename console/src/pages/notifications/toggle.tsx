import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { Switch } from "~/pages/connectors/toggle";
import { showToast } from "~/ui/toast";
import { nameOr } from "~/ui/name";
import { refreshNotification, type Notification } from "./queries";
import { t } from "~/messages/notifications";

const DISABLED_MEANS = t("WhileItIsDisabledItDoes");

// At once, with undo.
export function NotificationSwitch({ notification }: { notification: Notification }) {
  const client = useQueryClient();
  const { groupId, id: notificationId } = notification;
  const name = nameOr(notification.name, notificationId);
  const put = (enabled: boolean) => read(api.PUT("/notification", { body: { groupId, notificationId, enabled } }));
  const fail = (error: Error) => {
    void client.invalidateQueries({ queryKey: ["notifications"] });
    showToast(error.message, { tone: "bad" });
  };
  const toggle = useMutation({
    mutationFn: put,
    onMutate: (enabled) => {
      refreshNotification(client, { ...notification, enabled });
      return notification;
    },
    onSuccess: (changed, enabled) => {
      refreshNotification(client, changed);
      const undo = () => put(!enabled).then((back) => refreshNotification(client, back), fail);
      showToast(enabled ? t("nameFiresAgain", { name }) : t("nameIsDisabledDISABLEDMEANS", { name, DISABLED_MEANS }), { action: { label: t("Undo"), run: undo } });
    },
    onError: (error, _enabled, before) => {
      // Without the service nothing else would say how it is.
      if (before) refreshNotification(client, before);
      fail(error);
    },
  });
  return <Switch isOn={notification.enabled !== false} label={t("FireName", { name })} title={DISABLED_MEANS} onChange={(enabled) => toggle.mutate(enabled)} />;
}
