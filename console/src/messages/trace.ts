import { catalogue } from "~/i18n";
import de from "./de/trace.json";
import en from "./en/trace.json";
import fr from "./fr/trace.json";

export const t = catalogue("trace", { en, de, fr });
