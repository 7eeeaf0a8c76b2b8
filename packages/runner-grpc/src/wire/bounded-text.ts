/** The beginning of a text, cut between characters to at most `bytes` bytes of UTF-8. Lone surrogates become U+FFFD. */
export function firstBytes(text: string, bytes: number): string {
  const encoded = Buffer.from(text, "utf8");
  if (encoded.length <= bytes) return text.toWellFormed();
  let end = bytes;
  while (end > 0 && isContinuation(encoded[end])) end--;
  return encoded.toString("utf8", 0, end);
}

/** The end of a text, cut between characters to at most `bytes` bytes of UTF-8. Lone surrogates become U+FFFD. */
export function lastBytes(text: string, bytes: number): string {
  const encoded = Buffer.from(text, "utf8");
  if (encoded.length <= bytes) return text.toWellFormed();
  let start = encoded.length - bytes;
  while (start < encoded.length && isContinuation(encoded[start])) start++;
  return encoded.toString("utf8", start);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
