import { useId, useRef, useState, type FormEvent } from "react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ApiProblem, api, read } from "~/api/client";
import { useZone } from "~/frame/page-state";
import { formatTime, type Span } from "~/time";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { TextField, fieldError } from "~/ui/field";
import { DialogForm } from "~/ui/form";
import { Facts } from "~/ui/page";
import { KIND_LABELS } from "~/ui/pill";
import { ErrorState, QueryView } from "~/ui/state";
import { showToast } from "~/ui/toast";
import { NetworkField } from "~/pages/devices/network-field";
import { originalIdHint } from "~/pages/devices/queries";
import { recordCountsQuery, type Device } from "./queries";
import { LOCALE } from "~/i18n";
import { t } from "~/messages/device";

export function RenameDialog({ device, onChanged, onClose }: { device: Device; onChanged: (device: Device) => void; onClose: () => void }) {
  const [name, setName] = useState(device.name);
  const formId = useId();
  const put = (next: string, ifUpdatedAt: string) => read(api.PUT("/device", { body: { deviceId: device.deviceId, groupId: device.groupId, name: next, ifUpdatedAt } }));
  const rename = useMutation({
    // The name before it is sent: the live stream may be faster than the response.
    mutationFn: async () => ({ before: device.name, changed: await put(name, device.updatedAt) }),
    onSuccess: ({ before, changed }) => {
      onChanged(changed);
      showToast(t("RenamedBeforeToName", { before, name: changed.name }), {
        action: {
          label: t("Undo"),
          run: () => put(before, changed.updatedAt).then(onChanged),
        },
      });
      onClose();
    },
  });
  const problem = rename.error instanceof ApiProblem ? rename.error : null;
  const error = fieldError(problem, "name");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!rename.isPending) rename.mutate();
  };
  return (
    <Dialog
      title={t("RenameName", { name: device.name })}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" form={formId} disabledReason={rename.isPending ? t("OneMoment") : undefined}>
            {t("Rename")}
          </Button>
        </>
      }
    >
      <DialogForm id={formId} isBusy={rename.isPending} onSubmit={submit}>
        <TextField label={t("Name")} autoFocus value={name} error={error} onChange={(event) => setName(event.target.value)} />
      </DialogForm>
      {rename.error && !error && <ErrorState error={rename.error} />}
    </Dialog>
  );
}

export function HardwareDialog({ device, onChanged, onClose }: { device: Device; onChanged: (device: Device) => void; onClose: () => void }) {
  const [originalId, setOriginalId] = useState(device.originalId);
  const [network, setNetwork] = useState(device.network);
  const formId = useId();
  const replace = useMutation({
    mutationFn: () =>
      read(api.PUT("/device", { body: { deviceId: device.deviceId, groupId: device.groupId, originalId, network, ifUpdatedAt: device.updatedAt } })),
    onSuccess: (changed) => {
      onChanged(changed);
      showToast(t("nameIsOriginalIdOnNetworkNow", { name: changed.name, originalId: changed.originalId, network: changed.network }));
      onClose();
    },
  });
  const problem = replace.error instanceof ApiProblem ? replace.error : null;
  const [idError, networkError] = [fieldError(problem, "originalId"), fieldError(problem, "network")];
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!replace.isPending) replace.mutate();
  };
  return (
    <Dialog
      title={t("ReplaceHardwareOfName", { name: device.name })}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" type="submit" form={formId} disabledReason={replace.isPending ? t("OneMoment") : undefined}>
            {t("Replace")}
          </Button>
        </>
      }
    >
      <p>
        {t("ForNewUnitInSamePlace")}
      </p>
      <DialogForm id={formId} isBusy={replace.isPending} onSubmit={submit} noValidate>
        <NetworkField value={network} error={networkError} onChange={setNetwork} />
        <TextField
          label={t("OriginalId")}
          className="input input-code"
          autoFocus
          hint={originalIdHint(network)}
          value={originalId}
          error={idError}
          onChange={(event) => setOriginalId(event.target.value)}
        />
      </DialogForm>
      {replace.error && !idError && !networkError && <ErrorState error={replace.error} />}
    </Dialog>
  );
}

