import { catalogue } from "~/i18n";
import de from "./de/sign-in.json";
import en from "./en/sign-in.json";
import fr from "./fr/sign-in.json";

export const t = catalogue("sign-in", { en, de, fr });
