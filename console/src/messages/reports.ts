import { catalogue } from "~/i18n";
import de from "./de/reports.json";
import en from "./en/reports.json";
import fr from "./fr/reports.json";

export const t = catalogue("reports", { en, de, fr });
