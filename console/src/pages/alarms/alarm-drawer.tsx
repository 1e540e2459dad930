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
              Chart
            </Link>
          )}
          {onSilence && <Button onClick={onSilence}>Silence…</Button>}
          {onAcknowledge && (
            <Button look="primary" onClick={onAcknowledge}>
              Acknowledge
            </Button>
          )}
        </>
      }
    >
      <Facts
        rows={[
          ["Severity", <SeverityPill key="severity" severity={alarm.severity} />],
          [alarm.connectorId ? "Connector" : "Device", <AlarmSubject key="subject" alarm={alarm} />],
          ["Raised", <TimeText key="raised" at={alarm.raisedAt} withAgo />],
          ...(worst ? [["Worst value since", worst] as const] : []),
          [
            "Acknowledged",
            alarm.acknowledgedAt ? (
              <>
                <TimeText at={alarm.acknowledgedAt} withAgo /> by {nameOf(alarm.acknowledgedBy ?? "")}
              </>
            ) : isOpen(alarm) ? (
              "by nobody yet"
            ) : (
              "by nobody"
            ),
          ],
          ...(alarm.comment ? [["Comment", <span key="comment" className="alarm-comment">{alarm.comment}</span>] as const] : []),
          [
            "Resolved",
            alarm.resolvedAt ? (
              <>
                <TimeText at={alarm.resolvedAt} withAgo />, after {lasted(alarm)}
                {alarm.resolution && `: ${alarm.resolution}`}
              </>
            ) : (
              "not yet"
            ),
          ],
          ...(alarm.silenceId ? [["Silence", "has held alerts back"] as const] : []),
          ["Last deliveries", <TimeText key="notified" at={alarm.notifiedAt} withAgo none="none were sent" />],
          [
            "Notification",
            <Link key="notification" to="/g/$groupId/notifications/$notificationId" params={{ groupId, notificationId }}>
              {nameOr(alarm.notificationName, notificationId)}
            </Link>,
          ],
          ["Id", <IdText key="id" id={alarm.id} />],
        ]}
      />
      {alarm.isNotificationDisabled && <p className="ink-2">Its notification is disabled: it is not watched, so it will not resolve.</p>}
    </Dialog>
  );
}
