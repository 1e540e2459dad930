import { catalogue } from "~/i18n";
import de from "./de/messages.json";
import en from "./en/messages.json";
import fr from "./fr/messages.json";

export const t = catalogue("messages", { en, de, fr });
