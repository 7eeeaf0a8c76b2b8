import { messageOf } from "../errors/message-of.ts";

const CODE = /^(?:ENOSPC|EDQUOT)$/;
// Programs such as the bundler report the text alone.
const TEXT = /\b(?:ENOSPC|EDQUOT)\b|no space left on device|disk quota exceeded/i;

/** The message of an error that a full disk caused, with the way out; undefined for other errors. */
export function fullDisk(error: unknown): string | undefined {
  let isFull = false;
  for (let at = error; at instanceof Error && !isFull; at = at.cause)
    isFull = CODE.test(String((at as NodeJS.ErrnoException).code)) || TEXT.test(at.message);
  if (!isFull) return undefined;
  const [message = ""] = messageOf(error).split("\n");
  return `${TEXT.test(message) ? message : `${message}: no space left on device`}: free space there, remove images with \`xfn images prune\`, or choose another disk with XDG_CACHE_HOME and TMPDIR`;
}
