// A decoder is written and tried on stored payloads, before anybody depends on it.
import { useState, type KeyboardEvent } from "react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { api, ApiProblem, read, type Schemas } from "~/api/client";
import { mayCall, useRights } from "~/api/may";
import { GroupName } from "~/pages/devices/devices-page";
import { Button } from "~/ui/button";
import { Diff } from "~/ui/diff";
import { Select, TextArea, TextField, fieldError } from "~/ui/field";
import { COMMAND, isCommand } from "~/ui/keys";
import { Card } from "~/ui/page";
import { Pill, type Tone } from "~/ui/pill";
import { Empty, ErrorState } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { showToast } from "~/ui/toast";
import { Locked } from "~/ui/why";
import { outcomeOf, outcomeWords, parsePayloads, summaryOf, type Outcome, type PreviewItem } from "./workbench-data";

type TypeDecoder = Schemas["TypeDecoder"];

const KINDS = [
  ["javascript", "JavaScript codec"],
  ["bits", "Bit format"],
  ["cayenneLpp", "Cayenne LPP"],
] as const;

const START = `function decodeUplink(input) {
  const bytes = input.bytes;
  return { data: { value: bytes[0] } };
}
`;

const TONES: Record<Outcome, Tone> = { same: "idle", changed: "warn", failed: "bad", decoded: "good" };
const STORED_LIMIT = 50;

function Result({ item }: { item: PreviewItem }) {
  const outcome = outcomeOf(item);
  return (
    <li className="bench-item">
      <p>
        <Pill tone={TONES[outcome]}>{outcomeWords(outcome)}</Pill>{" "}
        {item.deviceId && (
          <>
            <Link to="/d/$deviceId" params={{ deviceId: item.deviceId }}>
              {item.deviceName}
            </Link>{" "}
            <TimeText at={item.timestamp} />{" "}
          </>
        )}
        <code className="bench-payload">{item.payload}</code>
        {typeof item.fPort === "number" && <span className="ink-2"> port {item.fPort}</span>}
        <span className="ink-3"> {item.milliseconds.toLocaleString("en", { maximumFractionDigits: 1 })} ms</span>
      </p>
      {item.error && <p className="field-error">{item.error}</p>}
      {outcome === "changed" && <Diff before={item.stored} after={item.values} />}
      {(outcome === "same" || outcome === "decoded") && <code className="ink-2 bench-values">{JSON.stringify(item.values)}</code>}
    </li>
  );
}

