import { catalogue } from "~/i18n";
import de from "./de/live.json";
import en from "./en/live.json";
import fr from "./fr/live.json";

export const t = catalogue("live", { en, de, fr });
