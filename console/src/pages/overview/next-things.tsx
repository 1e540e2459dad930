// Records arrive and are forwarded: what most do next.
import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { mayCall, type Rights } from "~/api/may";
import { t } from "~/messages/overview";

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
      <h3>{t("WhatToDoNext")}</h3>
      <ul className="overview-next">
        {mayCall(rights, "POST /notification") && (
          <Thing
            title={
              <Link to="/g/$groupId/notifications/new" params={params}>
                {t("RaiseAlarm")}
              </Link>
            }
          >
            {t("WhenValueIsOutOfIts")}
          </Thing>
        )}
        {mayCall(rights, "PUT /group/invite") && (
          <Thing
            title={
              <Link to="/g/$groupId/people" params={params}>
                {t("InviteColleague")}
              </Link>
            }
          >
            {t("WithRoleThatHoldsWhatThey")}
          </Thing>
        )}
        {mayCall(rights, "GET /group/series") && (
          <Thing
            title={
              <Link to="/g/$groupId/explore" params={params}>
                {t("CompareDevicesInOneChart")}
              </Link>
            }
          >
            {t("AnyValueOfUpToTwenty")}
          </Thing>
        )}
      </ul>
    </>
  );
}
