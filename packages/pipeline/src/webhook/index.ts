// Calls functions that are HTTPS servers. A separate entry, so that other runs do not load an HTTP client.
export { type ClosableWebhookCaller, createWebhookCaller, type WebhookCallerOptions } from "./webhook-caller.ts";
export { WebhookError, type WebhookErrorCode } from "./webhook-error.ts";
