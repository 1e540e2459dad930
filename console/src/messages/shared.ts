import { catalogue } from "~/i18n";
import de from "./de/shared.json";
import en from "./en/shared.json";
import fr from "./fr/shared.json";

export const t = catalogue("shared", { en, de, fr });
