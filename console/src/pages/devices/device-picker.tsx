// Devices are chosen by name: one for a filter, or several for what applies to some only.
import { useId, useState } from "react";
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { TextField } from "~/ui/field";
import { Popover } from "~/ui/menu";
import { nameOr } from "~/ui/name";
import { useSettled } from "~/ui/settled";
import { deviceNameQuery } from "./queries";
import { t } from "~/messages/devices";
import "./device-picker.css";

const SEARCH_MS = 150;
const FOUND_MAX = 10;

function DeviceSearch({ groupId, leftOut = [], onChoose }: { groupId: string; leftOut?: readonly string[]; onChoose: (id: string) => void }) {
  const [text, setText] = useState("");
  const q = useSettled(text.trim(), SEARCH_MS);
  const devices = useQuery({
    queryKey: ["devices", "choice", groupId, q],
    queryFn: ({ signal }) =>
      read(api.GET("/devices", { params: { query: { groupId, subgroups: true, limit: FOUND_MAX, sort: "name", ascending: true, ...(q ? { q } : {}) } }, signal })),
    // What was found before stays until there is something else: a press where it stood would close the popover.
    placeholderData: keepPreviousData,
  });
  const found = devices.data?.items.filter((each) => !leftOut.includes(each.deviceId));
  const isNone = found?.length === 0 && !devices.isPlaceholderData;
  return (
    <div className="device-search">
      <input className="input" type="search" aria-label={t("FindDevice")} placeholder={t("NameIdOrTag")} value={text} onChange={(event) => setText(event.target.value)} />
      <div className="menu">
        {found?.map((each) => (
          <button key={each.deviceId} type="button" className="menu-item" onClick={() => onChoose(each.deviceId)}>
            <span className="device-search-name">{each.name}</span> <span className="ink-3">{each.originalId}</span>
          </button>
        ))}
        <p role="status" className="ink-2 device-search-none">
          {devices.isError ? devices.error.message : isNone ? t("NoDeviceMatches") : ""}
        </p>
      </div>
    </div>
  );
}

// A filter by one device, or by none. Whoever may not list devices sees a choice that the address has made.
export function DeviceChoice({ groupId, deviceId, onChoose }: { groupId: string; deviceId: string | undefined; onChoose: (id: string | undefined) => void }) {
  const mayList = useMay(groupId, "GET /devices");
  const device = useQuery({ ...deviceNameQuery(deviceId ?? ""), enabled: deviceId !== undefined && mayList });
  if (!mayList && deviceId === undefined) return null;
  return (
    <Popover label={<>{deviceId ? (device.data?.name ?? deviceId) : t("AnyDevice")} <span aria-hidden="true">⌄</span></>} title={t("Device")} className="device-choice">
      {(close) => {
        const choose = (id: string | undefined) => {
          onChoose(id);
          close();
        };
        return (
          <>
            {mayList && <DeviceSearch groupId={groupId} onChoose={choose} />}
            {deviceId !== undefined && (
              <button type="button" className="menu-item" onClick={() => choose(undefined)}>
                {t("AnyDevice")}
              </button>
            )}
          </>
        );
      }}
    </Popover>
  );
}

// The names of devices, by their ids; the ids where they are not known, or not to be read.
export function useDeviceNames(groupId: string, ids: readonly string[]): readonly string[] {
  const mayRead = useMay(groupId, "GET /device");
  const found = useQueries({ queries: ids.map((each) => ({ ...deviceNameQuery(each), enabled: mayRead })) });
  return ids.map((id, index) => nameOr(found[index]?.data?.name, id));
}

// A field of a form: the ids of devices, shown by their names. Ids can be typed where devices cannot be listed.
export function DevicesField({ groupId, label, hint, error, ids, max = Infinity, noneLabel = t("ChooseDevice"), onChange }: {
  groupId: string;
  label: string;
  hint?: string;
  error: string | undefined;
  ids: readonly string[];
  max?: number;
  // What it says while none is chosen.
  noneLabel?: string;
  onChange: (ids: readonly string[]) => void;
}) {
  const id = useId();
  const mayList = useMay(groupId, "GET /devices");
  const names = useDeviceNames(groupId, ids);
  if (!mayList)
    return (
      <TextField
        label={label}
        hint={t("IdsSeparatedByCommasHint", { hint: hint ?? "" })}
        error={error}
        value={ids.join(", ")}
        onChange={(event) => onChange(event.target.value.split(",").map((each) => each.trim()).slice(0, max))}
      />
    );
  return (
    <div className={`field ${error ? "field-wrong" : ""}`} role="group" aria-labelledby={`${id}-label`} aria-describedby={hint && `${id}-hint`}>
      <span className="field-label" id={`${id}-label`}>
        {label}
      </span>
      <div className="chips">
        {ids.map((each, index) => {
          const name = names[index] ?? each;
          return (
            <button key={each} type="button" className="chip" aria-label={t("RemoveName", { name })} title={each} onClick={() => onChange(ids.filter((other) => other !== each))}>
              <span className="device-search-name">{name}</span> <span aria-hidden="true">×</span>
            </button>
          );
        })}
        {ids.length < max && (
          <Popover label={<>{ids.length === 0 ? noneLabel : t("AddDevice")} <span aria-hidden="true">⌄</span></>}>
            {(close) => (
              <DeviceSearch
                groupId={groupId}
                leftOut={ids}
                onChoose={(chosen) => {
                  onChange([...ids, chosen]);
                  close();
                }}
              />
            )}
          </Popover>
        )}
      </div>
      {error && <p className="field-error">{error}</p>}
      {hint && (
        <p className="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
