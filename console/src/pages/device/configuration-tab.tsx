// The configuration that the device should have and where each value is from; what it reports
// instead; and its own, which is written here.
import { useMemo } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, read, type Schemas } from "~/api/client";
import { useMay } from "~/api/may";
import { fetchNewest } from "~/api/queries";
import { GroupName } from "~/pages/devices/devices-page";
import { deviceTypesQuery } from "~/pages/devices/queries";
import { configurationOf, formOf, knownValues, mistakeIn, parseObject, type ConfigurationForm, type KnownValue } from "~/ui/configuration";
import { ConfigurationFacts, ConfigurationFields, valueWords } from "~/ui/configuration-fields";
import { EditForm, useEdit } from "~/ui/edit";
import { COMMAND } from "~/ui/keys";
import { Card } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { compareConfigurations } from "~/ui/policy-form";
import { Loading, QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { valueAt } from "./numbers";
import { configurationQuery, deviceQuery, type Device } from "./queries";
import { t } from "~/messages/device";

export function ValueText({ path, value }: { path: string; value: unknown }) {
  if (value === undefined) return <span className="ink-3">{t("nothing")}</span>;
  return <span title={JSON.stringify(value)}>{valueWords(path.slice(path.lastIndexOf("/") + 1), value)}</span>;
}

function Source({ value }: { value: Schemas["ConfigurationValue"] }) {
  if (value.source === "default") return <>{t("defaultOfSourceId", { sourceId: value.sourceId ?? t("type") })}</>;
  if (value.source === "type") return <>{t("policyOfTypeSourceId", { sourceId: value.sourceId })}</>;
  if (value.source === "device") return <>{t("itsOwn")}</>;
  return <>{t("policyOf")}{" "}{value.sourceId ? <GroupName groupId={value.sourceId} /> : t("groupAbove")}</>;
}

function Effective({ device }: { device: Device }) {
  const query = useQuery(configurationQuery(device.deviceId));
  return (
    <Card
      title={t("EffectiveConfiguration")}
      note={
        query.data?.reportedAt && (
          <>
            {t.rich("reportedTime", { time: <TimeText at={query.data.reportedAt} withAgo precision="minute" /> })}
          </>
        )
      }
    >
      <QueryView query={query} operation="GET /device/configuration" groupId={device.groupId} noun={t("device")} skeletonRows={2}>
        {(found) => {
          const drift = new Map((found.drift ?? []).map((each) => [each.path, each]));
          return (
            <>
              {!found.ownConfigurationMerged && <p className="stale">{t("ItsOwnConfigurationIsNotJSON")}</p>}
              {drift.size > 0 && (
                <p>
                  {t.rich("pillItReportsAnotherConfigurationThan", { pill: <Pill tone="warn">{t("drifts")}</Pill>, link: <Link to="/g/$groupId/drift" params={{ groupId: device.groupId }}>
                    {t("AllDevicesThatDrift")}
                  </Link> })}
                </p>
              )}
              {found.values.length === 0 ? (
                <p className="ink-2">{t("NoValueIsSetByIts")}</p>
              ) : (
                <div className="scroll-x" tabIndex={0} role="region" aria-label={t("EffectiveConfiguration")}>
                  <table className="plain stacked">
                    <thead>
                      <tr>
                        <th>{t("Value")}</th>
                        <th>{t("ShouldBe")}</th>
                        <th>{t("From")}</th>
                        <th>{t("Reports")}</th>
                      </tr>
                    </thead>
                    <tbody>
                      {found.values.map((each) => {
                        const difference = drift.get(each.path);
                        return (
                          <tr key={each.path} className={difference ? "row-drift" : undefined}>
                            <td>
                              <code>{each.path}</code>
                            </td>
                            <td data-label={t("ShouldBe")}>
                              <ValueText path={each.path} value={each.value} />
                            </td>
                            <td data-label={t("From")}>
                              <Source value={each} />
                            </td>
                            <td data-label={t("Reports")}>
                              {difference ? (
                                <>
                                  <Pill tone="warn">{t("differs")}</Pill> <ValueText path={each.path} value={difference.reported} />
                                </>
                              ) : (
                                <span className="ink-3">{valueAt(found.reported, each.path) === undefined ? t("notReported") : t("same")}</span>
                              )}
                            </td>
                          </tr>
                        );
                      })}
                    </tbody>
                  </table>
                </div>
              )}
            </>
          );
        }}
      </QueryView>
    </Card>
  );
}

function pretty(text: string | null | undefined): string {
  try {
    return JSON.stringify(JSON.parse(text ?? ""), null, 2);
  } catch {
    return text ?? "";
  }
}

// A configuration may be any text; what is no JSON object stays as it was typed.
function formOfText(text: string | null | undefined, known: readonly KnownValue[]): ConfigurationForm {
  const found = parseObject(text);
  return found ? formOf(found, known) : { values: {}, other: text ?? "" };
}

function isText({ values, other }: ConfigurationForm): boolean {
  return Object.keys(values).length === 0 && other.trim() !== "" && parseObject(other) === null;
}

function textOf(form: ConfigurationForm): string {
  return isText(form) ? form.other : JSON.stringify(configurationOf(form));
}

function Own({ device, known }: { device: Device; known: readonly KnownValue[] }) {
  const client = useQueryClient();
  const { deviceId } = device;
  const put = (configuration: string, groupId: string, { updatedAt }: Device) =>
    read(api.PUT("/device", { body: { deviceId, groupId, configuration, ifUpdatedAt: updatedAt } }));
  const edit = useEdit({
    stored: device,
    formOf: (version) => formOfText(version.configuration, known),
    // In the group where it is known to be now: it may have been moved since the form was begun.
    put: (form, before) => put(textOf(form), device.groupId, before),
    restore: ({ configuration }, before) => put(configuration ?? "", before.groupId, before),
    readNewest: () => fetchNewest(deviceQuery(deviceId)),
    onStored: (version) => {
      client.setQueryData(deviceQuery(deviceId).queryKey, version);
      void client.invalidateQueries({ queryKey: ["device-configuration", deviceId] });
    },
    compare: compareConfigurations,
    savedText: (saved) => t("SavedConfigurationOfName", { name: saved.name }),
    fields: ["configuration"],
  });
  return (
    <EditForm edit={edit} reason={isText(edit.form) ? undefined : (mistakeIn(edit.form) ?? undefined)}>
      <ConfigurationFields form={edit.form} known={known} jsonLabel={t("ConfigurationAsJSON")} error={edit.submission.errorOf("configuration")} onChange={edit.change} />
      {isText(edit.form) && <p className="stale">{t("ThisIsNotJSONObjectSo")}</p>}
    </EditForm>
  );
}

function OwnCard({ device }: { device: Device }) {
  const types = useQuery(deviceTypesQuery);
  const known = useMemo(() => knownValues((types.data ?? []).filter((each) => each.name === device.type)), [types.data, device.type]);
  return (
    <Card title={t("ItsOwnConfiguration")} note={t("COMMANDEnterSaves", { COMMAND })}>
      {types.isPending ? <Loading rows={3} /> : <Own key={device.deviceId} device={device} known={known} />}
    </Card>
  );
}

export function ConfigurationTab({ device }: { device: Device }) {
  const mayUpdate = useMay(device.groupId, "PUT /device");
  const information = pretty(device.information);
  const own = parseObject(device.configuration);
  return (
    <>
      <Effective device={device} />
      {mayUpdate ? (
        <OwnCard device={device} />
      ) : (
        <Card title={t("ItsOwnConfiguration")}>
          {own ? <ConfigurationFacts configuration={own} /> : <pre>{device.configuration || "{}"}</pre>}
        </Card>
      )}
      <Card title={t("Information")} note={t("setByItsNetworkReadOnly")}>
        <pre>{information || "{}"}</pre>
      </Card>
    </>
  );
}
