// The configuration that the device should have and where each value is from; what it reports
// instead; and the text of its own, which is written here.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, read, type Schemas } from "~/api/client";
import { useMay } from "~/api/may";
import { fetchNewest } from "~/api/queries";
import { GroupName } from "~/pages/devices/devices-page";
import { EditForm, useEdit } from "~/ui/edit";
import { TextArea } from "~/ui/field";
import { COMMAND } from "~/ui/keys";
import { Card } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { differing } from "~/ui/versions";
import { valueAt } from "./numbers";
import { configurationQuery, deviceQuery, type Device } from "./queries";

export function ValueText({ value }: { value: unknown }) {
  if (value === undefined) return <span className="ink-3">nothing</span>;
  return <code>{JSON.stringify(value)}</code>;
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
              {!found.ownConfigurationMerged && <p className="stale">Its own configuration is no JSON object, so only policies count.</p>}
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
                              <ValueText value={each.value} />
                            </td>
                            <td data-label="From">
                              <Source value={each} />
                            </td>
                            <td data-label="Reports">
                              {difference ? (
                                <>
                                  <Pill tone="warn">differs</Pill> <ValueText value={difference.reported} />
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

function jsonMistake(text: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return parsed !== null && typeof parsed === "object" && !Array.isArray(parsed) ? undefined : "is no JSON object, so it is not merged with policies";
  } catch (error) {
    return `is no JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function pretty(text: string | null | undefined): string {
  try {
    return JSON.stringify(JSON.parse(text ?? ""), null, 2);
  } catch {
    return text ?? "";
  }
}

function Own({ device }: { device: Device }) {
  const client = useQueryClient();
  const { deviceId } = device;
  const put = (configuration: string, groupId: string, { updatedAt }: Device) =>
    read(api.PUT("/device", { body: { deviceId, groupId, configuration, ifUpdatedAt: updatedAt } }));
  const edit = useEdit({
    stored: device,
    formOf: (version) => ({ text: pretty(version.configuration) }),
    // In the group where it is known to be now: it may have been moved since the form was begun.
    put: ({ text }, before) => put(text, device.groupId, before),
    restore: ({ configuration }, before) => put(configuration ?? "", before.groupId, before),
    readNewest: () => fetchNewest(deviceQuery(deviceId)),
    onStored: (version) => {
      client.setQueryData(deviceQuery(deviceId).queryKey, version);
      void client.invalidateQueries({ queryKey: ["device-configuration", deviceId] });
    },
    compare: (mine, theirs) => differing([{ label: "Configuration", mine: mine.text, theirs: theirs.text }]),
    savedText: (saved) => `Saved the configuration of ${saved.name}`,
    fields: ["configuration"],
  });
  const { text } = edit.form;
  return (
    <Card title="Its own configuration" note={`${COMMAND} Enter saves`}>
      <EditForm edit={edit}>
        <TextArea
          label="Configuration"
          isCode
          rows={Math.min(16, text.split("\n").length + 2)}
          value={text}
          hint={jsonMistake(text)}
          error={edit.submission.errorOf("configuration")}
          onChange={(event) => edit.change({ text: event.target.value })}
        />
      </EditForm>
    </Card>
  );
}

export function ConfigurationTab({ device }: { device: Device }) {
  const mayUpdate = useMay(device.groupId, "PUT /device");
  const information = pretty(device.information);
  return (
    <>
      <Effective device={device} />
      {mayUpdate ? (
        <Own key={device.deviceId} device={device} />
      ) : (
        <Card title="Its own configuration">
          <pre>{pretty(device.configuration) || "{}"}</pre>
        </Card>
      )}
      <Card title="Information" note="set by its network, read only">
        <pre>{information || "{}"}</pre>
      </Card>
    </>
  );
}
