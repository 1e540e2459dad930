// A device type out of the files of its maker: dropped or chosen, its examples run, and created.
import { useState, type DragEvent } from "react";
import { useNavigate } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { api, ApiProblem, read, type Schemas } from "~/api/client";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { Checkbox, Select, TextField, fieldErrors } from "~/ui/field";
import { Pill } from "~/ui/pill";
import { ErrorState } from "~/ui/state";
import { showToast } from "~/ui/toast";
import { chooseFiles, FILES_MAX, isOfDevice, listDevices, type Files } from "./type-files";
import { useTypesChanged } from "./type-dialogs";
import { t } from "~/messages/types";
import "~/pages/devices/devices.css";

type Outcome = Schemas["TypeImportReturn"];
const READ_MAX = 2_000;

async function readEntry(entry: FileSystemEntry, found: Map<string, File>): Promise<void> {
  if (found.size >= READ_MAX) return;
  if (entry.isFile) {
    if (isOfDevice(entry.name)) found.set(entry.fullPath.slice(1), await new Promise((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)));
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  // It gives a hundred at a time, and none at the end.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const each of some) await readEntry(each, found);
  }
}

async function readDropped(items: DataTransferItemList): Promise<Files> {
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const found = new Map<string, File>();
  for (const each of entries) await readEntry(each, found);
  return textsOf(found);
}

function readChosen(files: FileList): Promise<Files> {
  return textsOf(new Map([...files].filter((file) => isOfDevice(file.name)).map((file) => [file.webkitRelativePath || file.name, file])));
}

async function textsOf(files: ReadonlyMap<string, File>): Promise<Files> {
  return Object.fromEntries(await Promise.all([...files].map(async ([path, file]) => [path, await file.text()] as const)));
}

function Examples({ outcome }: { outcome: Outcome }) {
  return (
    <ul className="bench-items import-examples">
      {outcome.examples.map((each, index) => (
        <li className="bench-item" key={index}>
          <p>
            <Pill tone={each.isPassed ? "good" : "bad"}>{each.isPassed ? "passed" : "failed"}</Pill> {each.name} <code className="ink-2">{each.function}</code>
          </p>
          {!each.isPassed && (
            <>
              <p>
                {t.rich("expectedCode", { code: <code className="bench-values">{JSON.stringify(each.expected)}</code> })}
              </p>
              <p>
                {t.rich("gotCode", { code: <code className="bench-values">{JSON.stringify(each.actual)}</code> })}
              </p>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

export function ImportTypeDialog({ owners, onClose }: { owners: readonly (readonly [string, string])[]; onClose: () => void }) {
  const navigate = useNavigate();
  const changed = useTypesChanged();
  const [owner, setOwner] = useState(owners[0]?.[0] ?? "");
  const [files, setFiles] = useState<Files>({});
  const [device, setDevice] = useState("");
  const [name, setName] = useState("");
  const [isAccepting, setAccepting] = useState(false);
  const [isOver, setOver] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const devices = [...listDevices(files).keys()].sort();
  const chosen = devices.length === 1 ? (devices[0] ?? "") : device;
  const sent = chooseFiles(files, chosen);
  const isReady = Object.keys(sent).length > 0 && Object.keys(sent).length <= FILES_MAX && (devices.length < 2 || device !== "");
  const body = { files: sent, groupId: owner || undefined, device: chosen || undefined, name: name.trim() || undefined };
  const tried = useQuery({
    queryKey: ["type-import", owner, chosen, name.trim(), sent],
    queryFn: ({ signal }) => read(api.POST("/device/type/import", { body: { ...body, dryRun: true }, signal })),
    enabled: isReady,
    retry: false,
    gcTime: 0,
  });
  const outcome = isReady ? tried.data : undefined;
  const take = async (reading: Promise<Files>) => {
    setError(null);
    setDevice("");
    try {
      setFiles(await reading);
    } catch (failure) {
      setError(failure);
    }
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void take(readDropped(event.dataTransfer.items));
  };
  const create = async () => {
    setBusy(true);
    setError(null);
    try {
      const made = await read(api.POST("/device/type/import", { body: { ...body, acceptFailing: isAccepting } }));
      changed();
      showToast(made.message);
      void navigate({ to: "/types/$type", params: { type: made.name } });
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const failed = outcome?.failed ?? 0;
  const reason = isBusy ? t("BeingCreated") : !outcome ? t("ChooseFilesFirst") : failed > 0 && !isAccepting ? t("SomeExamplesFail") : undefined;
  const problem = tried.error instanceof ApiProblem ? tried.error : null;
  return (
    <Dialog
      title={t("ImportDeviceType")}
      width="wide"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button look="primary" disabledReason={reason} onClick={() => void create()}>
            {t("Create")}
          </Button>
        </>
      }
    >
      <div className="form">
        <div className="import-source" data-over={isOver || undefined} onDragOver={(event) => (event.preventDefault(), setOver(true))} onDragLeave={() => setOver(false)} onDrop={drop}>
          <p>{t("DropFolderOfMakerHereOf")}</p>
          <div className="filters">
            <label className="button button-normal file-button">
              {t("ChooseFolder")}
              <input type="file" className="visually-hidden" {...{ webkitdirectory: "" }} onChange={(event) => event.target.files && void take(readChosen(event.target.files))} />
            </label>
            <label className="button button-normal file-button">
              {t("ChooseFiles")}
              <input type="file" multiple accept=".toml,.yaml,.yml,.js,.json" className="visually-hidden" onChange={(event) => event.target.files && void take(readChosen(event.target.files))} />
            </label>
            {Object.keys(files).length > 0 && <span className="ink-2">{t("countFiles", { count: Object.keys(files).length })}</span>}
          </div>
        </div>
        <Select label={t("For")} options={owners} value={owner} onChange={(event) => setOwner(event.target.value)} />
        {devices.length > 1 && <Select label={t("Device")} options={[["", t("ChooseOne")], ...devices.map((each) => [each, each] as const)]} value={device} onChange={(event) => setDevice(event.target.value)} />}
        <TextField label={t("Id")} className="input input-code" placeholder={outcome?.name} hint={t("ByDefaultMakerAndDeviceIt")} value={name} error={fieldErrors(problem, ["name"])} onChange={(event) => setName(event.target.value)} />
      </div>
      <div aria-live="polite">
        {isReady && tried.error && <ErrorState error={tried.error} />}
        {outcome && (
          <>
            <p>
              <strong>{outcome.displayName}</strong>
              {outcome.firmwareVersion && ` ${t("firmwareFirmwareVersion", { firmwareVersion: outcome.firmwareVersion })}`}
              {outcome.battery && ` · ${outcome.battery}`}
              {t("passedOfValueExamplesPassed", { passed: outcome.passed, value: outcome.passed + outcome.failed })}
            </p>
            <Examples outcome={outcome} />
            {outcome.warnings?.map((each) => <p key={each}>{each}</p>)}
            {outcome.ignored.length > 0 && (
              <details>
                <summary>{t("LeftOutCount", { count: outcome.ignored.length })}</summary>
                <ul>
                  {outcome.ignored.map((each) => (
                    <li key={each}>{each}</li>
                  ))}
                </ul>
              </details>
            )}
            {failed > 0 && <Checkbox label={t("CreateItAlthoughExamplesFail")} checked={isAccepting} onChange={(event) => setAccepting(event.target.checked)} />}
          </>
        )}
        {error !== null && <ErrorState error={error} />}
      </div>
    </Dialog>
  );
}
