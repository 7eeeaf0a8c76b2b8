/** The message becomes part of a condition. */
const MAX_LENGTH = 300;

/** A line that names an error in JavaScript, Python, Java or Go. Stack traces follow or precede it. */
const NAMED = /^\S*(?:error|exception|panic|fatal)\b/i;

/**
 * The line of a program's stderr that says why it ended: the last one that names an error, else the last one. Undefined
 * if it wrote nothing.
 */
export function causeLine(stderr: string): string | undefined {
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  const line = lines.findLast((one) => NAMED.test(one)) ?? lines.at(-1);
  // The function must not move the cursor of a terminal that shows the message.
  return line
    ?.trim()
    .replaceAll(/\p{Cc}/gu, "?")
    .slice(0, MAX_LENGTH);
}
