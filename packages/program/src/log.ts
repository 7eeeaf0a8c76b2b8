import { type Logger, pino } from "pino";

/** How much is logged. `debug` has what each sandbox did. */
export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
/** One of {@link LOG_LEVELS}. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** `json`: one object a line, for machines. `text`: for people. */
export const LOG_FORMATS = ["json", "text"] as const;
/** One of {@link LOG_FORMATS}. */
export type LogFormat = (typeof LOG_FORMATS)[number];

/** Structured logs: a constant message, and what differs as keys and values. */
export type Log = Logger;

// What a caller controls may stand in a log line, and the line in somebody's terminal: control characters beyond those that
// JSON escapes, and the bidirectional overrides that make text read differently from what it says (CVE-2021-42574).
const UNSAFE = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

// An image name has up to 1024 characters, an error's text somewhat more.
const MAX_VALUE_LENGTH = 2000;

/** A logger of this process: lines on stderr, which stays open when nobody reads it. */
export function createLog(
  options: { level: LogLevel; format: LogFormat },
  write: (text: string) => unknown = stderrWriter(),
): Log {
  const line = options.format === "json" ? safe : (json: string): string => safe(asText(json));
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (json) => void write(line(json)) },
  );
}

/** A value of a caller's or a function's for a log line, bounded. */
export function bounded(text: string): string {
  return text.length <= MAX_VALUE_LENGTH ? text : `${text.slice(0, MAX_VALUE_LENGTH)}...`;
}

// Inside of a JSON string, where alone these characters can stand, this is the same text.
function safe(line: string): string {
  return line.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function asText(json: string): string {
  const { level, time, msg, ...rest } = JSON.parse(json) as Record<string, unknown>;
  const values = Object.entries(rest).map(([key, value]) => `${key}=${plain(value)}`);
  return `${[time, String(level).toUpperCase().padEnd(5), msg, ...values].join(" ")}\n`;
}

// What could be read as another key, or breaks the line, is quoted.
function plain(value: unknown): string {
  return typeof value === "string" && /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value);
}

function stderrWriter(): (text: string) => unknown {
  // A log that nobody reads any more must not end the runner.
  process.stderr.on("error", () => undefined);
  return (text) => process.stderr.write(text);
}
