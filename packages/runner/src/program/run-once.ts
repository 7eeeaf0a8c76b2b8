import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import { resolveImageName } from "@xfn/oci-rootfs/image-name";
import { ExitCode, onStopSignals, signalExitCode, UsageError } from "@xfn/program";
import { RunnerError } from "@xfn/runner-contract";
import { MAX_PAYLOAD_BYTES } from "@xfn/runner-grpc";
import { createRunner } from "../runner.ts";
import { hostOf } from "./check-config.ts";
import { openImageStore } from "./open-image-store.ts";
import type { RunConfig } from "./run-settings.ts";

/** Where a run's words go: the function's and ours. */
export type Say = (line: string) => void;

/**
 * `xfn-runner run`: one function, once, its input and output as they are. (`xfn run` reads and checks both.)
 *
 * @param problems what was found wrong with the settings already
 * @returns the exit code
 * @throws UsageError, RunnerError
 */
export async function runOnce(
  image: string,
  file: string,
  config: RunConfig,
  problems: readonly string[],
  say: Say,
): Promise<number> {
  const wrong = [...problems];
  const add = (problem: string): void => void wrong.push(problem);
  const insecureRegistries = config.insecureRegistry.flatMap((host) => hostOf("--insecure-registry", host, add) ?? []);
  const defaultRegistry = config.registry === undefined ? undefined : hostOf("--registry", config.registry, add);
  if (wrong.length > 0) throw new UsageError(wrong);
  const runner = createRunner({
    store: await openImageStore(config.cacheDir),
    ociRuntime: config.ociRuntime,
    rootfs: config.rootfs,
    readOnlyRoot: config.readOnlyRoot,
    allowUnlimited: config.allowUnlimited,
    images: { insecureRegistries, ...(defaultRegistry === undefined ? {} : { defaultRegistry }) },
    onWarning: (message) => say(`warning: ${message}`),
  });
  const interrupt = new AbortController();
  let signalled: NodeJS.Signals | undefined;
  const stopListening = onStopSignals({
    drain: (signal) => {
      signalled = signal;
      interrupt.abort();
      // Whoever waits for input has nothing to wait for any more.
      process.stdin.destroy();
    },
    // Impatience must not leave a container behind.
    kill: () => undefined,
  });
  try {
    const input = await readInput(file);
    interrupt.signal.throwIfAborted();
    const output = await runner.run(resolveImageName(image, "."), input, {
      timeoutMs: config.timeout,
      network: config.networkPolicy,
      pullPolicy: config.imagePullPolicy,
      signal: interrupt.signal,
      onStderr: (tail) => {
        for (const line of tail.trimEnd().split("\n")) say(`function: ${line}`);
      },
      ...(config.memory === undefined ? {} : { memoryBytes: config.memory }),
      ...(config.cpu === undefined ? {} : { cpus: config.cpu }),
    });
    await write(output);
    return ExitCode.ok;
  } catch (error) {
    if (signalled !== undefined) {
      say(`stopped by ${signalled}`);
      return signalExitCode(signalled);
    }
    // A name that cannot be read is wrong usage, as for xfn.
    if (error instanceof RunnerError && codeOf(error.cause) === "InvalidReference")
      throw new UsageError([error.message]);
    throw error;
  } finally {
    stopListening();
    await runner.close();
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

async function readInput(file: string): Promise<Uint8Array> {
  const name = file === "-" ? "stdin" : file;
  const stream: Readable = file === "-" ? process.stdin : createReadStream(file);
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > MAX_PAYLOAD_BYTES) throw new Error(`it has more than ${MAX_PAYLOAD_BYTES / 1024 / 1024} MiB`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw new UsageError([`cannot read ${name}: ${error instanceof Error ? error.message : String(error)}`]);
  }
  return Buffer.concat(chunks, length);
}

function write(bytes: Uint8Array): Promise<void> {
  return new Promise((resolved, reject) => {
    process.stdout.once("error", (cause: Error) =>
      reject(new Error(`cannot write to stdout: ${cause.message}`, { cause })),
    );
    process.stdout.write(bytes, (error) => {
      if (error === null || error === undefined) resolved();
    });
  });
}
