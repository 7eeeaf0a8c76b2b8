import { messageOf } from "@xfn/errors";

const CODES: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT"]);
const SAYS_SO = /\b(?:ENOSPC|EDQUOT)\b|no space left on device|disk quota exceeded/i;

/**
 * The message of an error that a full disk of this machine caused, with the way out; undefined for other errors. Only
 * codes count: a message may quote a function or another machine.
 */
export function fullDisk(error: unknown): string | undefined {
  if (!isFullDisk(error, new Set())) return undefined;
  const [message = ""] = messageOf(error).split("\n");
  return `${SAYS_SO.test(message) ? message : `${message}: no space left on device`}: free space there, remove images with \`xfn images prune\`, or choose another disk with XDG_CACHE_HOME and TMPDIR`;
}

function isFullDisk(error: unknown, seen: Set<unknown>): boolean {
  // Errors may form a cycle of causes.
  if (typeof error !== "object" || error === null || seen.has(error)) return false;
  seen.add(error);
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown };
  if (CODES.has(code) || isFullDisk(cause, seen)) return true;
  return Array.isArray(errors) && errors.some((one) => isFullDisk(one, seen));
}
