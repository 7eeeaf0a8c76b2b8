/** The fields of a JSON object that has not been checked yet. */
export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Parses a JSON object, else undefined. The parser's error is dropped because it quotes the text, which may be
 * secret.
 */
export function parseJsonObject(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
