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
import { LOCALE } from "~/i18n";
import { t } from "~/messages/types";

type TypeDecoder = Schemas["TypeDecoder"];

const KINDS = [
  ["javascript", t("JavaScriptCodec")],
  ["bits", t("BitFormat")],
  ["cayenneLpp", t("CayenneLPP")],
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
        {typeof item.fPort === "number" && <span className="ink-2">{" "}{t("portFPort", { fPort: item.fPort })}</span>}
        <span className="ink-3"> {t("valueMs", { value: item.milliseconds.toLocaleString(LOCALE, { maximumFractionDigits: 1 }) })}</span>
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
        <strong>{t("Measurements")}</strong> <span className="ink-2">{t("thatTheseValuesGive")}</span>
      </p>
      <ul className="bench-measurements">
        {items.map((item) => (
          <li key={item.name}>
            <strong>{item.name}</strong> {item.class}
            {item.unit && ` ${t("inUnit", { unit: item.unit })}`} {item.isDeclared ? <Pill tone={item.payloads ? "good" : "warn"}>{t("declared")}</Pill> : <Pill tone="idle">{t("found")}</Pill>}{" "}
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
        { label: t("Kind"), mine: mine.kind, theirs: theirs.kind },
        { label: t("Source"), mine: mine.source, theirs: theirs.source },
      ]),
    savedText: ({ warnings }) => (warnings?.length ? t("SavedValue", { value: warnings.join("; ") }) : t("SavedNewPayloadsAreDecodedWith")),
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
      <Card title={t("Decoder")}>
        <Empty text={t("ChooseGroupFirstDecoderIsTried")} />
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
    <Card title={t("Decoder")} note={!isChanged && present.decoder ? t("SavedAndInUse") : t("draftNothingIsSavedYet")}>
      <div className="bench">
        <div className="form" onKeyDown={onKeyDown}>
          <Select label={t("Kind")} options={KINDS} value={kind} onChange={(event) => change({ kind: event.target.value as typeof kind, source })} />
          {kind !== "cayenneLpp" && (
            <TextArea label={t("Source")} isCode rows={12} value={source} error={ofSource(submission.errorOf) ?? sourceOfRun} hint={t("COMMANDEnterTriesItItRuns", { COMMAND })} onChange={(event) => change({ kind, source: event.target.value })} />
          )}
          <TextArea
            label={t("Payloads")}
            isCode
            rows={3}
            value={pasted}
            error={given.error ?? undefined}
            placeholder="01c2 0a:2"
            hint={t("HexOneLineWithPortIf", { STORED_LIMIT })}
            onChange={(event) => setPasted(event.target.value)}
          />
          {!pasted && (
            <TextField
              label={t("OnlyOfDevice")}
              placeholder="dev_…"
              value={deviceId ?? ""}
              error={fieldError(problem, "deviceId")}
              onChange={(event) => void navigate({ to: ".", search: (before: object) => ({ ...before, device: event.target.value.trim() || undefined }), replace: true } as never)}
            />
          )}
          <div className="form-actions">
            {mayTry ? (
              <Button look="primary" onClick={start} disabledReason={run.isPending ? t("ItRuns") : (given.error ?? undefined)}>
                {t("TryIt")}
              </Button>
            ) : (
              <Locked label={t("TryIt")} operation="POST /device/type/preview" groupId={groupId} />
            )}
            {maySave && (
              <Button writes onClick={() => void submission.run(edit.save)} disabledReason={submission.isBusy ? t("OneMoment") : isChanged ? undefined : t("NothingIsChanged")}>
                {t("SaveForAllDevices")}
              </Button>
            )}
            <DiscardButton edit={edit} />
            {present.decoder && !isChanged && mayCall(rights, "POST /device/redecode") && (
              <Link to="/g/$groupId/jobs" params={{ groupId: pageGroupId ?? groupId }} search={{ new: "redecode", type }} className="button button-normal">
                {t("RedecodeStoredRecords")}
              </Link>
            )}
          </div>
          <SubmissionError submission={submission} />
          {!maySave && (
            <p className="ink-2">{isOfGroup ? t("WhoMayChangeDevicesInGroup") : t("decoderBelongsToTypeInAll")}</p>
          )}
        </div>
        <div aria-live="polite">
          {run.error && !sourceOfRun && <ErrorState error={run.error} operation="POST /device/type/preview" groupId={groupId} noun={t("deviceOfThisType")} />}
          {run.data && (
            <>
              <p>
                <strong>{summaryOf(run.data.items)}</strong>{" "}
                {!run.variables.isPasted && (
                  <span className="ink-2">
                    {t.rich("ofGroup", { group: <GroupName groupId={run.variables.groupId} /> })}
                  </span>
                )}
              </p>
              {run.data.measurements.length > 0 && <Measurements items={run.data.measurements} />}
              {run.data.items.length === 0 && <p className="ink-2">{t("NoPayloadOfThisTypeIs")}</p>}
              <ul className="bench-items">
                {run.data.items.map((item, index) => (
                  <Result key={index} item={item} />
                ))}
              </ul>
            </>
          )}
          {!run.data && !run.error && <p className="ink-2">{t("HereYouSeeWhatDecoderMakes")}</p>}
        </div>
      </div>
      {edit.conflict}
    </Card>
  );
}
