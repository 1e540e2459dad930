import { catalogue } from "~/i18n";
import de from "./de/audit.json";
import en from "./en/audit.json";
import fr from "./fr/audit.json";

export const t = catalogue("audit", { en, de, fr });
