// The device types that one may see: those for all, and those of groups.
import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import type { Schemas } from "~/api/client";
import { Typed } from "~/pages/devices/device-filters";
import { deviceTypesQuery } from "~/pages/devices/queries";
import { useGroupId } from "~/frame/page-state";
import { GroupName } from "~/pages/devices/devices-page";
import { Button } from "~/ui/button";
import { PageHeader } from "~/ui/page";
import { Empty, NoMatch, QueryView } from "~/ui/state";
import { Table, type Column } from "~/ui/table";
import { ImportTypeDialog } from "./import-dialog";
import { NewTypeDialog, useOwners } from "./type-dialogs";
import { t } from "~/messages/types";
import "./types.css";

const route = getRouteApi("/frame/types");

type DeviceType = Schemas["DeviceType"];

const COLUMNS: readonly Column<DeviceType>[] = [
  {
    id: "name",
    head: t("Name"),
    width: "minmax(160px, 1.4fr)",
    card: "title",
    cell: (type) => (
      <Link to="/types/$type" params={{ type: type.name ?? "" }} className="row-link">
        {type.displayName ?? type.name}
      </Link>
    ),
  },
  { id: "id", head: t("Id"), width: "minmax(110px, 1fr)", card: "line", cell: (type) => <code>{type.name}</code> },
  { id: "group", head: t("For"), width: "minmax(90px, 1fr)", card: "line", cell: (type) => (type.groupId ? <GroupName groupId={type.groupId} /> : t("allGroups")) },
  { id: "battery", head: t("Battery"), width: "120px", cell: (type) => type.battery ?? "–" },
  { id: "firmware", head: t("Firmware"), width: "96px", cell: (type) => type.firmwareVersion ?? "–" },
  { id: "configuration", head: t("DefaultConfiguration"), width: "minmax(160px, 2fr)", cell: (type) => <code title={type.defaultConfiguration ?? undefined}>{type.defaultConfiguration ?? "–"}</code> },
];

export function TypesPage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const query = useQuery(deviceTypesQuery);
  const owners = useOwners(useGroupId());
  const [dialog, setDialog] = useState<"new" | "import" | null>(null);
  const setQ = (q: string | undefined) => void navigate({ to: ".", search: (before: object) => ({ ...before, q }), replace: true } as never);
  const wanted = (search.q ?? "").toLowerCase();
  return (
    <>
      <PageHeader
        title={t("DeviceTypes")}
        below={t("WhatDevicesOfTypeSendAnd")}
        actions={
          owners.length > 0 && (
            <>
              <Button onClick={() => setDialog("import")}>{t("Import")}</Button>
              <Button look="primary" onClick={() => setDialog("new")}>
                {t("NewType")}
              </Button>
            </>
          )
        }
      />
      {dialog === "new" && <NewTypeDialog owners={owners} onClose={() => setDialog(null)} />}
      {dialog === "import" && <ImportTypeDialog owners={owners} onClose={() => setDialog(null)} />}
      <div className="filters">
        <Typed className="filter-q" label={t("NameOrId")} value={search.q} onType={setQ} />
      </div>
      <QueryView query={query} noun={t("catalogue")}>
        {(types) => {
          const rows = types.filter((each) => `${each.name} ${each.displayName}`.toLowerCase().includes(wanted));
          if (types.length === 0) return <Empty text={t("ThereIsNoDeviceType")} />;
          if (rows.length === 0) return <NoMatch chips={[{ label: t("nameQ", { q: search.q }), onRemove: () => setQ(undefined) }]} onClear={() => setQ(undefined)} />;
          return (
            <Table
              label={t("DeviceTypes")}
              rows={rows}
              columns={COLUMNS}
              rowKey={(type) => type.name ?? ""}
              onOpen={(type) => void navigate({ to: "/types/$type", params: { type: type.name ?? "" } })}
            />
          );
        }}
      </QueryView>
    </>
  );
}
