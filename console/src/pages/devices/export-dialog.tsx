import type { Schemas } from "~/api/client";
import { ExportDialog, saveBlob } from "~/ui/export";
import { countOf } from "./bulk";
import { devicesCsv } from "./csv";
import { filterOf, valuesOf, type DevicesSearch } from "./search";
import { t } from "~/messages/devices";

// The selected devices, which the page has already.
export function exportSelected(devices: readonly Schemas["Device"][]): void {
  saveBlob([devicesCsv(devices)], "devices.csv", "text/csv");
}

export function DevicesExportDialog({
  groupId,
  search,
  total,
  totalIsMore,
  onClose,
}: {
  groupId: string;
  search: DevicesSearch;
  total: number;
  totalIsMore: boolean;
  onClose: () => void;
}) {
  const params = { groupId, ...filterOf(search), ...valuesOf(search, Date.now()) };
  const title = t("ExportTotalValue", { total: countOf(total), value: totalIsMore ? ` ${t("orMore")}` : "" });
  return <ExportDialog source={{ path: "/devices/export", params, name: "devices", title, total }} onClose={onClose} />;
}
