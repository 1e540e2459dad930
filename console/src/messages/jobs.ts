import { catalogue } from "~/i18n";
import de from "./de/jobs.json";
import en from "./en/jobs.json";
import fr from "./fr/jobs.json";

export const t = catalogue("jobs", { en, de, fr });
