// Downlinks of the device: what was sent to it, what waits, and what can still be cancelled.
import { useId, useMemo, useState, type FormEvent } from "react";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { ApiProblem, api, read, type Schemas } from "~/api/client";
import { useMay } from "~/api/may";
import { SERVICE_URL } from "~/base-path";
import { Button } from "~/ui/button";
import { CopyButton } from "~/ui/copy";
import { Dialog } from "~/ui/dialog";
import { Checkbox, Select, TextArea, TextField, fieldError } from "~/ui/field";
import { DialogForm } from "~/ui/form";
import { Pill, type Tone } from "~/ui/pill";
import { Empty, ErrorState, Loading } from "~/ui/state";
import { Table, type Column } from "~/ui/table";
import { TimeText } from "~/ui/time-text";
import { showToast } from "~/ui/toast";
import { Locked } from "~/ui/why";
import type { Device } from "./queries";
import { t } from "~/messages/device";

type Downlink = Schemas["Downlink"];

const TONES: Record<string, Tone> = { acknowledged: "good", sent: "good", failed: "bad", expired: "warn" };
const EXPIRIES = [
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "7 days"],
] as const;

export function SendDialog({ device, onClose }: { device: Device; onClose: () => void }) {
  const client = useQueryClient();
  const formId = useId();
  const [how, setHow] = useState<"payload" | "data">("payload");
  const [draft, setDraft] = useState({ payload: "", data: "{}", port: "", confirmed: false, expiresIn: "86400" });
  const [mistake, setMistake] = useState<string | null>(null);
  const send = useMutation({
    mutationFn: (body: Schemas["DownlinkInput"]) => read(api.POST("/device/downlink", { body })),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["downlinks", device.deviceId] });
      showToast(t("QueuedDownlinkToName", { name: device.name }));
      onClose();
    },
  });
  const problem = send.error instanceof ApiProblem ? send.error : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setMistake(null);
    let content: Pick<Schemas["DownlinkInput"], "payload" | "data"> = { payload: draft.payload.replace(/\s/g, "") };
    if (how === "data")
      try {
        content = { data: JSON.parse(draft.data) as Record<string, never> };
      } catch (error) {
        return setMistake(t("isNotJSONValue", { value: error instanceof Error ? error.message : String(error) }));
      }
    send.mutate({
      deviceId: device.deviceId,
      groupId: device.groupId,
      ...content,
      ...(draft.port ? { port: Number(draft.port) } : {}),
      confirmed: draft.confirmed,
      expiresIn: Number(draft.expiresIn),
    });
  };
  const named = ["payload", "data", "port", "expiresIn"].some((name) => fieldError(problem, name));
  return (
    <Dialog
      title={t("SendDownlinkToName", { name: device.name })}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" form={formId} disabledReason={send.isPending ? t("BeingQueued") : undefined}>
            {t("Send")}
          </Button>
        </>
      }
    >
      <DialogForm id={formId} isBusy={send.isPending} onSubmit={submit}>
        <Select
          label={t("As")}
          options={[
            ["payload", t("BytesInHex")],
            ["data", t("ValuesEncodedByTypesCodec")],
          ]}
          value={how}
          onChange={(event) => setHow(event.target.value as "payload" | "data")}
        />
        {how === "payload" ? (
          <TextField
            label={t("Payload")}
            className="input input-code"
            value={draft.payload}
            error={fieldError(problem, "payload")}
            onChange={(event) => setDraft({ ...draft, payload: event.target.value })}
          />
        ) : (
          <TextArea label={t("Values")} isCode value={draft.data} error={mistake ?? fieldError(problem, "data")} onChange={(event) => setDraft({ ...draft, data: event.target.value })} />
        )}
        <TextField
          label={t("Port")}
          inputMode="numeric"
          hint={t("LoRaWANOnly1To223")}
          value={draft.port}
          error={fieldError(problem, "port")}
          onChange={(event) => setDraft({ ...draft, port: event.target.value.replace(/\D/g, "") })}
        />
        <Select label={t("ExpiresAfter")} options={EXPIRIES} value={draft.expiresIn} onChange={(event) => setDraft({ ...draft, expiresIn: event.target.value })} />
        <Checkbox label={t("deviceMustAcknowledgeIt")} checked={draft.confirmed} onChange={(event) => setDraft({ ...draft, confirmed: event.target.checked })} />
      </DialogForm>
      {send.error && !named && <ErrorState error={send.error} />}
    </Dialog>
  );
}

