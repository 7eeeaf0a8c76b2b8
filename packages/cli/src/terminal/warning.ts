import { oneLine } from "@xfn/program/terminal-text";

/** A warning as one line of stderr. */
export function warning(message: string): string {
  return `xfn: warning: ${oneLine(message)}`;
}
