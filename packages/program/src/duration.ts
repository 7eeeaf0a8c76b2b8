const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

// Timers of Node hold no more.
const MAX_MS = 2 ** 31 - 1;

/**
 * Milliseconds of a duration as Go and Kubernetes write it: `1m30s`, `500ms`, `0s`.
 *
 * @throws Error that says how it is written
 */
export function parseDuration(text: string): number {
  const parts = [...text.matchAll(/(\d{1,12}(?:\.\d{1,9})?)(ms|s|m|h)/g)];
  const whole = parts.map(([part]) => part).join("");
  if (whole === "" || whole !== text) throw new Error('it is to be a duration such as "30s" or "1m30s"');
  const ms = parts.reduce((sum, [, number, unit]) => sum + Number(number) * (UNITS[unit ?? ""] ?? 0), 0);
  if (ms > MAX_MS) throw new Error("it is to be at most 24 days");
  return ms;
}

/** Milliseconds as a person writes them. */
export function printDuration(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`;
}
