import { catalogue } from "~/i18n";
import de from "./de/people.json";
import en from "./en/people.json";
import fr from "./fr/people.json";

export const t = catalogue("people", { en, de, fr });
