import { catalogue } from "~/i18n";
import de from "./de/platform.json";
import en from "./en/platform.json";
import fr from "./fr/platform.json";

export const t = catalogue("platform", { en, de, fr });
