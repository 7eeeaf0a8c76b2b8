import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FrameMeter } from "./frame-meter.ts";
import { PeerBudget } from "./peer-budget.ts";

const MiB = 1024 * 1024;
const HEADERS = 1;
const RST_STREAM = 3;
const PING = 6;
const WINDOW_UPDATE = 8;
const UNKNOWN = 0xf0;
const PADDED = 8;

function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUInt8(flags, 4);
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

function framesOf(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 9 + bytes.readUIntBE(at, 3);
    const [type = 0, flags = 0] = bytes.subarray(at + 3);
    frames.push({ type, flags, stream: bytes.readUInt32BE(at + 5), payload: bytes.subarray(at + 9, end) });
    at = end;
  }
  return frames;
}

/** The same content, in as few frames as possible. */
function joined(frames: readonly Frame[]): Frame[] {
  const result: Frame[] = [];
  for (const one of frames) {
    const last = result.at(-1);
    const isPart =
      one.type === 0 && one.flags === 0 && last?.type === 0 && last.flags === 0 && last.stream === one.stream;
    if (last !== undefined && isPart)
      result[result.length - 1] = { ...last, payload: Buffer.concat([last.payload, one.payload]) };
    else result.push(one);
  }
  return result;
}

/** Reads copies, because frames are joined in place. */
function read(meter: FrameMeter, chunks: readonly Buffer[]): Buffer | undefined {
  const pieces: Buffer[] = [];
  for (const chunk of chunks) {
    const passed = meter.read(Buffer.from(chunk));
    if (passed === undefined) return undefined;
    pieces.push(...passed);
  }
  return Buffer.concat(pieces);
}

function meterFor(maxContent: number): FrameMeter {
  const budget = new PeerBudget("http2", () => 0);
  budget.begin(maxContent);
  return new FrameMeter(budget);
}

const anyFrame = fc
  .record({
    type: fc.constantFrom(0, 0, 0, 0, HEADERS, RST_STREAM, PING, UNKNOWN),
    flags: fc.constantFrom(0, 0, 0, 1, 4, PADDED),
    stream: fc.constantFrom(1, 1, 1, 3),
    size: fc.constantFrom(0, 1, 1, 2, 7, 1000, 1500, 16_384),
  })
  .map(({ type, flags, stream, size }) => frame(type, flags, stream, Buffer.alloc(size, type + size)));

/** Acknowledges the client's settings. */
const acknowledgement = frame(4, 1, 0);

test.each([16_384, 50_000])(
  "passes all frames in their order, however they are cut, and joins content only, to %i bytes",
  (maxFrame) => {
    const property = fc.property(
      fc.array(anyFrame, { maxLength: 60 }),
      fc.array(fc.integer({ min: 1, max: 3000 }), { minLength: 1 }),
      (frames, sizes) => {
        const bytes = Buffer.concat([acknowledgement, ...frames]);
        const chunks: Buffer[] = [];
        for (let at = 0, index = 0; at < bytes.length; index++) {
          const end = at + (sizes[index % sizes.length] ?? 1);
          chunks.push(bytes.subarray(at, end));
          at = end;
        }
        const budget = new PeerBudget("http2", () => 0);
        // Enough for a million reads of one byte.
        for (let call = 0; call < 20_000; call++) budget.begin(10 * MiB);
        const passed = read(new FrameMeter(budget, maxFrame), chunks);
        expect(passed).toBeDefined();
        const after = framesOf(passed ?? Buffer.alloc(0));
        expect(joined(after)).toEqual(joined(framesOf(bytes)));
        expect(after.every(({ payload }) => payload.length <= maxFrame)).toBe(true);
      },
    );
    fc.assert(property, { numRuns: 300 });
  },
);

test("joins content that arrives a byte at a time", () => {
  const byte = frame(0, 0, 1, Buffer.of(7));
  const passed = read(meterFor(MiB), [Buffer.concat(Array.from({ length: 6000 }, () => byte))]);
  const [first, ...more] = framesOf(passed ?? Buffer.alloc(0));
  expect(first?.payload).toEqual(Buffer.alloc(6000, 7));
  expect(more).toEqual([]);
});

