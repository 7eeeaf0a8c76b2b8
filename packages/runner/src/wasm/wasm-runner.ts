import type { Image } from "@xfn/oci-rootfs";
import { RunnerError } from "@xfn/runner-contract";
import { WasmFunctions } from "@xfn/wasm";
import type { Executor, ExecutorCall } from "../sandbox/executor.ts";
import { wasmFilter } from "../seccomp/wasm-policy.ts";
import { modulePath, readModule } from "./wasm-module.ts";

/** Options of a {@link WasmRunner}, as in `RunnerOptions`. */
export interface WasmRunnerOptions {
  readonly maxOutputBytes: number;
  readonly allowUnlimited: boolean;
  readonly onWarning: (message: string, about?: "host") => void;
}

/** Runs the modules of images. It needs no OCI runtime and no namespace. */
export class WasmRunner implements Executor {
  readonly #options: WasmRunnerOptions;
  #functions: WasmFunctions | undefined;

  constructor(options: WasmRunnerOptions) {
    this.#options = options;
  }

  /** Runs one call. @throws RunnerError `ImageInvalid` for an image whose entrypoint is not a module */
  async run(image: Image, { input, options, deadline }: ExecutorCall): Promise<Uint8Array> {
    const path = modulePath(image);
    if (path === undefined) throw notModule();
    deadline.met();
    this.#checkCpus(options.cpus);
    const { onPhase, timeoutMs, memoryBytes, signal } = options;
    const began = performance.now();
    let running = began;
    const { output, failure, stderr } = await this.#open().run(input, {
      digest: image.digest,
      module: () => readModule(image, path),
      timeoutMs,
      memoryBytes,
      signal,
      onStarted() {
        running = performance.now();
        onPhase?.("start", running - began);
      },
    });
    onPhase?.("run", performance.now() - running);
    if (stderr !== "") options.onStderr?.(stderr);
    if (output === undefined) throw failure;
    return output;
  }

  async close(): Promise<void> {
    await this.#functions?.close();
  }

  /** Started on demand, because creating the filter takes a millisecond. */
  #open(): WasmFunctions {
    if (this.#functions !== undefined) return this.#functions;
    const filter = wasmFilter();
    const warn = (): void =>
      this.#options.onWarning(
        "the kernel accepts no seccomp filter: Node's permission model alone confines WebAssembly functions",
        "host",
      );
    this.#functions = new WasmFunctions({
      maxOutputBytes: this.#options.maxOutputBytes,
      ...(filter && { filter, onUnfiltered: warn }),
    });
    return this.#functions;
  }

  /** A module computes on one thread, so it uses one core at most. A lower limit cannot be enforced. */
  #checkCpus(cpus: number | undefined): void {
    if (cpus === undefined || cpus >= 1) return;
    const message = `a limit of ${cpus} cores cannot be enforced for a WebAssembly module, which takes one core at most`;
    if (!this.#options.allowUnlimited)
      throw new RunnerError("LimitUnavailable", `${message}; leave the limit out`, { phase: "start" });
    this.#options.onWarning(message);
  }
}

function notModule(): RunnerError {
  return new RunnerError("ImageInvalid", "its image runs a program, not a WebAssembly module; use type: Container", {
    phase: "start",
  });
}
