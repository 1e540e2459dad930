import { catalogue } from "~/i18n";
import de from "./de/device.json";
import en from "./en/device.json";
import fr from "./fr/device.json";

export const t = catalogue("device", { en, de, fr });
