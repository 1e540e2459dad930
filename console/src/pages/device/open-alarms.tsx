// What is wrong with a device now, above all else of it.
import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { AcknowledgeDialog } from "~/alarms/acknowledge-dialog";
import { SeverityPill } from "~/alarms/parts";
import { deviceAlarmsQuery, useMeasurementWords } from "~/alarms/queries";
import { alarmWords, sortAlarms, worstWords, type Alarm } from "~/alarms/words";
import { useMay } from "~/api/may";
import { Button } from "~/ui/button";
import { TimeText } from "~/ui/time-text";
import type { Device } from "./queries";
import { t } from "~/messages/device";

const SHOWN_MAX = 5;

export function OpenAlarms({ device }: { device: Device }) {
  const { groupId, deviceId } = device;
  const query = useQuery(deviceAlarmsQuery(groupId, deviceId));
  const { find, mayRead } = useMeasurementWords(groupId);
  const mayAcknowledge = useMay(groupId, "POST /alarm/acknowledge");
  const [acknowledged, setAcknowledged] = useState<Alarm | null>(null);
  const alarms = sortAlarms(query.data ?? []);
  const more = alarms.length - SHOWN_MAX;
  if (alarms.length === 0) return null;
  return (
    <section className="open-alarms" aria-label={t("OpenAlarms")}>
      <ul>
        {alarms.slice(0, SHOWN_MAX).map((each) => {
          const words = alarmWords(each, find, mayRead);
          const worst = worstWords(each, find);
          return (
            <li key={each.id}>
              <SeverityPill severity={each.severity} />
              <span className="open-alarm-words">
                <Link to="/g/$groupId/alarms" params={{ groupId }} search={({ from, to, tz }) => ({ from, to, tz, device: deviceId, alarm: each.id })}>
                  {words}
                </Link>
                {worst && <span className="ink-2">{" "}{t("worstWorst", { worst })}</span>}
              </span>
              <span className="ink-2">
                <TimeText at={each.raisedAt} withAgo precision="minute" />
              </span>
              {each.state === "acknowledged" ? (
                <span className="ink-2" title={each.comment}>
                  {t("acknowledged")}
                </span>
              ) : (
                mayAcknowledge && (
                  <Button writes onClick={() => setAcknowledged(each)} aria-label={t("AcknowledgeWords", { words })}>
                    {t("Acknowledge")}
                  </Button>
                )
              )}
            </li>
          );
        })}
      </ul>
      {more > 0 && (
        <Link to="/g/$groupId/alarms" params={{ groupId }} search={({ from, to, tz }) => ({ from, to, tz, device: deviceId })}>
          {t("moreMore", { more })}
        </Link>
      )}
      {acknowledged && <AcknowledgeDialog alarms={[acknowledged]} find={find} onClose={() => setAcknowledged(null)} />}
    </section>
  );
}
