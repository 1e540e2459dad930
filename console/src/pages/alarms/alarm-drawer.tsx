// All that is known of an alarm.
import { Link } from "@tanstack/react-router";
import { AlarmSubject, SeverityPill } from "~/alarms/parts";
import { alarmWords, isOpen, lasted, worstWords, type Alarm, type FindMeasurement } from "~/alarms/words";
import { usePeople } from "~/pages/jobs/queries";
import { Button } from "~/ui/button";
import { IdText } from "~/ui/copy";
import { Dialog } from "~/ui/dialog";
import { nameOr } from "~/ui/name";
import { Facts } from "~/ui/page";
import { TimeText } from "~/ui/time-text";
import { t } from "~/messages/alarms";

export function AlarmDrawer({ alarm, find, mayRead, onSilence, onAcknowledge, onClose }: {
  alarm: Alarm;
  find: FindMeasurement;
  mayRead: boolean;
  onSilence: (() => void) | undefined;
  // Undefined where it cannot be acknowledged, or not by this person.
  onAcknowledge: (() => void) | undefined;
  onClose: () => void;
}) {
  const nameOf = usePeople(alarm.groupId);
  const { groupId, notificationId, deviceId, measurement } = alarm;
  const worst = worstWords(alarm, find);
  return (
    <Dialog
      side
      title={alarmWords(alarm, find, mayRead)}
      onClose={onClose}
      actions={
        <>
          {deviceId && measurement && (
            <Link to="/d/$deviceId" params={{ deviceId }} search={({ from, to, tz }) => ({ from, to, tz, tab: "chart", measurement: [measurement] })} className="button button-normal">
              {t("Chart")}
            </Link>
          )}
          {onSilence && <Button onClick={onSilence}>{t("Silence2")}</Button>}
          {onAcknowledge && (
            <Button look="primary" onClick={onAcknowledge}>
              {t("Acknowledge")}
            </Button>
          )}
        </>
      }
    >
      <Facts
        rows={[
          [t("Severity"), <SeverityPill key="severity" severity={alarm.severity} />],
          [alarm.connectorId ? t("Connector") : t("Device"), <AlarmSubject key="subject" alarm={alarm} />],
          [t("Raised"), <TimeText key="raised" at={alarm.raisedAt} withAgo />],
          ...(worst ? [[t("WorstValueSince"), worst] as const] : []),
          [
            t("Acknowledged"),
            alarm.acknowledgedAt ? (
              <>
                {t.rich("timeByNameOf", { time: <TimeText at={alarm.acknowledgedAt} withAgo />, nameOf: nameOf(alarm.acknowledgedBy ?? "") })}
              </>
            ) : isOpen(alarm) ? (
              t("byNobodyYet")
            ) : (
              t("byNobody")
            ),
          ],
          ...(alarm.comment ? [[t("Comment"), <span key="comment" className="alarm-comment">{alarm.comment}</span>] as const] : []),
          [
            t("Resolved"),
            alarm.resolvedAt ? (
              <>
                {t.rich("timeAfterAlarm", { time: <TimeText at={alarm.resolvedAt} withAgo />, alarm: lasted(alarm) })}
                {alarm.resolution && `: ${alarm.resolution}`}
              </>
            ) : (
              t("notYet")
            ),
          ],
          ...(alarm.silenceId ? [[t("Silence"), t("hasHeldAlertsBack")] as const] : []),
          [t("LastDeliveries"), <TimeText key="notified" at={alarm.notifiedAt} withAgo none={t("noneWereSent")} />],
          [
            t("Notification"),
            <Link key="notification" to="/g/$groupId/notifications/$notificationId" params={{ groupId, notificationId }}>
              {nameOr(alarm.notificationName, notificationId)}
            </Link>,
          ],
          [t("Id"), <IdText key="id" id={alarm.id} />],
        ]}
      />
      {alarm.isNotificationDisabled && <p className="ink-2">{t("ItsNotificationIsDisabledItIs")}</p>}
    </Dialog>
  );
}
