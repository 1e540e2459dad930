import { useState } from "react";
import { Select, TextField } from "~/ui/field";
import { NETWORKS, NETWORK_NAMES, isSupported } from "./queries";
import { t } from "~/messages/devices";

const OTHER = "";

// A network: one that is supported, or any other by its name.
export function NetworkField({
  label = t("Network"),
  source = t("ItReportsThrough"),
  other = t("AnotherNetworkOrNone"),
  value,
  error,
  hint,
  onChange,
}: {
  label?: string;
  source?: string;
  other?: string;
  value: string;
  error?: string | undefined;
  hint?: string;
  onChange: (network: string) => void;
}) {
  // Who chose a supported one and then another sees the field, although its text is still empty.
  const [typed, setTyped] = useState(isSupported(value) ? "" : value);
  const known = isSupported(value);
  const options = [...NETWORKS.map((each) => [each, NETWORK_NAMES[each]] as const), [OTHER, other] as const];
  return (
    <>
      <Select
        label={source}
        options={options}
        value={known ? value : OTHER}
        error={known ? error : undefined}
        onChange={(event) => onChange(event.target.value === OTHER ? typed : event.target.value)}
      />
      {!known && (
        <TextField
          label={label}
          hint={hint ?? t("AnyNameForDevicesThatPost")}
          value={value}
          error={error}
          onChange={(event) => {
            setTyped(event.target.value);
            onChange(event.target.value);
          }}
        />
      )}
    </>
  );
}
