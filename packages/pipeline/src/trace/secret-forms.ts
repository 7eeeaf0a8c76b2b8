/** Larger ones are files rather than passwords, and all of their forms would take much memory. */
const MAX_BYTES = 16 * 1024;

/** Shorter lines of a secret, such as `kind: Config`, occur by chance. */
const MIN_LINE_LENGTH = 16;

/** The first and the last line of a key or a certificate in PEM, which are the same for all. */
const PEM_BORDER = /^-----(BEGIN|END) /;

/**
 * The forms in which functions write a secret into another text: as it is, in base64, within JSON or a URL, and line by
 * line, because YAML indents the lines of a block.
 */
export function* secretForms(bytes: Buffer): Generator<string> {
  const secret = bytes.toString("utf8");
  const text = secret.trim();
  yield text;
  yield unpadded(bytes);
  if (bytes.length > MAX_BYTES) return;
  yield* base64Parts(bytes);
  yield* jsonForms(secret);
  if (text !== secret) {
    yield* base64Parts(Buffer.from(text));
    yield* jsonForms(text);
  }
  if (text.isWellFormed()) yield encodeURIComponent(text);
  if (!text.includes("\n")) return;
  for (const line of text.split("\n")) {
    const part = line.trim();
    if (part.length >= MIN_LINE_LENGTH && !PEM_BORDER.test(part)) yield* jsonForms(part);
  }
}

function* jsonForms(text: string): Generator<string> {
  const json = JSON.stringify(text).slice(1, -1);
  yield json;
  // Go's encoder escapes these characters too.
  if (/[<>&]/.test(json)) yield json.replace(/[<>&]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`);
}

/** Base64 of a longer text has other characters, by the number of bytes before the secret. */
function* base64Parts(bytes: Buffer): Generator<string> {
  for (const before of [0, 1, 2]) {
    const padded = before === 0 ? bytes : Buffer.concat([ZEROS.subarray(0, before), bytes]);
    // The first and the last character can have bits of the text around the secret.
    const start = Math.ceil((before * 8) / 6);
    const end = Math.floor((padded.length * 8) / 6);
    const part = padded.toString("base64url").slice(start, end);
    yield part;
    if (/[-_]/.test(part)) yield part.replaceAll("-", "+").replaceAll("_", "/");
  }
}

const ZEROS: Buffer = Buffer.alloc(2);

/** The padding depends on the text after the secret. */
function unpadded(bytes: Buffer): string {
  return bytes.toString("base64").replace(/=+$/, "");
}
