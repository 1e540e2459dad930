import { catalogue } from "~/i18n";
import de from "./de/groups.json";
import en from "./en/groups.json";
import fr from "./fr/groups.json";

export const t = catalogue("groups", { en, de, fr });
