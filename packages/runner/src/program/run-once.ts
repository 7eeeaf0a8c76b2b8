import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import { messageOf } from "@xfn/errors";
import { readRegistryHost } from "@xfn/oci-rootfs";
import { resolveImageName } from "@xfn/oci-rootfs/image-name";
import { ExitCode, onStopSignals, signalExitCode, UsageError } from "@xfn/program";
import { MAX_PAYLOAD_BYTES, RunnerError, type RunOptions } from "@xfn/runner-contract";
import { codeOf } from "../base/error-text.ts";
import { createRunner } from "../runner.ts";
import type { Runner } from "../runner-options.ts";
import { openImageStore } from "../service/open-image-store.ts";
import type { RunConfig } from "./run-settings.ts";

/** Prints a line for the user: the function's stderr, and warnings. */
export type Say = (line: string) => void;

/**
 * `xfn-runner run`: runs one function once, with its input and output unchanged. (`xfn run` parses both.)
 *
 * @param problems problems found while reading the settings
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
  const runner = await openRunner(config, problems, say);
  const interrupt = new AbortController();
  let signalled: NodeJS.Signals | undefined;
  const stopListening = onStopSignals({
    drain: (signal) => {
      signalled = signal;
      interrupt.abort();
      // Ends a pending read of the input.
      process.stdin.destroy();
    },
    // A second signal must not leave a container behind.
    kill: () => undefined,
  });
  try {
    const input = await readInput(file);
    interrupt.signal.throwIfAborted();
    await write(await runner.run(resolveImageName(image, "."), input, runOptions(config, interrupt.signal, say)));
    return ExitCode.ok;
  } catch (error) {
    if (signalled !== undefined) {
      say(`stopped by ${signalled}`);
      return signalExitCode(signalled);
    }
    // An invalid image name is a usage error, as in xfn.
    if (error instanceof RunnerError && codeOf(error.cause) === "InvalidReference")
      throw new UsageError([error.message]);
    throw error;
  } finally {
    stopListening();
    await runner.close();
  }
}

async function openRunner(config: RunConfig, problems: readonly string[], say: Say): Promise<Runner> {
  const wrong = [...problems];
  const add = (problem: string): void => void wrong.push(problem);
  const insecureRegistries = config.insecureRegistry.flatMap(
    (host) => readRegistryHost("--insecure-registry", host, add) ?? [],
  );
  const defaultRegistry =
    config.registry === undefined ? undefined : readRegistryHost("--registry", config.registry, add);
  if (wrong.length > 0) throw new UsageError(wrong);
  return createRunner({
    store: await openImageStore(config.cacheDir),
    ociRuntime: config.ociRuntime,
    rootfs: config.rootfs,
    readOnlyRoot: config.readOnlyRoot,
    allowUnlimited: config.allowUnlimited,
    maxOutputBytes: config.maxOutput,
    images: { insecureRegistries, defaultRegistry },
    onWarning: (message) => say(`warning: ${message}`),
  });
}

function runOptions(config: RunConfig, signal: AbortSignal, say: Say): RunOptions {
  return {
    timeoutMs: config.timeout,
    network: config.networkPolicy,
    pullPolicy: config.imagePullPolicy,
    memoryBytes: config.memory,
    cpus: config.cpu,
    signal,
    onStderr: (tail) => {
      for (const line of tail.trimEnd().split("\n")) say(`function: ${line}`);
    },
  };
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
    throw new UsageError([`cannot read ${name}: ${messageOf(error)}`], { cause: error });
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
