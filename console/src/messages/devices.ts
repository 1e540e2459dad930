import { catalogue } from "~/i18n";
import de from "./de/devices.json";
import en from "./en/devices.json";
import fr from "./fr/devices.json";

export const t = catalogue("devices", { en, de, fr });
