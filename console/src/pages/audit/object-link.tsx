import { Link } from "@tanstack/react-router";
import { shortId } from "~/ui/copy";
import type { AuditEntry } from "./undo";

// The thing that was changed, and its page where it has one.
export function ObjectLink({ entry }: { entry: AuditEntry }) {
  const { objectId, groupId } = entry;
  const name = entry.objectName ?? shortId(objectId);
  const [noun = "", verb = ""] = entry.action.split(".");
  if (verb === "delete" && noun !== "record") return <span title={objectId}>{name}</span>;
  if (noun === "device" || noun === "record")
    return (
      <Link to="/d/$deviceId" params={{ deviceId: objectId }}>
        {name}
      </Link>
    );
  if (noun === "connector")
    return (
      <Link to="/g/$groupId/connectors/$connectorId" params={{ groupId, connectorId: objectId }}>
        {name}
      </Link>
    );
  if (noun === "notification")
    return (
      <Link to="/g/$groupId/notifications/$notificationId" params={{ groupId, notificationId: objectId }}>
        {name}
      </Link>
    );
  if (noun === "contactPoint")
    return (
      <Link to="/g/$groupId/contact-points/$contactPointId" params={{ groupId, contactPointId: objectId }}>
        {name}
      </Link>
    );
  if (noun === "report")
    return (
      <Link to="/g/$groupId/reports/$reportId" params={{ groupId, reportId: objectId }}>
        {name}
      </Link>
    );
  if (noun === "job")
    return (
      <Link to="/g/$groupId/jobs/$jobId" params={{ groupId, jobId: objectId }}>
        {name}
      </Link>
    );
  if (noun === "group" && /^\d+$/.test(objectId))
    return (
      <Link to="/g/$groupId/settings" params={{ groupId: objectId }}>
        {name}
      </Link>
    );
  return <span title={objectId}>{name}</span>;
}
