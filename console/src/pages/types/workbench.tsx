// A decoder is written and tried on stored payloads, before anybody depends on it.
import { useState, type KeyboardEvent } from "react";
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { api, ApiProblem, read, type Schemas } from "~/api/client";
import { mayCall, useRights } from "~/api/may";
import { fetchNewest } from "~/api/queries";
import { GroupName } from "~/pages/devices/devices-page";
import { Button } from "~/ui/button";
import { Diff } from "~/ui/diff";
import { DiscardButton, useEdit } from "~/ui/edit";
import { Select, TextArea, TextField, fieldError } from "~/ui/field";
import { SubmissionError } from "~/ui/form";
import { COMMAND, isCommand } from "~/ui/keys";
import { Card } from "~/ui/page";
import { Pill, type Tone } from "~/ui/pill";
import { Empty, ErrorState } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { differing } from "~/ui/versions";
import { Locked } from "~/ui/why";
import { measurementWords, outcomeOf, outcomeWords, parsePayloads, summaryOf, type Outcome, type PreviewItem, type PreviewMeasurement } from "./workbench-data";

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

interface DecoderForm {
  kind: NonNullable<TypeDecoder["decoder"]> | "";
  source: string;
}

// An empty kind is no decoder.
function formOf({ decoder, decoderSource }: TypeDecoder): DecoderForm {
  return { kind: decoder ?? "", source: decoderSource ?? "" };
}

function decoderOf({ kind, source }: DecoderForm) {
  if (!kind) return {};
  return { decoder: kind, ...(kind === "cayenneLpp" ? {} : { decoderSource: source }) };
}

export function decoderQuery(type: string) {
  return queryOptions({
    queryKey: ["type-decoder", type],
    queryFn: ({ signal }) => read(api.GET("/device/type/decoder", { params: { query: { type } }, signal })),
  });
}

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

// A declared one that no payload gives is what a typing error in a name looks like.
function Measurements({ items }: { items: readonly PreviewMeasurement[] }) {
  return (
    <>
      <p className="bench-measurements-title">
        <strong>Measurements</strong> <span className="ink-2">that these values give</span>
      </p>
      <ul className="bench-measurements">
        {items.map((item) => (
          <li key={item.name}>
            <strong>{item.name}</strong> {item.class}
            {item.unit && ` in ${item.unit}`} {item.isDeclared ? <Pill tone={item.payloads ? "good" : "warn"}>declared</Pill> : <Pill tone="idle">found</Pill>}{" "}
            <span className="ink-2">{measurementWords(item)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

// It is tried on payloads of one group, and applied to the past of the group of the page.
export function Workbench({
  present,
  groupId,
  pageGroupId,
  deviceId,
  maySave,
  isOfGroup,
}: {
  present: TypeDecoder;
  groupId: string | null;
  pageGroupId: string | null;
  deviceId: string | undefined;
  maySave: boolean;
  isOfGroup: boolean;
}) {
  const type = present.type;
  const rights = useRights(groupId);
  const navigate = useNavigate();
  const client = useQueryClient();
  const put = (form: DecoderForm, { decodedLocation, updatedAt }: TypeDecoder) =>
    read(api.PUT("/device/type/decoder", { body: { type, ...decoderOf(form), ...(decodedLocation ? { decodedLocation } : {}), ifUpdatedAt: updatedAt } }));
  const edit = useEdit({
    stored: present,
    formOf,
    put,
    restore: (version, before) => put(formOf(version), before),
    readNewest: () => fetchNewest(decoderQuery(type)),
    onStored: (version) => {
      client.setQueryData(decoderQuery(type).queryKey, version);
      // It has a new version, on which the next change of the type is based.
      void client.invalidateQueries({ queryKey: ["type-definition", type] });
      if (run.isError) run.reset();
    },
    compare: (mine, theirs) =>
      differing([
        { label: "Kind", mine: mine.kind, theirs: theirs.kind },
        { label: "Source", mine: mine.source, theirs: theirs.source },
      ]),
    savedText: ({ warnings }) => (warnings?.length ? `Saved. ${warnings.join("; ")}.` : "Saved. New payloads are decoded with it within two seconds."),
    fields: ["decoderSource", "decoder"],
    canMerge: false,
  });
  const { isChanged, submission } = edit;
  // Where there is none yet, one is begun.
  const { kind, source } = edit.form.kind ? { kind: edit.form.kind, source: edit.form.source } : { kind: "javascript" as const, source: START };
  const [pasted, setPasted] = useState("");
  const given = parsePayloads(pasted);
  const run = useMutation({
    mutationFn: (where: { groupId: string; isPasted: boolean }) =>
      read(
        api.POST("/device/type/preview", {
          body: {
            type,
            groupId: where.groupId,
            ...decoderOf({ kind, source }),
            ...(given.payloads.length ? { payloads: given.payloads } : { limit: STORED_LIMIT, ...(deviceId ? { deviceId } : {}) }),
          },
        }),
      ),
  });
  if (groupId === null)
    return (
      <Card title="Decoder">
        <Empty text="Choose a group first: a decoder is tried on the payloads of its devices." />
      </Card>
    );
  const mayTry = mayCall(rights, "POST /device/type/preview");
  const problem = run.error instanceof ApiProblem ? run.error : null;
  const ofSource = (errorOf: (field: string) => string | undefined) => errorOf("decoderSource") ?? errorOf("decoder");
  const sourceOfRun = ofSource((field) => fieldError(problem, field));
  const start = () => {
    submission.reset();
    run.mutate({ groupId, isPasted: given.payloads.length > 0 });
  };
  const change = (form: DecoderForm) => {
    if (run.isError) run.reset();
    edit.change(form);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isCommand(event, "Enter") && mayTry && !run.isPending && !given.error) start();
  };
  return (
    <Card title="Decoder" note={!isChanged && present.decoder ? "Saved and in use" : "A draft: nothing is saved yet"}>
      <div className="bench">
        <div className="form" onKeyDown={onKeyDown}>
          <Select label="Kind" options={KINDS} value={kind} onChange={(event) => change({ kind: event.target.value as typeof kind, source })} />
          {kind !== "cayenneLpp" && (
            <TextArea label="Source" isCode rows={12} value={source} error={ofSource(submission.errorOf) ?? sourceOfRun} hint={`${COMMAND} Enter tries it. It runs in a sandbox and stores nothing.`} onChange={(event) => change({ kind, source: event.target.value })} />
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
            {maySave && (
              <Button writes onClick={() => void submission.run(edit.save)} disabledReason={submission.isBusy ? "One moment" : isChanged ? undefined : "Nothing is changed"}>
                Save for all devices
              </Button>
            )}
            <DiscardButton edit={edit} />
            {present.decoder && !isChanged && mayCall(rights, "POST /device/redecode") && (
              <Link to="/g/$groupId/jobs" params={{ groupId: pageGroupId ?? groupId }} search={{ new: "redecode", type }} className="button button-normal">
                Redecode stored records
              </Link>
            )}
          </div>
          <SubmissionError submission={submission} />
          {!maySave && (
            <p className="ink-2">{isOfGroup ? "Who may change devices in the group of the type saves it. Copy your draft to them." : "A decoder belongs to the type in all groups, so operators save it. Copy your draft to them."}</p>
          )}
        </div>
        <div aria-live="polite">
          {run.error && !sourceOfRun && <ErrorState error={run.error} operation="POST /device/type/preview" groupId={groupId} noun="device of this type" />}
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
              {run.data.measurements.length > 0 && <Measurements items={run.data.measurements} />}
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
      {edit.conflict}
    </Card>
  );
}
