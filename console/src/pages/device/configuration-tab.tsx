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

export function ValueText({ path, value }: { path: string; value: unknown }) {
  if (value === undefined) return <span className="ink-3">nothing</span>;
  return <span title={JSON.stringify(value)}>{valueWords(path.slice(path.lastIndexOf("/") + 1), value)}</span>;
}

function Source({ value }: { value: Schemas["ConfigurationValue"] }) {
  if (value.source === "default") return <>default of {value.sourceId ?? "the type"}</>;
  if (value.source === "type") return <>policy of type {value.sourceId}</>;
  if (value.source === "device") return <>its own</>;
  return <>policy of {value.sourceId ? <GroupName groupId={value.sourceId} /> : "a group above"}</>;
}

function Effective({ device }: { device: Device }) {
  const query = useQuery(configurationQuery(device.deviceId));
  return (
    <Card
      title="Effective configuration"
      note={
        query.data?.reportedAt && (
          <>
            reported <TimeText at={query.data.reportedAt} withAgo precision="minute" />
          </>
        )
      }
    >
      <QueryView query={query} operation="GET /device/configuration" groupId={device.groupId} noun="device" skeletonRows={2}>
        {(found) => {
          const drift = new Map((found.drift ?? []).map((each) => [each.path, each]));
          return (
            <>
              {!found.ownConfigurationMerged && <p className="stale">Its own configuration is not a JSON object, so only policies count.</p>}
              {drift.size > 0 && (
                <p>
                  <Pill tone="warn">drifts</Pill> It reports another configuration than it should have.{" "}
                  <Link to="/g/$groupId/drift" params={{ groupId: device.groupId }}>
                    All devices that drift
                  </Link>
                </p>
              )}
              {found.values.length === 0 ? (
                <p className="ink-2">No value is set by its type, by a policy, or by itself.</p>
              ) : (
                <div className="scroll-x" tabIndex={0} role="region" aria-label="Effective configuration">
                  <table className="plain stacked">
                    <thead>
                      <tr>
                        <th>Value</th>
                        <th>Should be</th>
                        <th>From</th>
                        <th>Reports</th>
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
                            <td data-label="Should be">
                              <ValueText path={each.path} value={each.value} />
                            </td>
                            <td data-label="From">
                              <Source value={each} />
                            </td>
                            <td data-label="Reports">
                              {difference ? (
                                <>
                                  <Pill tone="warn">differs</Pill> <ValueText path={each.path} value={difference.reported} />
                                </>
                              ) : (
                                <span className="ink-3">{valueAt(found.reported, each.path) === undefined ? "not reported" : "the same"}</span>
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
    savedText: (saved) => `Saved the configuration of ${saved.name}`,
    fields: ["configuration"],
  });
  return (
    <EditForm edit={edit} reason={isText(edit.form) ? undefined : (mistakeIn(edit.form) ?? undefined)}>
      <ConfigurationFields form={edit.form} known={known} jsonLabel="Configuration, as JSON" error={edit.submission.errorOf("configuration")} onChange={edit.change} />
      {isText(edit.form) && <p className="stale">This is not a JSON object, so it is not merged with policies.</p>}
    </EditForm>
  );
}

function OwnCard({ device }: { device: Device }) {
  const types = useQuery(deviceTypesQuery);
  const known = useMemo(() => knownValues((types.data ?? []).filter((each) => each.name === device.type)), [types.data, device.type]);
  return (
    <Card title="Its own configuration" note={`${COMMAND} Enter saves`}>
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
        <Card title="Its own configuration">
          {own ? <ConfigurationFacts configuration={own} /> : <pre>{device.configuration || "{}"}</pre>}
        </Card>
      )}
      <Card title="Information" note="set by its network, read only">
        <pre>{information || "{}"}</pre>
      </Card>
    </>
  );
}
