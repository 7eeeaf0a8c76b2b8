import { DocumentError } from "./document-error.ts";
import type { ResolvedLimits } from "./limits.ts";

/** A position in a text, both from 1. Columns count UTF-16 code units. */
export interface Position {
  line: number;
  column: number;
}

/** The position of an offset in a text. */
export function positionAt(text: string, offset: number): Position {
  let line = 1;
  let start = 0;
  for (;;) {
    const next = text.indexOf("\n", start);
    if (next === -1 || next >= offset) return { line, column: offset - start + 1 };
    line++;
    start = next + 1;
  }
}

/** Finds the positions of many offsets in a text. The lines are counted once, when the first position is needed. */
export function positionsIn(text: string): (offset: number) => Position {
  let starts: number[] | undefined;
  return (offset) => {
    starts ??= lineStarts(text);
    let [line, after] = [0, starts.length];
    while (after - line > 1) {
      const middle = (line + after) >>> 1;
      if ((starts[middle] as number) <= offset) line = middle;
      else after = middle;
    }
    return { line: line + 1, column: offset - (starts[line] as number) + 1 };
  };
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) starts.push(end + 1);
  return starts;
}

/**
 * Decodes the text of a document: UTF-8, with a bounded size and without the byte order mark of Windows editors.
 * Malformed bytes are an error, because replacing them would change data silently.
 */
export function decodeText(input: string | Uint8Array, limits: ResolvedLimits, source: string | undefined): string {
  if (input.length > limits.maxBytes) {
    const message = `is larger than ${formatBytes(limits.maxBytes)}`;
    throw new DocumentError("TooLarge", [{ path: "", message }], source);
  }
  const text = typeof input === "string" ? input : decodeBytes(input, source);
  if (typeof input === "string" && !text.isWellFormed()) {
    const at = text.search(/\p{Surrogate}/u);
    const message = "contains half of a surrogate pair, which UTF-8 cannot represent";
    throw new DocumentError("NotJson", [{ path: "", message, ...positionAt(text, at) }], source);
  }
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

// Creating a decoder costs more than decoding a small text.
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeBytes(bytes: Uint8Array, source: string | undefined): string {
  try {
    return strictUtf8.decode(bytes);
  } catch (cause) {
    if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
      const message = "is UTF-16; save it as UTF-8";
      throw new DocumentError("Encoding", [{ path: "", message }], source, { cause });
    }
    const lossy = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    const position = positionAt(lossy, Math.max(lossy.indexOf("\ufffd"), 0));
    throw new DocumentError("Encoding", [{ path: "", message: "is not UTF-8", ...position }], source, { cause });
  }
}

/** A size for messages. */
export function formatBytes(bytes: number): string {
  return bytes >= 1024 * 1024 ? `${Math.round(bytes / 1024 / 1024)} MiB` : `${bytes} bytes`;
}
