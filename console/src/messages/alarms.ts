import { catalogue } from "~/i18n";
import de from "./de/alarms.json";
import en from "./en/alarms.json";
import fr from "./fr/alarms.json";

export const t = catalogue("alarms", { en, de, fr });
