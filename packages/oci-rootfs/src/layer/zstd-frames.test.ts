import { randomBytes } from "node:crypto";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { random } from "../../testing/random.ts";
import { rleFrame, skippableFrame } from "../../testing/zstd.ts";
import { decompressed } from "./decompress.ts";
import { type FramePart, ZstdFrames } from "./zstd-frames.ts";

function split(stream: Uint8Array, sizes: () => number): FramePart[] {
  const frames = new ZstdFrames();
  const parts: FramePart[] = [];
  for (let at = 0; at < stream.length; ) {
    const end = at + sizes();
    // The splitter reuses its buffers.
    for (const part of frames.parts(stream.subarray(at, end))) parts.push({ ...part, bytes: Buffer.from(part.bytes) });
    at = end;
  }
  frames.end();
  return parts;
}

function byFrame(parts: readonly FramePart[]): Buffer[] {
  return [...Map.groupBy(parts, ({ frame }) => frame).values()].map((of) =>
    Buffer.concat(of.map(({ bytes }) => bytes)),
  );
}

/** Frames of all kinds of headers: with and without sizes, windows and checksums. */
function randomFrame(seed: number): Buffer {
  const dice = random(seed);
  const content = Buffer.alloc(
    dice.pick([0, 1, 255, 256, 300, 70_000, 200_000]),
    dice.oneIn(2) ? randomBytes(97) : "a",
  );
  if (dice.oneIn(4)) return rleFrame(content.length, { windowLog: 10 + dice.below(15) });
  return zstdCompressSync(content);
}

describe("the frames of a stream", () => {
  test.each(Array.from({ length: 60 }, (_, seed) => seed))(
    "come out one by one, without skippable ones: seed %i",
    (seed) => {
      const dice = random(seed);
      const frames = Array.from({ length: 1 + dice.below(6) }, (_, i) => randomFrame(seed * 10 + i));
      const skippable = (): Buffer[] =>
        dice.oneIn(3) ? [skippableFrame(Buffer.alloc(dice.pick([0, 1, 5000])), dice.below(16))] : [];
      const stream = Buffer.concat([...frames.flatMap((frame) => [...skippable(), frame]), ...skippable()]);
      const most = dice.pick([1, 3, 7, 100, 1_000_000]);
      const parts = split(stream, () => 1 + dice.below(most));
      expect(byFrame(parts).map((frame) => frame.toString("hex"))).toEqual(
        frames.map((frame) => frame.toString("hex")),
      );
      for (const [i, frame] of byFrame(parts).entries())
        expect(zstdDecompressSync(frame).equals(zstdDecompressSync(frames[i] as Buffer))).toBe(true);
    },
  );

  test("have the window of their header", () => {
    const windows = (stream: Buffer): (number | undefined)[] =>
      Map.groupBy(
        split(stream, () => 1000),
        ({ frame }) => frame,
      )
        .values()
        .map((parts) => parts.at(-1)?.windowBytes)
        .toArray();
    expect(windows(Buffer.concat([rleFrame(5, { windowLog: 31 }), rleFrame(5, { windowLog: 10 })]))).toEqual([
      2 ** 31,
      2 ** 10,
    ]);
    // Without a window, the content's size in one, two and four bytes.
    const sizes = [200, 5000, 70_000];
    expect(windows(Buffer.concat(sizes.map((size) => zstdCompressSync(Buffer.alloc(size)))))).toEqual(sizes);
  });

  test.each([
    ["bytes after the last frame", Buffer.concat([zstdCompressSync("a"), Buffer.from("garbage")])],
    ["zeros after the last frame", Buffer.concat([zstdCompressSync("a"), Buffer.alloc(512)])],
    ["a frame that is cut off", zstdCompressSync("a".repeat(1000)).subarray(0, -3)],
    ["a magic number that is cut off", Buffer.concat([zstdCompressSync("a"), Buffer.from([0x28, 0xb5])])],
    [
      "a skippable frame that is cut off",
      Buffer.concat([zstdCompressSync("a"), skippableFrame(Buffer.alloc(9)).subarray(0, -1)]),
    ],
    [
      "a block of the reserved type",
      Buffer.concat([rleFrame(0, { windowLog: 10 }).subarray(0, 6), Buffer.from([7, 0, 0])]),
    ],
  ])("%s are an error of the layer", async (_, stream) => {
    expect(() => split(stream, () => 3)).toThrow(expect.objectContaining({ code: "UnsafeLayer" }));
    await expect(read(stream)).rejects.toMatchObject({ code: "UnsafeLayer" });
  });
});