export function DeleteRecordsDialog({ device, onClose }: { device: Device; onClose: () => void }) {
  const client = useQueryClient();
  const [typed, setTyped] = useState("");
  const counts = useQuery(recordCountsQuery(device.deviceId));
  const remove = useMutation({
    mutationFn: () => read(api.DELETE("/device/data", { body: { deviceId: device.deviceId } })),
    onSuccess: (answer) => {
      for (const key of ["device-records", "device-numbers", "device-series"]) void client.invalidateQueries({ queryKey: [key, device.deviceId] });
      showToast(answer.message ?? t("DeletedRecordsOfName", { name: device.name }));
      onClose();
    },
  });
  return (
    <Dialog
      title={t("DeleteAllRecordsOfName", { name: device.name })}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button
            look="danger"
            disabledReason={remove.isPending ? t("BeingDeleted") : typed === device.name ? undefined : t("nameOfDeviceIsNotTyped")}
            onClick={() => remove.mutate()}
          >
            {t("DeleteRecords")}
          </Button>
        </>
      }
    >
      <p>{t("ThisCannotBeUndoneDeviceItself")}</p>
      <QueryView query={counts} operation="GET /device/data" groupId={device.groupId} skeletonRows={4}>
        {(found) => <Facts rows={found.map((each) => [KIND_LABELS[each.kind], `${each.count.toLocaleString(LOCALE)}${each.isMore ? ` ${t("orMore")}` : ""}`] as const)} />}
      </QueryView>
      <TextField label={t("TypeNameToDeleteThem", { name: device.name })} value={typed} autoComplete="off" onChange={(event) => setTyped(event.target.value)} />
      {remove.error && <ErrorState error={remove.error} />}
    </Dialog>
  );
}

const REDECODE_ITEMS = 500;

interface Redecoded {
  readonly lookedAt: number;
  readonly changed: number;
  readonly skipped: number;
  readonly failed: number;
  readonly failure: string | null;
  readonly isOver: boolean;
}

// Stored payloads through the decoder that the type has now, request by request.
export function RedecodeDialog({ device, span, onClose }: { device: Device; span: Span; onClose: () => void }) {
  const client = useQueryClient();
  const zone = useZone();
  const isStopped = useRef(false);
  const [progress, setProgress] = useState<Redecoded | null>(null);
  const run = useMutation({
    mutationFn: async () => {
      isStopped.current = false;
      let sum: Redecoded = { lookedAt: 0, changed: 0, skipped: 0, failed: 0, failure: null, isOver: false };
      let nextToken: string | undefined;
      do {
        const period = { beginDate: new Date(span.begin).toISOString(), endDate: new Date(span.end).toISOString() };
        const answer = await read(api.POST("/device/redecode", { body: { deviceId: device.deviceId, ...period, limit: REDECODE_ITEMS, nextToken } }));
        sum = {
          lookedAt: sum.lookedAt + answer.lookedAt,
          changed: sum.changed + answer.changed,
          skipped: sum.skipped + answer.skipped,
          failed: sum.failed + answer.failed,
          failure: sum.failure ?? answer.failure ?? null,
          isOver: false,
        };
        setProgress(sum);
        nextToken = answer.nextToken ?? undefined;
      } while (nextToken && !isStopped.current);
      setProgress({ ...sum, isOver: !nextToken });
    },
    onSettled: () => {
      for (const key of ["device-records", "device-numbers", "device-series"]) void client.invalidateQueries({ queryKey: [key, device.deviceId] });
    },
  });
  const stop = () => {
    isStopped.current = true;
  };
  return (
    <Dialog
      title={t("RedecodeRecordsOfName", { name: device.name })}
      onClose={() => {
        stop();
        onClose();
      }}
      actions={
        run.isPending ? (
          <Button onClick={stop}>{t("Stop")}</Button>
        ) : (
          <>
            <Button onClick={onClose}>{t("Close")}</Button>
            {!progress?.isOver && (
              <Button look="primary" onClick={() => run.mutate()}>
                {t("Redecode")}
              </Button>
            )}
          </>
        )
      }
    >
      <p>
        {t("PayloadsFromBeginToEndGo", { begin: formatTime(span.begin, zone, "minute"), end: formatTime(span.end, zone, "minute"), type: device.type })}
      </p>
      {progress && (
        <div role="status">
          <Facts
            rows={[
              [t("RecordsLookedAt"), progress.lookedAt.toLocaleString(LOCALE)],
              [t("Changed"), progress.changed.toLocaleString(LOCALE)],
              [t("WithoutPayload"), progress.skipped.toLocaleString(LOCALE)],
              [t("RefusedByDecoder"), progress.failed.toLocaleString(LOCALE)],
            ]}
          />
          {progress.failure && <p className="ink-2">{t("firstOneFailure", { failure: progress.failure })}</p>}
        </div>
      )}
      {run.error && <ErrorState error={run.error} />}
    </Dialog>
  );
}
