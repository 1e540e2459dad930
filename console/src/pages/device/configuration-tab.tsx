// The configuration that the device should have and where each value is from; what it reports
// instead; and the text of its own, which is written here.
import { useMemo, useState } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useBlocker } from "@tanstack/react-router";
import { ApiProblem, api, read, type Schemas } from "~/api/client";
import { useMay } from "~/api/may";
import { GroupName } from "~/pages/devices/devices-page";
import { Button } from "~/ui/button";
import { TextArea, fieldError } from "~/ui/field";
import { COMMAND, sendByKeys } from "~/ui/keys";
import { Card } from "~/ui/page";
import { Pill } from "~/ui/pill";
import { ErrorState, QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { showToast } from "~/ui/toast";
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
  const saved = useMemo(() => pretty(device.configuration), [device.configuration]);
  const [draft, setDraft] = useState<{ text: string; basedOn: string; updatedAt: string } | null>(null);
  const text = draft?.text ?? saved;
  const isChanged = draft !== null && draft.text !== draft.basedOn;
  useBlocker({
    shouldBlockFn: ({ current, next }) => {
      const stays = next.pathname === current.pathname && (next.search as { tab?: string }).tab === "configuration";
      return isChanged && !stays && !window.confirm("Leave without saving your changes?");
    },
    enableBeforeUnload: isChanged,
    disabled: !isChanged,
  });
  const put = (configuration: string, ifUpdatedAt: string) =>
    read(api.PUT("/device", { body: { deviceId: device.deviceId, groupId: device.groupId, configuration, ifUpdatedAt } }));
  const adopt = (next: Device) => {
    client.setQueryData(deviceQuery(device.deviceId).queryKey, next);
    void client.invalidateQueries({ queryKey: ["device-configuration", device.deviceId] });
  };
  const save = useMutation({
    // What to undo is known before it is sent: the live stream may be faster than the response.
    mutationFn: async () => ({ before: device.configuration ?? "", next: await put(text, draft?.updatedAt ?? device.updatedAt) }),
    onSuccess: ({ before, next }) => {
      adopt(next);
      setDraft(null);
      showToast(`Saved the configuration of ${device.name}`, {
        action: {
          label: "Undo",
          run: async () => adopt(await put(before, next.updatedAt)),
        },
      });
    },
    onError: () => client.invalidateQueries({ queryKey: ["device", device.deviceId] }),
  });
  const problem = save.error instanceof ApiProblem ? save.error : null;
  const isConflict = problem?.status === 409;
  return (
    <Card title="Its own configuration" note={`${COMMAND} Enter saves`}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (isChanged && !save.isPending) save.mutate();
        }}
        onKeyDown={sendByKeys}
      >
        <TextArea
          label="Configuration"
          isCode
          rows={Math.min(16, text.split("\n").length + 2)}
          value={text}
          hint={jsonMistake(text)}
          error={fieldError(problem, "configuration")}
          onChange={(event) => setDraft({ text: event.target.value, basedOn: draft?.basedOn ?? saved, updatedAt: draft?.updatedAt ?? device.updatedAt })}
        />
        {isConflict && (
          <div role="alert" className="conflict">
            <p>Somebody has changed this device since you began. It is now:</p>
            <pre>{saved}</pre>
            <div className="form-actions">
              <Button onClick={() => (setDraft(null), save.reset())}>Take theirs</Button>
              <Button onClick={() => (setDraft({ text, basedOn: saved, updatedAt: device.updatedAt }), save.reset())}>Keep mine, and save over it</Button>
            </div>
          </div>
        )}
        {save.error && !isConflict && !fieldError(problem, "configuration") && <ErrorState error={save.error} />}
        <div className="form-actions">
          <Button look="primary" type="submit" disabledReason={save.isPending ? "Being saved" : isChanged ? undefined : "Nothing is changed"}>
            Save
          </Button>
          {isChanged && <Button onClick={() => (setDraft(null), save.reset())}>Discard</Button>}
        </div>
      </form>
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
