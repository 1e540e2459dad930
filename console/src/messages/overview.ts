import { catalogue } from "~/i18n";
import de from "./de/overview.json";
import en from "./en/overview.json";
import fr from "./fr/overview.json";

export const t = catalogue("overview", { en, de, fr });
