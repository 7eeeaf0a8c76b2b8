import { randomBytes } from "node:crypto";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { decompressed } from "./decompress.ts";

const content = randomBytes(2_000_000);

/** In small chunks, so that several of them fill one buffer. */
async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += 100_001) yield bytes.subarray(at, at + 100_001);
}

test.each([
  ["gzip", gzipSync(content, { level: 1 })],
  ["zstd", zstdCompressSync(content)],
  ["plain content", content],
])(
  "%s comes out whole where the memory of a chunk is given back, and next to none of it is kept",
  async (_, packed) => {
    const before = Buffer.from(packed);
    const copies: Uint8Array[] = [];
    const chunks: Uint8Array[] = [];
    for await (const chunk of decompressed(pieces(packed), { reuse: true })) {
      copies.push(Buffer.from(chunk));
      chunks.push(chunk);
    }
    expect(Buffer.concat(copies).equals(content)).toBe(true);
    // The compressed bytes belong to the source.
    expect(packed.equals(before)).toBe(true);
    if (packed === content) return;
    const kept = new Set(chunks.map(({ buffer }) => buffer));
    expect([...kept].reduce((sum, { byteLength }) => sum + byteLength, 0)).toBeLessThan(content.length / 4);
  },
);

test("without reuse, chunks stay unchanged", async () => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of decompressed(pieces(gzipSync(content, { level: 1 })))) chunks.push(chunk);
  expect(Buffer.concat(chunks).equals(content)).toBe(true);
});

test("memory of Node's shared pool is never freed", async () => {
  const { poolSize } = Buffer;
  Buffer.poolSize = 16 * content.length;
  try {
    Buffer.allocUnsafe(poolSize / 2 - 1);
    const neighbours: Buffer[] = [];
    for await (const chunk of decompressed(pieces(gzipSync(content, { level: 1 })), { reuse: true })) {
      neighbours.push(Buffer.from("somebody's"));
      expect(chunk.length).toBeGreaterThan(0);
    }
    expect(new Set(neighbours.map(String))).toEqual(new Set(["somebody's"]));
  } finally {
    Buffer.poolSize = poolSize;
  }
});

/** A layer of two halves, each packed by itself. */
const members = [gzipSync(content.subarray(0, 1_000_000)), gzipSync(content.subarray(1_000_000))];

async function read(packed: Uint8Array): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of decompressed(pieces(packed))) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test.each<[string, Buffer[]]>([
  ["two members", members],
  ["an empty member first", [gzipSync(""), ...members]],
  ["zeros after the last member", [...members, Buffer.alloc(1000)]],
])("gzip of %s comes out whole", async (_, parts) => {
  expect((await read(Buffer.concat(parts))).equals(content)).toBe(true);
});

// With few bytes the decoder fails after its last chunk, when nothing iterates over it any more.
test.each([1, 4, 22, 5000, 400_000])(
  "%i bytes of garbage after a gzip member are an error of the layer",
  async (length) => {
    for (const packed of [gzipSync("a"), gzipSync(content)])
      await expect(read(Buffer.concat([packed, Buffer.alloc(length, "garbage")]))).rejects.toMatchObject({
        code: "UnsafeLayer",
      });
  },
);
