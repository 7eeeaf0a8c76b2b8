import { messageOf } from "@xfn/errors";
/** The code of a system error, such as `EACCES`; the message of any other error. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : messageOf(error);
}
