// API servers repeat what they refuse, which may be long.
const MAX_MESSAGE = 1_000;

/** What a log line says of a failure: its code, and its message, bounded. */
export function describeFailure(error: unknown): { code?: string; error: string } {
  const message = error instanceof Error ? error.message : String(error);
  const text = message.length <= MAX_MESSAGE ? message : `${message.slice(0, MAX_MESSAGE)}...`;
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
  return code === undefined ? { error: text } : { code, error: text };
}
