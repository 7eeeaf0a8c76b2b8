import { oneLine } from "@xfn/program/terminal-text";

/** Formats a warning as one line for stderr. */
export function warning(message: string): string {
  return `xfn: warning: ${oneLine(message)}`;
}
