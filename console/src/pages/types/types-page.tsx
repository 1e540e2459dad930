// The catalogue of device types, which is the same for everyone.
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import type { Schemas } from "~/api/client";
import { Typed } from "~/pages/devices/device-filters";
import { deviceTypesQuery } from "~/pages/devices/queries";
import { PageHeader } from "~/ui/page";
import { Empty, NoMatch, QueryView } from "~/ui/state";
import { Table, type Column } from "~/ui/table";

const route = getRouteApi("/frame/types");

type DeviceType = Schemas["DeviceType"];

const COLUMNS: readonly Column<DeviceType>[] = [
  {
    id: "name",
    head: "Name",
    width: "minmax(160px, 1.4fr)",
    card: "title",
    cell: (type) => (
      <Link to="/types/$type" params={{ type: type.name ?? "" }} className="row-link">
        {type.displayName ?? type.name}
      </Link>
    ),
  },
  { id: "id", head: "Id", width: "minmax(110px, 1fr)", card: "line", cell: (type) => <code>{type.name}</code> },
  { id: "battery", head: "Battery", width: "120px", cell: (type) => type.battery ?? "–" },
  { id: "firmware", head: "Firmware", width: "96px", cell: (type) => type.firmwareVersion ?? "–" },
  { id: "configuration", head: "Default configuration", width: "minmax(160px, 2fr)", cell: (type) => <code title={type.defaultConfiguration ?? undefined}>{type.defaultConfiguration ?? "–"}</code> },
];

export function TypesPage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const query = useQuery(deviceTypesQuery);
  const setQ = (q: string | undefined) => void navigate({ to: ".", search: (before: object) => ({ ...before, q }), replace: true } as never);
  const wanted = (search.q ?? "").toLowerCase();
  return (
    <>
      <PageHeader title="Device types" below="What devices of a type send, and how it is decoded. The operator keeps this catalogue." />
      <div className="filters">
        <Typed className="filter-q" label="Name or id" value={search.q} onType={setQ} />
      </div>
      <QueryView query={query} noun="catalogue">
        {(types) => {
          const rows = types.filter((each) => `${each.name} ${each.displayName}`.toLowerCase().includes(wanted));
          if (types.length === 0) return <Empty text="There is no device type. The operator adds one with: longwire device-type add NAME" />;
          if (rows.length === 0) return <NoMatch chips={[{ label: `name ${search.q}`, onRemove: () => setQ(undefined) }]} onClear={() => setQ(undefined)} />;
          return (
            <Table
              label="Device types"
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
