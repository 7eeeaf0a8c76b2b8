import { type Logger, pino } from "pino";
import type { LogFormat, LogLevel } from "./log-levels.ts";

/** Structured logs: constant messages, with the variable parts as keys and values. */
export type Log = Logger;

// Callers control parts of log lines, and operators read logs in terminals. Escape the control characters that JSON
// does not escape, and the bidirectional overrides that make text read differently from what it says (CVE-2021-42574).
const UNSAFE = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

// An image name has up to 1024 characters; error messages are somewhat longer.
const MAX_VALUE_LENGTH = 2000;

/** Creates the logger of this process. It writes lines to stderr, and ignores a closed pipe. */
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

/** Truncates a value of a caller or a function for a log line. */
export function bounded(text: string): string {
  return text.length <= MAX_VALUE_LENGTH ? text : `${text.slice(0, MAX_VALUE_LENGTH)}...`;
}

// These characters occur only inside JSON strings, where the escape means the same character.
function safe(line: string): string {
  return line.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function asText(json: string): string {
  const { level, time, msg, ...rest } = JSON.parse(json) as Record<string, unknown>;
  const values = Object.entries(rest).map(([key, value]) => `${key}=${plain(value)}`);
  return `${[time, String(level).toUpperCase().padEnd(5), msg, ...values].join(" ")}\n`;
}

// Quotes values that could be read as another key or that break the line.
function plain(value: unknown): string {
  return typeof value === "string" && /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value);
}

function stderrWriter(): (text: string) => unknown {
  // A closed pipe must not end the program.
  process.stderr.on("error", () => undefined);
  return (text) => process.stderr.write(text);
}
