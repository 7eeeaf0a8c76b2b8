import { type FunctionIO, FunctionIOError, type OutputLimits, type ResourceList } from "@xfn/functionio";
import type { WorkerThreads } from "@xfn/oci-rootfs/threads";
import { type OutputForm, type OutputJob, type OutputOutcome, parseOutput, receiveError } from "./output-job.ts";
import { Assembly } from "./pieces.ts";

/** Parsing this much JSON takes some 20 ms, and starting a worker takes as long. */
const MAX_BYTES_HERE = 1024 * 1024;
/** YAML takes ten times as long as JSON, and a text with problems is read several times. */
const MAX_YAML_HERE = 64 * 1024;

const MIB = 1024 * 1024;
/** Reading even a small YAML text can take this much heap. */
const MIN_HEAP_MB = 256;
/** The most heap that the values of an output of 16 MiB take for each of its bytes. */
const HEAP_PER_BYTE = 16;

/** Parameters of {@link readOutput}. */
export interface ReadOutputOptions {
  /** The name of the output, for messages. */
  readonly source: string;
  readonly limits: OutputLimits;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads the output of a function. A worker thread reads more than 1 MiB of JSON, or 64 KiB of YAML. This thread
 * assembles the result in short turns, so that a hostile output can neither block it nor fill its heap.
 *
 * @throws {FunctionIOError}
 * @throws ThreadError of `@xfn/oci-rootfs/threads`
 */
export async function readOutput(bytes: Uint8Array, options: ReadOutputOptions): Promise<FunctionIO> {
  return (await readForm(bytes, "FunctionIO", options)) as FunctionIO;
}

/** Reads a ResourceList that a function wrote, as {@link readOutput} reads a FunctionIO. */
export async function readResourceList(bytes: Uint8Array, options: ReadOutputOptions): Promise<ResourceList> {
  return (await readForm(bytes, "ResourceList", options)) as ResourceList;
}

async function readForm(
  bytes: Uint8Array,
  form: OutputForm,
  { source, limits, signal }: ReadOutputOptions,
): Promise<FunctionIO | ResourceList> {
  const job: OutputJob = { bytes, source, limits, form };
  // An output beyond the limit is not read at all.
  if (bytes.length <= MAX_YAML_HERE || bytes.length > limits.maxBytes) return parseOutput(job);
  if (bytes.length <= MAX_BYTES_HERE) {
    try {
      return parseOutput({ ...job, limits: { ...limits, maxYamlLength: MAX_YAML_HERE } });
    } catch (error) {
      // The output is YAML, or has problems.
      if (!(error instanceof FunctionIOError)) throw error;
    }
  }
  return await readOnWorker(job, limits.maxBytes, signal);
}

type OutputThreads = WorkerThreads<OutputJob, OutputOutcome>;

/** Threads by the size of their heaps in MiB. A server has one limit, and so one size. */
const pools = new Map<number, Promise<OutputThreads>>();

async function readOnWorker(
  job: OutputJob,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<FunctionIO | ResourceList> {
  const heapMb = Math.max(MIN_HEAP_MB, Math.ceil((maxBytes * HEAP_PER_BYTE) / MIB));
  let threads = pools.get(heapMb);
  if (threads === undefined) pools.set(heapMb, (threads = open(heapMb)));
  // The runner may still use its buffer.
  const bytes = new Uint8Array(job.bytes);
  const outcome = await (await threads).run({ ...job, bytes }, { signal, transfer: [bytes.buffer] });
  if ("error" in outcome) throw receiveError(outcome.error, job.source);
  const { setImmediate } = await import("node:timers/promises");
  const assembly = new Assembly();
  for (const piece of outcome.result) {
    assembly.add(piece);
    await setImmediate();
  }
  return assembly.value() as FunctionIO | ResourceList;
}

/** Loaded on demand, so that a render with small outputs does not load threads. */
async function open(heapMb: number): Promise<OutputThreads> {
  const { WorkerThreads } = await import("@xfn/oci-rootfs/threads");
  // Tests run from the sources.
  const name = import.meta.url.endsWith(".ts") ? "output-worker.ts" : "output-worker.js";
  const module = new URL(name, import.meta.url);
  // One thread, which ends at once: two heaps would exceed the memory of a small server.
  return new WorkerThreads({ module, threads: 1, heapMb, youngMb: YOUNG_MB, idleMs: 0 });
}

/** Nearly all values that are read stay alive. */
const YOUNG_MB = 32;
