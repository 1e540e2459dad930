// What a list of devices shows where there is none: the filters to take away, or those further below.
import type { ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { useScope } from "~/frame/page-state";
import { Button } from "~/ui/button";
import { Empty, Loading, type Chip } from "~/ui/state";
import { SEEN_LABELS } from "./device-filters";
import { comparisonWords, withoutComparison } from "./comparisons";
import type { DevicesSearch } from "./search";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/devices";

export const NO_FILTER: Partial<DevicesSearch> = { q: undefined, type: undefined, network: undefined, tag: undefined, seen: undefined, battery: undefined, where: undefined };

export function chipsOf(search: DevicesSearch, set: (change: Partial<DevicesSearch>) => void): Chip[] {
  const labels: Partial<Record<keyof DevicesSearch, string | undefined>> = {
    q: search.q && `“${search.q}”`,
    type: search.type && `type ${search.type}`,
    network: search.network && t("networkNetwork", { network: search.network }),
    tag: search.tag && t("tagTag", { tag: search.tag }),
    seen: search.seen && SEEN_LABELS[search.seen].toLowerCase(),
    battery: search.battery && t("batteryBelowBattery", { battery: search.battery }),
  };
  const plain = Object.entries(labels).flatMap(([name, label]) => (label ? [{ label, onRemove: () => set({ [name]: undefined }) }] : []));
  const comparisons = (search.where ?? []).map((each) => ({ label: comparisonWords(each, undefined), onRemove: () => set(withoutComparison(search, each)) }));
  return [...plain, ...comparisons];
}

function belowQuery(groupId: string) {
  return {
    queryKey: ["devices-below", groupId],
    queryFn: ({ signal }: { signal: AbortSignal }) => read(api.GET("/devices", { params: { query: { groupId, subgroups: true, limit: 1 } }, signal })),
  };
}

// A group that only holds groups is not empty: its devices are one press away.
export function NoDevice({ groupId, children }: { groupId: string; children: ReactNode }) {
  const { withBelow, setWithBelow } = useScope();
  const isAsked = !withBelow;
  const below = useQuery({ ...belowQuery(groupId), enabled: isAsked });
  if (isAsked && below.isPending) return <Loading rows={2} />;
  const total = isAsked ? (below.data?.total ?? 0) : 0;
  if (total === 0) return children;
  const count = `${total.toLocaleString(LOCALE)}${below.data?.totalIsMore ? "+" : ""}`;
  return (
    <Empty
      text={t("ThisGroupHasNoDeviceOf", { count })}
      action={
        <Button look="primary" writes={false} onClick={() => setWithBelow(true)}>
          {t("ShowValue", { value: t("them", { count: total }) })}
        </Button>
      }
    />
  );
}
