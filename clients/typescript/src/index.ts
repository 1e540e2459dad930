export { Client, type LiveOptions } from "./client.js";
export * from "./errors.js";
export { Live, type LiveEvent } from "./live.js";
export * from "./models.js";
export { Pages } from "./pages.js";
export type { ClientOptions, Retries, When } from "./transport.js";
export { Webhook, WebhookRefused, type RefusalCode } from "./webhooks.js";
export { Writer, type Receipt, type RecordInputs, type WriterOptions } from "./writer.js";
