import { LANGUAGES } from "~/i18n";
import { setPreference, usePreferences, type Preferences } from "~/preferences";
import { Card } from "~/ui/page";
import { Checkbox, Select } from "~/ui/field";
import { zoneLabel } from "~/time";
import { t } from "~/messages/account";

export function Appearance() {
  const chosen = usePreferences();
  const zones = ["UTC", ...Intl.supportedValuesOf("timeZone")];
  return (
    <Card title={t("Appearance")} note={t("keptInThisBrowser")}>
      <div className="form">
        <Select
          label={t("Theme")}
          value={chosen.theme}
          options={[
            ["system", t("AsSystemHasIt")],
            ["light", t("Light")],
            ["dark", t("Dark")],
          ]}
          onChange={(event) => setPreference("theme", event.target.value as Preferences["theme"])}
        />
        <Select
          label={t("Rows")}
          value={chosen.density}
          options={[
            ["normal", t("Normal")],
            ["dense", t("Dense")],
          ]}
          onChange={(event) => setPreference("density", event.target.value as Preferences["density"])}
        />
        <Select
          label={t("Language")}
          value={chosen.language}
          options={[["", t("AsTheBrowserHasIt")], ...Object.entries(LANGUAGES)]}
          onChange={(event) => {
            setPreference("language", event.target.value);
            window.location.reload();
          }}
        />
        <Select
          label={t("TimeZone")}
          value={chosen.zone}
          options={[["", t("browsersZoneLabel", { zoneLabel: zoneLabel("") })], ...zones.map((zone) => [zone, zone] as const)]}
          onChange={(event) => setPreference("zone", event.target.value)}
        />
        <Checkbox
          label={t("SingleKeysAreShortcuts")}
          hint={t("PressToSeeThemAll")}
          checked={chosen.keys === "on"}
          onChange={(event) => setPreference("keys", event.target.checked ? "on" : "off")}
        />
      </div>
    </Card>
  );
}
