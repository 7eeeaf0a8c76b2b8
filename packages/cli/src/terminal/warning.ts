import { oneLine } from "./escape.ts";

/** A warning as one line of stderr. */
export function warning(message: string): string {
  return `xfn: warning: ${oneLine(message)}`;
}
