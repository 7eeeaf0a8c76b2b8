const HEADER_BYTES = 9;
const DATA = 0;
/** A call of copyWithin takes longer than copying so few bytes. */
const FEW_BYTES = 32;

/**
 * Joins consecutive DATA frames of one stream, so that a library handles fewer of them: content that comes a byte at a
 * time costs little more. Flow control counts the content alone, so both ends still agree.
 *
 * @param chunk bytes of a connection, which are joined in place. Its last frame may end in later bytes.
 * @param first the offset of the first frame
 * @param maxBytes the largest frame that the library accepts
 */
export function joinDataFrames(chunk: Buffer, first: number, maxBytes: number): Buffer {
  let end = first;
  let open = -1;
  let stream = -1;
  let joined = 0;
  for (let at = first; at < chunk.length; ) {
    const payload = at + HEADER_BYTES;
    const isWhole = payload <= chunk.length;
    const length = isWhole ? lengthAt(chunk, at) : 0;
    const isContent = isWhole && chunk[at + 3] === DATA && chunk[at + 4] === 0;
    const next = Math.min(payload + length, chunk.length);
    if (isContent && open >= 0 && streamAt(chunk, at) === stream && joined + length <= maxBytes) {
      joined += length;
      writeLength(chunk, open, joined);
      end = move(chunk, end, payload, next);
    } else {
      open = isContent ? end : -1;
      stream = isContent ? streamAt(chunk, at) : -1;
      joined = length;
      end = move(chunk, end, at, next);
    }
    at = next;
  }
  return chunk.subarray(0, end);
}

function move(chunk: Buffer, to: number, from: number, until: number): number {
  const length = until - from;
  if (to !== from) {
    if (length > FEW_BYTES) chunk.copyWithin(to, from, until);
    else for (let index = 0; index < length; index++) chunk[to + index] = chunk[from + index] ?? 0;
  }
  return to + length;
}

function writeLength(bytes: Buffer, at: number, length: number): void {
  bytes[at] = length >> 16;
  bytes[at + 1] = length >> 8;
  bytes[at + 2] = length;
}

/** The payload length of a frame. Buffer's own methods would check their arguments for each frame. */
export function lengthAt(bytes: Buffer, at: number): number {
  return ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
}

/** The stream identifier of a frame. */
export function streamAt(bytes: Buffer, at: number): number {
  return (lengthAt(bytes, at + 5) << 8) | (bytes[at + 8] ?? 0);
}
