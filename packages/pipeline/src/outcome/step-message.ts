/**
 * A message about a step: its name, the problem, then the function that it calls. The names of images are long, and
 * lists of events and conditions show some 200 characters of the first line, which must have the cause.
 *
 * @param called such as `image ghcr.io/acme/f:v1`
 * @param problem the first line has the cause
 */
export function stepMessage(step: string, called: string | undefined, problem: string): string {
  const [cause = "", ...more] = problem.split("\n");
  return [`step "${step}": ${cause}${called === undefined ? "" : ` (${called})`}`, ...more].join("\n");
}

/** Problems as the lines of a message. The first is in its first line. */
export function problemLines(summary: string, problems: readonly string[]): string {
  return `${summary}: ${problems.join("\n  ")}`;
}