test("joins frames to ones as large as the client accepts, once the server has acknowledged that size", () => {
  const budget = new PeerBudget("http2", () => 0);
  budget.begin(10 * MiB);
  const meter = new FrameMeter(budget, 100_000);
  const content = Array.from({ length: 8 }, (_, index) => frame(0, 0, 1, Buffer.alloc(16_384, index)));
  const sizes = (chunks: readonly Buffer[]): number[] =>
    framesOf(read(meter, chunks) ?? Buffer.alloc(0)).map(({ payload }) => payload.length);
  expect(sizes([Buffer.concat([...content, acknowledgement])])).toEqual([...content.map(() => 16_384), 0]);
  // The last frame ends in the next chunk.
  const bytes = Buffer.concat(content);
  const [first, second] = [bytes.subarray(0, -10_000), bytes.subarray(-10_000)];
  expect(sizes([first, second])).toEqual([6 * 16_384, 2 * 16_384]);
});

test("begins a piece with each reset, so that a library sees the end before it", () => {
  const [end, reset] = [frame(0, 1, 1), frame(RST_STREAM, 0, 1, Buffer.alloc(4))];
  const pieces = meterFor(MiB).read(Buffer.concat([end, reset, reset]));
  expect(pieces).toEqual([end, reset, reset]);
});

describe("admits", () => {
  test("100 MiB of content in frames of the usual size", () => {
    const chunk = Buffer.concat(Array.from({ length: 4 }, () => frame(0, 0, 1, Buffer.alloc(16_384))));
    const meter = meterFor(100 * MiB);
    for (let sent = 0; sent < 100 * MiB; sent += 4 * 16_384) expect(read(meter, [chunk])).toBeDefined();
  });

  test("headers, trailers and two interim responses", () => {
    const meter = meterFor(MiB);
    for (let part = 0; part < 4; part++) expect(meter.read(frame(HEADERS, 4, 1, Buffer.alloc(500)))).toBeDefined();
  });
});

describe("ends a connection without end of", () => {
  test.each([
    ["interim responses", frame(HEADERS, 4, 1, Buffer.alloc(20)), 64],
    ["large interim responses", frame(HEADERS, 4, 1, Buffer.alloc(16_000)), 64],
    ["pings", frame(PING, 0, 0, Buffer.alloc(8)), 5000],
    ["window updates", frame(WINDOW_UPDATE, 0, 0, Buffer.alloc(4)), 5000],
    ["ORIGIN frames", frame(12, 0, 0, Buffer.alloc(1000)), 1200],
    ["ALTSVC frames", frame(10, 0, 1, Buffer.alloc(1000)), 1200],
    ["unknown frames", frame(UNKNOWN, 0, 0), 5000],
    ["continuations", frame(9, 0, 1), 5000],
    ["padding", frame(0, PADDED, 1, Buffer.alloc(256)), 5000],
    ["empty data", frame(0, 0, 1), 140_000],
    ["data of a byte", frame(0, 0, 1, Buffer.of(1)), 140_000],
    ["data beyond the answer", frame(0, 0, 1, Buffer.alloc(16_384)), 400],
  ])("%s", (_, one, most) => {
    const meter = meterFor(4 * MiB);
    const copies = Math.max(1, Math.floor(65_536 / one.length));
    const chunk = Buffer.concat(Array.from({ length: copies }, () => one));
    let frames = 0;
    while (meter.read(Buffer.from(chunk)) !== undefined) {
      frames += copies;
      expect(frames).toBeLessThan(most);
    }
  });

  test("small reads", () => {
    const meter = meterFor(4 * MiB);
    const byte = frame(0, 0, 1, Buffer.of(1));
    let reads = 0;
    while (meter.read(byte) !== undefined) expect(reads++).toBeLessThan(1000);
  });
});
