// Records arrive and are forwarded: what most do next.
import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { mayCall, type Rights } from "~/api/may";

function Thing({ title, children }: { title: ReactNode; children: string }) {
  return (
    <li>
      <strong>{title}</strong>
      <span className="ink-2">{children}</span>
    </li>
  );
}

export function NextThings({ groupId, rights }: { groupId: string; rights: Rights }) {
  const params = { groupId };
  return (
    <>
      <h3>What to do next</h3>
      <ul className="overview-next">
        {mayCall(rights, "POST /notification") && (
          <Thing
            title={
              <Link to="/g/$groupId/notifications/new" params={params}>
                Raise an alarm
              </Link>
            }
          >
            When a value is out of its range, a battery is low or a device falls silent.
          </Thing>
        )}
        {mayCall(rights, "PUT /group/invite") && (
          <Thing
            title={
              <Link to="/g/$groupId/people" params={params}>
                Invite a colleague
              </Link>
            }
          >
            With a role that holds what they need, and no more.
          </Thing>
        )}
        {mayCall(rights, "GET /group/series") && (
          <Thing
            title={
              <Link to="/g/$groupId/explore" params={params}>
                Compare devices in one chart
              </Link>
            }
          >
            Any value of up to twenty devices, with totals and increases.
          </Thing>
        )}
      </ul>
    </>
  );
}
