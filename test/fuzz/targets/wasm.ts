import assert from "node:assert/strict";
import { MAX_MODULE_BYTES, moduleFault } from "@xfn/wasm/module";
import { type InstanceMemory, StandardStreams, type StreamsHost, wasiFunctions } from "@xfn/wasm/wasi";
import fc from "fast-check";
import { echoModule, forever, print, wasmModule } from "../../harness/wasm-modules.ts";
import { type Target, target } from "../target.ts";

const MODULES: readonly Buffer[] = [
  echoModule(),
  wasmModule({ start: forever(...print(2, 4)), data: "log\n", tables: [1, 2], padding: 9 }),
  wasmModule({
    start: print(1, 8),
    segments: Array.from({ length: 40 }, (_, index) => ({ address: 1024 + 3 * ((index * 7) % 40), content: "ab" })),
  }),
];

/** Bytes that end numbers, or go on, at the limits of both. */
const byte = fc.oneof(fc.constantFrom(0x00, 0x01, 0x0b, 0x0f, 0x10, 0x41, 0x7f, 0x80, 0xff), fc.nat(255));

/** The bytes of a module, with some of them replaced, inserted or removed. */
export const wasmModules: Target = target({
  input: fc.tuple(
    fc.constantFrom(...MODULES.map((_, index) => index)),
    fc.array(fc.tuple(fc.nat(4000), fc.nat(3), fc.array(byte, { maxLength: 6 })), { maxLength: 4 }),
  ),
  run: ([index, edits]) => {
    let bytes = MODULES[index] ?? Buffer.alloc(0);
    for (const [position, removed, inserted] of edits) {
      const at = position % (bytes.length + 1);
      bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(inserted), bytes.subarray(at + removed)]);
    }
    assert.ok(bytes.length < MAX_MODULE_BYTES);
    const fault = moduleFault(bytes);
    assert.notEqual(fault, "");
  },
});

const MEMORY_BYTES = 65_536;
const MAX_OUTPUT_BYTES = 4096;
/** Error numbers of WASI preview 1. */
const MAX_ERROR = 76;

/** Addresses, counts and lengths: at both ends of the memory, and at those of 32 bits as V8 passes them. */
const edge = fc.oneof(
  fc.nat(64),
  fc.constantFrom(MEMORY_BYTES - 8, MEMORY_BYTES - 1, MEMORY_BYTES, 2 ** 31 - 1, -(2 ** 31), -8, -1, 1024, 1025),
  fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
);
const NAMES = [...wasiFunctions(new StandardStreams(streamsHost(), 0), newMemory).keys()];

/** Calls of one instance: each has a name, four numbers, and a vector of two numbers at address 0. */
export const wasmCalls: Target = target({
  input: fc.array(
    fc.tuple(
      fc.constantFrom("fd_read", "fd_write", "random_get", ...NAMES),
      fc.tuple(edge, edge, edge, edge),
      fc.tuple(edge, edge),
    ),
    { minLength: 1, maxLength: 5 },
  ),
  run: (calls) => {
    const memory = newMemory();
    const streams = new StandardStreams(streamsHost(), MAX_OUTPUT_BYTES);
    const functions = wasiFunctions(streams, () => memory);
    for (const [name, numbers, vector] of calls) {
      const view = new DataView(memory.buffer);
      // A time would make the call wait for it.
      new Uint8Array(memory.buffer).fill(0);
      if (name !== "poll_oneoff") vector.forEach((number, index) => view.setInt32(4 * index, number, true));
      const one = functions.get(name);
      assert.ok(one);
      // The time of a clock has 64 bits.
      const values = name === "clock_time_get" ? [numbers[0], BigInt(numbers[1]), numbers[2]] : numbers;
      const result = one(...(values as never[]));
      assert.ok(Number.isInteger(result) && result >= 0 && result <= MAX_ERROR, `${name} returned ${result}`);
      assert.ok(streams.output.length <= MAX_OUTPUT_BYTES);
    }
  },
});

function newMemory(): InstanceMemory {
  return { buffer: new ArrayBuffer(MEMORY_BYTES) };
}

function streamsHost(): StreamsHost {
  return { nextInput: () => Buffer.from("input"), reportError: () => undefined };
}
