// What every list of alarms shows in the same way.
import { Link } from "@tanstack/react-router";
import { nameOr } from "~/ui/name";
import { Pill } from "~/ui/pill";
import { SEVERITY_TONES, severityWords, type Alarm, type Severity } from "./words";

export function SeverityPill({ severity }: { severity: string }) {
  return <Pill tone={SEVERITY_TONES[severity as Severity] ?? "idle"}>{severityWords(severity)}</Pill>;
}

// The device or the connector that an alarm is about.
export function AlarmSubject({ alarm }: { alarm: Alarm }) {
  const { groupId, deviceId, deviceName, connectorId, connectorName } = alarm;
  if (connectorId)
    return (
      <Link to="/g/$groupId/connectors/$connectorId" params={{ groupId, connectorId }} className="row-name">
        {nameOr(connectorName, connectorId)}
      </Link>
    );
  if (!deviceId) return null;
  // One that was moved or deleted has no name any more, and maybe no page.
  return (
    <Link to="/d/$deviceId" params={{ deviceId }} className="row-name">
      {nameOr(deviceName, deviceId)}
    </Link>
  );
}