// It is tried on payloads of one group, and applied to the past of the group of the page.
export function Workbench({ present, groupId, pageGroupId, deviceId }: { present: TypeDecoder; groupId: string | null; pageGroupId: string | null; deviceId: string | undefined }) {
  const type = present.type;
  const rights = useRights(groupId);
  const navigate = useNavigate();
  const client = useQueryClient();
  const [kind, setKind] = useState(present.decoder ?? "javascript");
  const [source, setSource] = useState(present.decoderSource ?? (present.decoder ? "" : START));
  const [pasted, setPasted] = useState("");
  const given = parsePayloads(pasted);
  const draft = { decoder: kind, ...(kind === "cayenneLpp" ? {} : { decoderSource: source }) };
  const run = useMutation({
    mutationFn: (where: { groupId: string; isPasted: boolean }) =>
      read(
        api.POST("/device/type/preview", {
          body: { type, groupId: where.groupId, ...draft, ...(given.payloads.length ? { payloads: given.payloads } : { limit: STORED_LIMIT, ...(deviceId ? { deviceId } : {}) }) },
        }),
      ),
  });
  const save = useMutation({
    mutationFn: () =>
      read(api.PUT("/device/type/decoder", { body: { type, ...draft, ...(present.decodedLocation ? { decodedLocation: present.decodedLocation } : {}), ifUpdatedAt: present.updatedAt } })),
    onSuccess: async (saved) => {
      showToast(saved.warnings?.length ? `Saved. ${saved.warnings.join("; ")}.` : "Saved. New payloads are decoded with it within two seconds.");
      await client.invalidateQueries({ queryKey: ["type-decoder", type] });
    },
  });
  if (groupId === null)
    return (
      <Card title="Decoder">
        <Empty text="Choose a group first: a decoder is tried on the payloads of its devices." />
      </Card>
    );
  const mayTry = mayCall(rights, "POST /device/type/preview");
  const problem = [run.error, save.error].find((each): each is ApiProblem => each instanceof ApiProblem) ?? null;
  const sourceError = fieldError(problem, "decoderSource") ?? fieldError(problem, "decoder");
  const otherError = [run.error, save.error].find((each) => each !== null && !(each instanceof ApiProblem && (fieldError(each, "decoderSource") ?? fieldError(each, "decoder"))));
  const isChanged = kind !== (present.decoder ?? "") || (kind !== "cayenneLpp" && source !== (present.decoderSource ?? ""));
  const start = () => run.mutate({ groupId, isPasted: given.payloads.length > 0 });
  const onKeyDown = (event: KeyboardEvent) => {
    if (isCommand(event, "Enter") && mayTry && !run.isPending && !given.error) start();
  };
  return (
    <Card title="Decoder" note={isChanged ? "A draft: nothing is saved yet" : "As it is in use"}>
      <div className="bench">
        <div className="form" onKeyDown={onKeyDown}>
          <Select label="Kind" options={KINDS} value={kind} onChange={(event) => setKind(event.target.value as typeof kind)} />
          {kind !== "cayenneLpp" && (
            <TextArea label="Source" isCode rows={12} value={source} error={sourceError} hint={`${COMMAND} Enter tries it. It runs in a sandbox and stores nothing.`} onChange={(event) => setSource(event.target.value)} />
          )}
          <TextArea
            label="Payloads"
            isCode
            rows={3}
            value={pasted}
            error={given.error ?? undefined}
            placeholder="01c2 0a:2"
            hint={`Hex, one a line, with :port if it has one. Without any, the last ${STORED_LIMIT} that are stored are tried.`}
            onChange={(event) => setPasted(event.target.value)}
          />
          {!pasted && (
            <TextField
              label="Only of device"
              placeholder="dev_…"
              value={deviceId ?? ""}
              error={fieldError(problem, "deviceId")}
              onChange={(event) => void navigate({ to: ".", search: (before: object) => ({ ...before, device: event.target.value.trim() || undefined }), replace: true } as never)}
            />
          )}
          <div className="form-actions">
            {mayTry ? (
              <Button look="primary" onClick={start} disabledReason={run.isPending ? "It runs" : (given.error ?? undefined)}>
                Try it
              </Button>
            ) : (
              <Locked label="Try it" operation="POST /device/type/preview" groupId={groupId} />
            )}
            {rights.isOperator && (
              <Button writes onClick={() => save.mutate()} disabledReason={save.isPending ? "One moment" : isChanged ? undefined : "It is as saved"}>
                Save for all devices
              </Button>
            )}
            {present.decoder && !isChanged && mayCall(rights, "POST /device/redecode") && (
              <Link to="/g/$groupId/jobs" params={{ groupId: pageGroupId ?? groupId }} search={{ new: "redecode", type, below: true }} className="button button-normal">
                Redecode stored records
              </Link>
            )}
          </div>
          {!rights.isOperator && <p className="ink-2">A decoder belongs to the type in all groups, so operators save it. Copy your draft to them.</p>}
        </div>
        <div aria-live="polite">
          {otherError && <ErrorState error={otherError} operation="POST /device/type/preview" groupId={groupId} noun="device of this type" />}
          {run.data && (
            <>
              <p>
                <strong>{summaryOf(run.data.items)}</strong>{" "}
                {!run.variables.isPasted && (
                  <span className="ink-2">
                    of <GroupName groupId={run.variables.groupId} />
                  </span>
                )}
              </p>
              {run.data.items.length === 0 && <p className="ink-2">No payload of this type is among the last 5,000 arrivals of the group. Paste some, or choose another group.</p>}
              <ul className="bench-items">
                {run.data.items.map((item, index) => (
                  <Result key={index} item={item} />
                ))}
              </ul>
            </>
          )}
          {!run.data && !run.error && <p className="ink-2">Here you see what the decoder makes of each payload, beside what is stored.</p>}
        </div>
      </div>
    </Card>
  );
}
