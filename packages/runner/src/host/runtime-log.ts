import { readText } from "../base/read-text.ts";
import { sandboxPaths } from "./protocol.ts";

/** crun logs one line per error; a longer text does not help. */
const MAX_ERROR_CHARACTERS = 1000;

/**
 * The reason why an OCI runtime did not run its function: its logged errors without time stamps. Null if it ran the
 * function.
 *
 * @param code the runtime's exit code; null if it was killed
 */
export function runtimeError(scratch: string, id: string, code: number | null): string | null {
  const { log, pidFile } = sandboxPaths(scratch, id);
  const lines = readText(log).split("\n").filter(Boolean);
  const messages = lines.flatMap((line) => errorIn(line) ?? []);
  if (messages.length > 0) return messages.join("; ").slice(0, MAX_ERROR_CHARACTERS);
  // If there is no container process, the runtime itself has failed, even if it logged nothing.
  const failed = code !== null && code !== 0 && readText(pidFile) === "";
  return failed ? `the OCI runtime exited with code ${code} and logged no reason` : null;
}

/** Process id of the container's first process, from the runtime's pid file; undefined if there is none. */
export function pidInFile(scratch: string, id: string): number | undefined {
  // The runtime writes this file on a tmpfs that no container sees.
  const pid = Number(readText(sandboxPaths(scratch, id).pidFile));
  return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined;
}

/** The message of a log line at level error; the line itself if it is not JSON. */
function errorIn(line: string): string | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    if (typeof entry !== "object" || entry === null || !("msg" in entry)) return line;
    return "level" in entry && entry.level !== "error" ? undefined : String(entry.msg);
  } catch {
    return line;
  }
}
