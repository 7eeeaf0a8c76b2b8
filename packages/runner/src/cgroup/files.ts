import { existsSync, rmdirSync, writeFileSync } from "node:fs";
import { CodedError, messageOf } from "@xfn/errors";
import { codeOf } from "../base/error-text.ts";
import { readText } from "../base/read-text.ts";

/** This host cannot enforce a limit. The message has the reason, and `remedy` the fix. */
export class LimitUnavailableError extends CodedError<"LimitUnavailable"> {
  override readonly name = "LimitUnavailableError";
  readonly remedy: string = process.geteuid?.() === 0 ? REMEDY_ROOT : REMEDY;

  constructor(message: string, options?: ErrorOptions) {
    super("LimitUnavailable", message, options);
  }
}

const REMEDY =
  "run as root, or on a cgroup v2 host in a delegated scope: systemd-run --user --scope -p Delegate=yes COMMAND";
const REMEDY_ROOT =
  "run in a separate scope (systemd-run --scope -p Delegate=yes COMMAND), in a container with a private and writable cgroup mount";

/** The error for a limit, such as `memory`, that this host cannot enforce. */
export function unavailable(what: string, why: string): LimitUnavailableError {
  return new LimitUnavailableError(`a ${what} limit cannot be enforced: ${why}`);
}

/** Writes one of the kernel's files. @throws LimitUnavailableError */
export function write(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    throw new LimitUnavailableError(`a limit cannot be enforced: writing ${path} failed (${messageOf(error)})`, {
      cause: error,
    });
  }
}

/** Calls {@link write} for a file that some kernels lack. */
export function writeWherePresent(path: string, text: string): void {
  if (existsSync(path)) write(path, text);
}

/** The words of a file; empty if it cannot be read. */
export function words(path: string): string[] {
  return readText(path).trim().split(/\s+/).filter(Boolean);
}

/** The value of one line of a `name value` file such as memory.events; 0 if it is absent. */
export function counter(path: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(readText(path))?.[1] ?? 0);
}

/** Removes a group. @returns false if the group still has processes or groups (EBUSY) */
export function removeGroup(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    return codeOf(error) === "ENOENT";
  }
}
