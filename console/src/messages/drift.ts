import { catalogue } from "~/i18n";
import de from "./de/drift.json";
import en from "./en/drift.json";
import fr from "./fr/drift.json";

export const t = catalogue("drift", { en, de, fr });
