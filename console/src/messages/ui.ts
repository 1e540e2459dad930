import { catalogue } from "~/i18n";
import de from "./de/ui.json";
import en from "./en/ui.json";
import fr from "./fr/ui.json";

export const t = catalogue("ui", { en, de, fr });
