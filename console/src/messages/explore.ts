import { catalogue } from "~/i18n";
import de from "./de/explore.json";
import en from "./en/explore.json";
import fr from "./fr/explore.json";

export const t = catalogue("explore", { en, de, fr });
