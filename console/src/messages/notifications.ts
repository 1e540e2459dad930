import { catalogue } from "~/i18n";
import de from "./de/notifications.json";
import en from "./en/notifications.json";
import fr from "./fr/notifications.json";

export const t = catalogue("notifications", { en, de, fr });