async function read(stream: Uint8Array, options: Parameters<typeof decompressed>[1] = {}): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const pieces = async function* (): AsyncGenerator<Uint8Array, void> {
    for (let at = 0; at < stream.length; at += 65_536) yield stream.subarray(at, at + 65_536);
  };
  for await (const chunk of decompressed(pieces(), options)) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

describe("zstd content", () => {
  const content = randomBytes(300_000);
  const half = content.length / 2;
  const [a, b] = [zstdCompressSync(content.subarray(0, half)), zstdCompressSync(content.subarray(half))];
  const empty = zstdCompressSync(Buffer.alloc(0));
  const skippable = skippableFrame(Buffer.from("an index"));

  test.each<[string, Buffer[]]>([
    ["two frames", [a, b]],
    ["an empty frame first", [empty, a, b]],
    ["an empty frame between", [a, empty, b]],
    ["a skippable frame first", [skippable, a, b]],
    ["a skippable frame between", [a, skippable, skippable, b]],
    ["a skippable frame last", [a, b, skippable]],
  ])("of %s comes out whole", async (_, frames) => {
    expect((await read(Buffer.concat(frames))).equals(content)).toBe(true);
  });

  test("of thousands of small frames comes out whole", async () => {
    const frames = Array.from({ length: 3000 }, (_, i) => zstdCompressSync(content.subarray(i * 100, i * 100 + 100)));
    expect((await read(Buffer.concat(frames))).equals(content)).toBe(true);
  });

  test.each([
    ["empty frames", empty],
    ["skippable frames", skippableFrame(Buffer.alloc(0))],
    ["frames of one byte", zstdCompressSync("a")],
  ])("of more %s than its content explains is an error of the layer", async (_, frame) => {
    const most = Array.from({ length: 9_990 }, () => frame);
    expect((await read(Buffer.concat([a, ...most, b]))).length).toBeGreaterThanOrEqual(content.length);
    const more = Array.from({ length: 12_000 }, () => frame);
    await expect(read(Buffer.concat([a, ...more, b]))).rejects.toMatchObject({
      code: "UnsafeLayer",
      message: expect.stringContaining("zstd frames"),
    });
  });

  test("of two frames for each small file, as zstd:chunked has them, comes out whole", async () => {
    const header = zstdCompressSync(Buffer.alloc(512));
    const file = zstdCompressSync("a");
    const frames = Array.from({ length: 12_000 }, () => [header, file]).flat();
    expect(await read(Buffer.concat(frames))).toHaveLength(12_000 * 513);
  });

  test("of nothing but skippable frames is empty", async () => {
    expect(await read(Buffer.concat([skippable, skippable]))).toHaveLength(0);
  });

  test("of `zstd --long=31` comes out whole", async () => {
    expect(await read(rleFrame(1_000_000, { windowLog: 31 }))).toHaveLength(1_000_000);
  });

  test("with a larger window than libzstd supports is an error of the layer", async () => {
    await expect(read(rleFrame(10, { windowLog: 32 }))).rejects.toMatchObject({ code: "UnsafeLayer" });
  });

  test("cannot fill the memory of the process with a large window", async () => {
    const stream = rleFrame(200 * 1024 ** 2, { windowLog: 31 });
    await expect(read(stream, { reuse: true, maxResidentBytes: 1 })).rejects.toMatchObject({
      code: "TooLarge",
      message: expect.stringContaining("--long"),
    });
    // A usual window is bounded already.
    const usual = rleFrame(200 * 1024 ** 2, { windowLog: 27 });
    expect(await read(usual, { maxResidentBytes: 1 })).toHaveLength(200 * 1024 ** 2);
  });
});
