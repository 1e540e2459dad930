import { catalogue } from "~/i18n";
import de from "./de/unknown.json";
import en from "./en/unknown.json";
import fr from "./fr/unknown.json";

export const t = catalogue("unknown", { en, de, fr });
