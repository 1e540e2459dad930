import { catalogue } from "~/i18n";
import de from "./de/api.json";
import en from "./en/api.json";
import fr from "./fr/api.json";

export const t = catalogue("api", { en, de, fr });
