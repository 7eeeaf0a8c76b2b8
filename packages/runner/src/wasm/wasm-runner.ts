import type { Image } from "@xfn/oci-rootfs";
import { RunnerError, type RunOptions } from "@xfn/runner-contract";
import { WasmFunctions } from "@xfn/wasm";
import { wasmFilter } from "../seccomp/wasm-policy.ts";
import { readModule } from "./wasm-module.ts";

/** Options of a {@link WasmRunner}, as in `RunnerOptions`. */
export interface WasmRunnerOptions {
  readonly maxOutputBytes: number;
  readonly allowUnlimited: boolean;
  readonly onWarning: (message: string, about?: "host") => void;
}

/** Runs the modules of images. It needs no OCI runtime and no namespace. */
export class WasmRunner {
  readonly #options: WasmRunnerOptions;
  #functions: WasmFunctions | undefined;

  constructor(options: WasmRunnerOptions) {
    this.#options = options;
  }

  /**
   * Runs one call of an image whose entrypoint is a module.
   *
   * @param path of the module in the image
   */
  async run(image: Image, path: string, input: Uint8Array, options: RunOptions): Promise<Uint8Array> {
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

  #open(): WasmFunctions {
    // Making the filter takes a millisecond.
    this.#functions ??= this.#start();
    return this.#functions;
  }

  #start(): WasmFunctions {
    const filter = wasmFilter();
    const warn = (): void =>
      this.#options.onWarning(
        "the kernel accepts no seccomp filter: Node's permission model alone confines WebAssembly functions",
        "host",
      );
    return new WasmFunctions({
      maxOutputBytes: this.#options.maxOutputBytes,
      ...(filter && { filter, onUnfiltered: warn }),
    });
  }

  /** A module computes on one thread, so it takes one core at most. Nothing enforces less. */
  #checkCpus(cpus: number | undefined): void {
    if (cpus === undefined || cpus >= 1) return;
    const message = `a limit of ${cpus} cores cannot be enforced for a WebAssembly module, which takes one core at most`;
    if (!this.#options.allowUnlimited)
      throw new RunnerError("LimitUnavailable", `${message}; leave the limit out`, { phase: "start" });
    this.#options.onWarning(message);
  }
}
