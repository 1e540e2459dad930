import { setPreference, usePreferences, type Preferences } from "~/preferences";
import { Card } from "~/ui/page";
import { Checkbox, Select } from "~/ui/field";
import { zoneLabel } from "~/time";

export function Appearance() {
  const chosen = usePreferences();
  const zones = ["UTC", ...Intl.supportedValuesOf("timeZone")];
  return (
    <Card title="Appearance" note="kept in this browser">
      <div className="form">
        <Select
          label="Theme"
          value={chosen.theme}
          options={[
            ["system", "As the system has it"],
            ["light", "Light"],
            ["dark", "Dark"],
          ]}
          onChange={(event) => setPreference("theme", event.target.value as Preferences["theme"])}
        />
        <Select
          label="Rows"
          value={chosen.density}
          options={[
            ["normal", "Normal"],
            ["dense", "Dense"],
          ]}
          onChange={(event) => setPreference("density", event.target.value as Preferences["density"])}
        />
        <Select
          label="Time zone"
          value={chosen.zone}
          options={[["", `The browser's (${zoneLabel("")})`], ...zones.map((zone) => [zone, zone] as const)]}
          onChange={(event) => setPreference("zone", event.target.value)}
        />
        <Checkbox
          label="Single keys are shortcuts"
          hint="Press ? to see them all."
          checked={chosen.keys === "on"}
          onChange={(event) => setPreference("keys", event.target.checked ? "on" : "off")}
        />
      </div>
    </Card>
  );
}
