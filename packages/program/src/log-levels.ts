/** How much is logged. `debug` adds what each sandbox did. */
export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
/** One of {@link LOG_LEVELS}. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** `json`: one object a line, for machines. `text`: for people. */
export const LOG_FORMATS = ["json", "text"] as const;
/** One of {@link LOG_FORMATS}. */
export type LogFormat = (typeof LOG_FORMATS)[number];
