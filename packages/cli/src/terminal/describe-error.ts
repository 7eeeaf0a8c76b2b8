import { messageOf } from "@xfn/errors";
import { isInputError } from "@xfn/input/input-error";
import { ExitCode } from "@xfn/program/exit-code";
import { escapeControls, oneLine } from "@xfn/program/terminal-text";
import { isCliError } from "../errors/cli-error.ts";
import { fullDisk } from "./full-disk.ts";
import { functionStderr } from "./function-stderr.ts";
import { InterruptedError } from "./interrupt.ts";

/** The message of an error for a terminal, and its exit code. */
export interface ErrorReport {
  readonly exitCode: number;
  /** Lines for stderr, without control characters. None for an error without a message. */
  readonly lines: readonly string[];
}

// Further lines rarely add information.
const MAX_LINES = 20;

/**
 * Formats an error. `XFN_DEBUG=1` adds stack traces, for developers of xfn.
 *
 * @param debug - whether to add stack traces
 */
export function describeError(error: unknown, debug: boolean): ErrorReport {
  const full = fullDisk(error);
  // Other advice, such as to build an image that could not be stored, misleads.
  const lines = full === undefined ? [...messageLines(error), ...details(error)] : [`xfn: ${oneLine(full)}`];
  if (debug && error instanceof Error) lines.push(...stackLines(error));
  return { exitCode: exitCodeOf(error), lines: lines.map(escapeControls) };
}

function exitCodeOf(error: unknown): number {
  if (isCliError(error) || error instanceof InterruptedError) return error.exitCode;
  return isInputError(error) ? ExitCode.usage : ExitCode.failed;
}

function messageLines(error: unknown): string[] {
  const message = messageOf(error);
  if (message === "") return [];
  const [first = "", ...rest] = message.split("\n");
  return [`xfn: ${oneLine(first)}`, ...bounded(rest)];
}

// Lines such as `file:line:column: ...` start in the first column, because editors and terminals link them.
function bounded(lines: readonly string[]): string[] {
  const shown = lines.slice(0, MAX_LINES).map((line) => `${/^ */.exec(line)?.[0]}${oneLine(line)}`);
  return lines.length > MAX_LINES ? [...shown, `... and ${lines.length - MAX_LINES} more`] : shown;
}

function details(error: unknown): string[] {
  if (isCliError(error) || isInputError(error)) return bounded(error.details);
  if (typeof error !== "object" || error === null) return [];
  return "stderr" in error && typeof error.stderr === "string" ? functionStderr(error.stderr) : [];
}

function stackLines(error: Error): string[] {
  const lines = (error.stack ?? "").split("\n");
  return error.cause instanceof Error ? [...lines, "caused by", ...stackLines(error.cause)] : lines;
}
