import { catalogue } from "~/i18n";
import de from "./de/types.json";
import en from "./en/types.json";
import fr from "./fr/types.json";

export const t = catalogue("types", { en, de, fr });
