import { catalogue } from "~/i18n";
import de from "./de/frame.json";
import en from "./en/frame.json";
import fr from "./fr/frame.json";

export const t = catalogue("frame", { en, de, fr });
