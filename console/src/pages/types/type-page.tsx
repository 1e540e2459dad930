// One device type: its devices, its configuration policy, and the workbench for its decoder.
import { useMemo, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { mayCall, useRights } from "~/api/may";
import { groupQuery } from "~/api/queries";
import { useGroupId } from "~/frame/page-state";
import { GroupName } from "~/pages/devices/devices-page";
import { Button } from "~/ui/button";
import { knownValues } from "~/ui/configuration";
import { Card, Facts, PageHeader } from "~/ui/page";
import { PolicyForm, type PolicyQuery } from "~/ui/policy-form";
import { QueryView } from "~/ui/state";
import { Measurements } from "./measurements";
import { DeleteTypeDialog, EditTypeDialog } from "./type-dialogs";
import { Workbench, decoderQuery } from "./workbench";
import { t } from "~/messages/types";
import "./types.css";

const route = getRouteApi("/frame/types/$type");

function DeviceCount({ groupId, type }: { groupId: string; type: string }) {
  const group = useQuery(groupQuery(groupId));
  const devices = useQuery({
    queryKey: ["type-devices", groupId, type],
    queryFn: ({ signal }) => read(api.GET("/devices", { params: { query: { groupId, type, subgroups: true, limit: 1 } }, signal })),
  });
  if (!devices.data) return <span className="ink-3">{devices.isError ? t("notKnown") : "…"}</span>;
  const { total, totalIsMore } = devices.data;
  return (
    <Link to="/g/$groupId/devices" params={{ groupId }} search={{ type }}>
      {t("totalValueInNameAndBelow", { total: (total ?? 0), value: totalIsMore ? "+" : "", name: group.data?.name ?? t("thisGroup") })}
    </Link>
  );
}

// The group whose payloads a draft is tried on: that of the device, or of the one that was seen last
// here or below.
function usePayloadGroup(groupId: string | null, type: string, deviceId: string | undefined): string | null {
  const may = mayCall(useRights(groupId), "GET /devices");
  const found = useQuery({
    queryKey: ["type-payload-group", groupId, type, deviceId],
    queryFn: async ({ signal }) => {
      if (deviceId) return (await read(api.GET("/device", { params: { query: { deviceId } }, signal }))).groupId;
      const query = { groupId: groupId ?? "", type, subgroups: true, sort: "seenAt" as const, ascending: false, limit: 1 };
      return (await read(api.GET("/devices", { params: { query }, signal }))).items[0]?.groupId ?? groupId;
    },
    enabled: groupId !== null && may,
    retry: false,
  });
  return found.data ?? groupId;
}

const POLICY = t("WhatEveryDeviceOfThisType");

function policyQuery(type: string): PolicyQuery {
  return {
    queryKey: ["type-policy", type],
    queryFn: ({ signal }) => read(api.GET("/device/type/configuration", { params: { query: { type } }, signal })),
  };
}

function Policy({ type, defaults, isEditable }: { type: string; defaults: string | null | undefined; isEditable: boolean }) {
  const known = useMemo(() => knownValues([{ name: type, defaultConfiguration: defaults }]), [type, defaults]);
  const options = policyQuery(type);
  return (
    <Card title={t("ConfigurationPolicy")}>
      <QueryView query={useQuery(options)} skeletonRows={3} noun={t("deviceType")}>
        {(found) => (
          <PolicyForm
            key={type}
            found={found}
            query={options}
            known={known}
            explanation={isEditable ? POLICY : t("POLICYWhoMayChangeTypeChanges", { POLICY })}
            isEditable={isEditable}
            put={(policy, ifUpdatedAt) => read(api.PUT("/device/type/configuration", { body: { type, policy, ifUpdatedAt } }))}
          />
        )}
      </QueryView>
    </Card>
  );
}

export function TypePage() {
  const { type } = route.useParams();
  const search = route.useSearch();
  const groupId = useGroupId();
  const rights = useRights(groupId);
  const payloadGroup = usePayloadGroup(groupId, type, search.device);
  const query = useQuery({
    queryKey: ["type-definition", type],
    queryFn: ({ signal }) => read(api.GET("/device/type/definition", { params: { query: { type } }, signal })),
  });
  const decoder = useQuery(decoderQuery(type));
  const [dialog, setDialog] = useState<"edit" | "delete" | null>(null);
  const mayChange = query.data?.mayChange ?? false;
  return (
    <>
      <PageHeader
        title={query.data?.displayName ?? type}
        above={<Link to="/types">{t("DeviceTypes")}</Link>}
        actions={
          mayChange && (
            <>
              <Button onClick={() => setDialog("edit")}>{t("Edit")}</Button>
              {!query.data?.isBuiltIn && <Button look="danger" onClick={() => setDialog("delete")}>{t("Delete")}</Button>}
            </>
          )
        }
      />
      {query.data && dialog === "edit" && <EditTypeDialog present={query.data} onClose={() => setDialog(null)} />}
      {query.data && dialog === "delete" && <DeleteTypeDialog present={query.data} onClose={() => setDialog(null)} />}
      <QueryView query={query} noun={t("deviceType")}>
        {(found) => (
          <>
            <Card>
              <Facts
                rows={[
                  [t("Id"), <code key="id">{found.name}</code>],
                  [t("For"), found.groupId ? <GroupName key="group" groupId={found.groupId} /> : t("allGroups")],
                  ...(groupId && mayCall(rights, "GET /devices") ? [[t("Devices"), <DeviceCount key="devices" groupId={groupId} type={type} />] as const] : []),
                  [t("Decoder"), decoder.data ? (decoder.data.decoder ?? "none") : "…"],
                  [t("Battery"), found.battery ?? "–"],
                  [t("Firmware"), found.firmwareVersion ?? "–"],
                  [t("DefaultConfiguration"), <code key="configuration">{found.defaultConfiguration ?? "–"}</code>],
                ]}
              />
            </Card>
            <QueryView query={decoder} noun={t("deviceType")} skeletonRows={6}>
              {(present) => <Workbench key={type} present={present} groupId={payloadGroup} pageGroupId={groupId} deviceId={search.device} maySave={found.mayChange ?? false} isOfGroup={Boolean(found.groupId)} />}
            </QueryView>
            {/* Shown with what is above it, which is as high as the decoder is long. */}
            <div hidden={decoder.isLoading}>
              <Policy type={type} defaults={found.defaultConfiguration} isEditable={mayChange} />
            </div>
            {groupId && !decoder.isLoading && mayCall(rights, "GET /group/measurements") && <Measurements type={type} groupId={groupId} />}
          </>
        )}
      </QueryView>
    </>
  );
}