function CancelButton({ downlink }: { downlink: Downlink }) {
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => read(api.DELETE("/device/downlink", { params: { query: { downlinkId: downlink.id, deviceId: downlink.deviceId } } })),
    onError: (error) => showToast(error.message, { tone: "bad" }),
    onSettled: () => client.invalidateQueries({ queryKey: ["downlinks", downlink.deviceId] }),
  });
  return (
    <Button look="quiet" writes onClick={() => cancel.mutate()} disabledReason={cancel.isPending ? t("BeingCancelled") : undefined}>
      {t("Cancel")}
    </Button>
  );
}

function useColumns(maySend: boolean): readonly Column<Downlink>[] {
  return useMemo(
    () => [
      { id: "at", head: t("Created"), width: "minmax(200px, 1.2fr)", card: "title", cell: (each) => <TimeText at={each.createdAt} withAgo precision="minute" /> },
      { id: "state", head: t("State"), width: "136px", card: "line", cell: (each) => <Pill tone={TONES[each.state] ?? "idle"} title={each.detail ?? undefined}>{each.state}</Pill> },
      {
        id: "payload",
        head: t("Payload"),
        width: "minmax(100px, 2fr)",
        card: "line",
        cell: (each) => (
          <>
            <code title={each.payload}>{each.payload || "–"}</code> {each.payload && <CopyButton text={each.payload} />}
          </>
        ),
      },
      { id: "port", head: t("Port"), width: "56px", align: "end", cell: (each) => each.port ?? <span className="ink-3">–</span> },
      { id: "detail", head: t("Detail"), width: "minmax(100px, 2fr)", cell: (each) => <span title={each.detail ?? ""}>{each.detail ?? (each.confirmed ? t("toBeAcknowledged") : <span className="ink-3">–</span>)}</span> },
      { id: "expires", head: t("Expires"), width: "150px", cell: (each) => <TimeText at={each.expiresAt} precision="minute" /> },
      { id: "cancel", head: <span className="visually-hidden">{t("Cancel")}</span>, width: "88px", card: "line", cell: (each) => (maySend && each.state === "queued" ? <CancelButton downlink={each} /> : null) },
    ],
    [maySend],
  );
}

export function DownlinksTab({ device, onSend }: { device: Device; onSend: () => void }) {
  const maySend = useMay(device.groupId, "POST /device/downlink");
  const columns = useColumns(maySend);
  const query = useInfiniteQuery({
    queryKey: ["downlinks", device.deviceId],
    queryFn: ({ pageParam, signal }) =>
      read(api.GET("/device/downlinks", { params: { query: { deviceId: device.deviceId, limit: 100, nextToken: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextToken ?? undefined,
    refetchInterval: (state) => ((state.state.data?.pages.length ?? 0) > 1 ? false : 5_000),
  });
  const rows = query.data?.pages.flatMap((page) => page.items) ?? [];
  if (!query.data)
    return query.isError ? (
      <ErrorState error={query.error} onRetry={() => void query.refetch()} operation="GET /device/downlinks" groupId={device.groupId} noun={t("device")} />
    ) : (
      <Loading />
    );
  if (rows.length === 0)
    return (
      <Empty
        text={t("DownlinksOfThisDeviceAreListed")}
        action={
          maySend ? (
            <Button look="primary" onClick={onSend}>
              {t("SendDownlink")}
            </Button>
          ) : (
            <Locked label={t("SendDownlink")} operation="POST /device/downlink" groupId={device.groupId} />
          )
        }
        curl={`curl -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{"deviceId":"${device.deviceId}","payload":"01ff","port":10}' \\
  "${SERVICE_URL}/device/downlink"`}
      />
    );
  return (
    <Table
      label={t("Downlinks")}
      rows={rows}
      columns={columns}
      rowKey={(each) => each.id}
      onEndReached={query.hasNextPage && !query.isFetchingNextPage ? () => void query.fetchNextPage() : undefined}
      isLoadingMore={query.isFetchingNextPage}
    />
  );
}
