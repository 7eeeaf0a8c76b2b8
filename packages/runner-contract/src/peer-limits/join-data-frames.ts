const HEADER_BYTES = 9;
const DATA = 0;
/** Larger frames cost little for their content. */
export const MAX_JOINED_BYTES = 1024;
/** The largest frame that a client accepts unless it says otherwise (RFC 9113, section 6.5.2). */
const MAX_FRAME_BYTES = 16_384;

/**
 * Joins consecutive small DATA frames of one stream, so that content that comes a byte at a time costs little more.
 * Flow control counts the content alone, so both ends still agree.
 *
 * @param first the offset of the first frame
 */
export function joinDataFrames(chunk: Buffer, first: number): Buffer {
  const joined = Buffer.allocUnsafe(chunk.length);
  let end = chunk.copy(joined, 0, 0, first);
  let open = -1;
  for (let at = first; at < chunk.length; ) {
    const payload = at + HEADER_BYTES;
    const length = lengthAt(chunk, at);
    if (payload + length > chunk.length || payload > chunk.length) {
      end += chunk.copy(joined, end, at);
      break;
    }
    const next = payload + length;
    if (length > MAX_JOINED_BYTES || chunk[at + 3] !== DATA || chunk[at + 4] !== 0) {
      open = -1;
      end += chunk.copy(joined, end, at, next);
    } else if (
      open >= 0 &&
      streamAt(chunk, at) === streamAt(joined, open) &&
      length + end - open - HEADER_BYTES <= MAX_FRAME_BYTES
    ) {
      // A call of copy takes longer than some bytes.
      for (let from = payload; from < next; from++) joined[end++] = chunk[from] ?? 0;
      joined.writeUIntBE(end - open - HEADER_BYTES, open, 3);
    } else {
      open = end;
      end += chunk.copy(joined, end, at, next);
    }
    at = next;
  }
  return joined.subarray(0, end);
}

/** The length of the payload of a frame. Buffer's own methods check their arguments, for each frame. */
export function lengthAt(bytes: Buffer, at: number): number {
  return ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
}

/** The stream of a frame. */
export function streamAt(bytes: Buffer, at: number): number {
  return (lengthAt(bytes, at + 5) << 8) | (bytes[at + 8] ?? 0);
}
