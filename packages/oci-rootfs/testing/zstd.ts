/** The largest block of a frame (RFC 8878, section 3.1.1.2.4). */
const MAX_BLOCK_BYTES = 128 * 1024;

/** A zstd frame of `length` equal bytes, which declares a window of 2^windowLog bytes (RFC 8878, section 3.1.1). */
export function rleFrame(
  length: number,
  { windowLog, byte = 97 }: { windowLog: number; byte?: number | undefined },
): Buffer {
  const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (windowLog - 10) << 3]);
  const blockBytes = Math.min(MAX_BLOCK_BYTES, 2 ** windowLog);
  const blocks: Buffer[] = [];
  let left = length;
  do {
    const size = Math.min(left, blockBytes);
    left -= size;
    // Last block, type and size. An RLE block has one byte of content.
    const block = Buffer.alloc(4, byte);
    block.writeUIntLE((left === 0 ? 1 : 0) | (1 << 1) | (size << 3), 0, 3);
    blocks.push(block);
  } while (left > 0);
  return Buffer.concat([header, ...blocks]);
}

/** A frame that decoders skip (RFC 8878, section 3.1.2). */
export function skippableFrame(content: Uint8Array, kind = 0): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32LE(0x184d2a50 + kind, 0);
  header.writeUInt32LE(content.length, 4);
  return Buffer.concat([header, content]);
}
