import { catalogue } from "~/i18n";
import de from "./de/app.json";
import en from "./en/app.json";
import fr from "./fr/app.json";

export const t = catalogue("app", { en, de, fr });
