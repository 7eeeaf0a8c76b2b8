import process from "node:process";

// All V8 tuning of the programs. Libraries never set flags: they would change the whole process of their users.

/**
 * Keeps the young generation small while the program loads. Loading makes much garbage. V8 would grow the young
 * generation to 16 MB in `xfn-runner` and to 48 MB in `xfn-controller`, and never shrink it.
 */
export function tuneForLoading(): void {
  v8().setFlagsFromString("--semi-space-growth-factor=1");
}

/**
 * Turns V8's middle compiler off. It takes 25 MB while a program runs most code once. {@link tuneForServing} turns it
 * on.
 */
export function disableMaglev(): void {
  v8().setFlagsFromString("--no-maglev");
}

/**
 * For a server with many short calls that collects its garbage when idle. The heap can grow to three times its live
 * size before a full collection. V8 reaches its own bound for a small heap every second, which costs an eighth of the
 * CPU time.
 */
export function tuneForServing(): void {
  v8().setFlagsFromString("--heap-growing-percent=200");
  v8().setFlagsFromString("--semi-space-growth-factor=2");
  v8().setFlagsFromString("--maglev");
}

/** The size of both halves of the young generation. With V8's initial 1 MB, a burst of XRs is copied several times. */
export const YOUNG_SPACE_BYTES: number = 4 * 1024 * 1024;

// Filling takes about 3 MB. The bound ends the loop if a version of V8 does not grow the space.
const MAX_ROUNDS = 400;
const OBJECTS_PER_ROUND = 500;

/**
 * Grows the young generation to {@link YOUNG_SPACE_BYTES} and no further. V8 alone grows it to 48 MB and never shrinks
 * it. No flag sets the size after the start, so this function fills the space while growth is on.
 */
export function growYoungSpace(): void {
  const filling: object[] = [];
  v8().setFlagsFromString("--semi-space-growth-factor=2");
  for (let round = 0; round < MAX_ROUNDS && youngSpaceBytes() < YOUNG_SPACE_BYTES; round++) {
    for (let index = 0; index < OBJECTS_PER_ROUND; index++) filling.push({ round, index });
  }
  v8().setFlagsFromString("--semi-space-growth-factor=1");
}

/** The current size of the young generation. */
export function youngSpaceBytes(): number {
  return (
    v8()
      .getHeapSpaceStatistics()
      .find(({ space_name }) => space_name === "new_space")?.space_size ?? Infinity
  );
}

/**
 * Defines `globalThis.gc`, as `node --expose-gc` does. V8 counts a buffer as its small handle, so it leaves up to 64 MB
 * of used buffers while an image streams through. @xfn/oci-rootfs calls `gc` if there is one. The first use loads it.
 */
export function exposeGc(): void {
  Object.defineProperty(globalThis, "gc", { configurable: true, get: collector });
}

/** Collects everything that is unused, including compiled code, which the next calls compile again. */
export function collectAll(): void {
  collector()({ type: "major", execution: "sync", flavor: "last-resort" });
}

/** Collects what is unused in one pass, and leaves compiled code. */
export function collectOnce(): void {
  collector()({ type: "major", execution: "sync" });
}

/**
 * Starts a collection in steps, after which V8 returns memory to the system. Its longest pause is at most half of that
 * of {@link collectAll} for a heap of 350 MB, and grows less.
 */
export function startCollecting(): void {
  // Such a collection also empties sparse pages. V8's memory reducer, which does so too, may not run after a burst.
  v8().setFlagsFromString("--optimize-for-size");
  v8().setFlagsFromString("--incremental-marking-hard-trigger=1");
  // V8 looks at the flags when the young generation is full.
  let filling: object[] = [];
  for (let round = 0; round < MARKING_ROUNDS; round++) {
    filling = [];
    for (let index = 0; index < OBJECTS_PER_ROUND; index++) filling.push({ round, index });
  }
  v8().setFlagsFromString("--incremental-marking-hard-trigger=0");
  v8().setFlagsFromString("--no-optimize-for-size");
}

// Fills some 8 MB.
const MARKING_ROUNDS = 400;

let loaded: NodeJS.GCFunction | undefined;

function collector(): NodeJS.GCFunction {
  return (loaded ??= loadCollector());
}

// Only contexts that are created while the flag is set have the function.
function loadCollector(): NodeJS.GCFunction {
  v8().setFlagsFromString("--expose-gc");
  const found = process.getBuiltinModule("node:vm").runInNewContext("gc") as NodeJS.GCFunction;
  v8().setFlagsFromString("--no-expose-gc");
  return found;
}

// Loaded on demand: a short command of xfn needs neither, and loading both takes 2.5 ms.
function v8(): typeof import("node:v8") {
  return process.getBuiltinModule("node:v8");
}
