import { DEFAULT_TIMEOUT_MS, RunnerError, type RunOptions } from "@xfn/runner-contract";
import { removeRoot } from "../chroot-host/remove-root.ts";
import type { Executor, ExecutorCall } from "../sandbox/executor.ts";
import { Sandbox } from "../sandbox/sandbox.ts";
import { SandboxHost } from "../sandbox/sandbox-host.ts";
import { type RunnableImage, SandboxSpecs } from "../sandbox/sandbox-spec.ts";
import { selfTest, writeSelfTestImage } from "../sandbox/self-test.ts";
import { chrootProblem } from "./chroot-problem.ts";

export interface ChrootOptions {
  readonly allowed: boolean;
  /** The store's directory. */
  readonly dir: string;
  readonly maxOutputBytes: number;
  readonly onWarning: (message: string) => void;
}

/** A chroot has no network namespace, and its root is a copy that belongs to the function. */
const SETTINGS = {
  owner: undefined,
  rootfs: "copy",
  readOnlyRoot: false,
  runtime: { path: "", family: "other" },
} as const;

/** Runs functions of `type: Chroot`, each call in its own throw-away root. */
export class ChrootFunctions implements Executor {
  readonly #options: ChrootOptions;
  readonly #specs = new SandboxSpecs();
  #host: SandboxHost | undefined;
  #count = 0;

  constructor(options: ChrootOptions) {
    this.#options = options;
  }

  get allowed(): boolean {
    return this.#options.allowed;
  }

  /** Checks a call before its image is pulled. @throws RunnerError `ChrootUnavailable`, `LimitUnavailable` */
  permit({ network, memoryBytes, cpus, pids }: RunOptions): void {
    if (!this.#options.allowed) {
      throw unavailable("this runner runs no function of type: Chroot, which it cannot isolate (--allow-chroot)");
    }
    if (network !== "Accessible") {
      throw unavailable("a chroot cannot isolate the network: set network: Accessible, or use type: Container");
    }
    if (memoryBytes !== undefined || cpus !== undefined || pids !== undefined) {
      const message = "a chroot cannot enforce limits: remove them, or use type: Container";
      throw new RunnerError("LimitUnavailable", message, { phase: "start", retryable: false });
    }
    const problem = chrootProblem();
    if (problem !== undefined) throw unavailable(`no function can run in a chroot here: ${problem}`);
  }

  async run(image: RunnableImage, { input, options, deadline }: ExecutorCall): Promise<Uint8Array> {
    deadline.met();
    return await this.#call(image, input, options);
  }

  async #call(image: RunnableImage, input: Uint8Array, options: RunOptions): Promise<Uint8Array> {
    const host = this.#liveHost();
    host.acquire();
    try {
      const began = performance.now();
      const spec = await this.#specs.of(image, { network: "Accessible" }, SETTINGS);
      const sandbox = await Sandbox.prepare(host, spec, `${process.pid}-${++this.#count}`, undefined);
      sandbox.start({ inputBytes: input.length });
      options.onPhase?.("start", performance.now() - began);
      const running = performance.now();
      const { maxOutputBytes } = this.#options;
      const outcome = await sandbox.use(input, { ...options, maxOutputBytes });
      if (outcome.stderr !== "") options.onStderr?.(outcome.stderr);
      options.onPhase?.("run", performance.now() - running);
      if (outcome.output === undefined) throw outcome.failure;
      return outcome.output;
    } finally {
      host.release();
    }
  }

  /** Runs the built-in test program. @throws RunnerError */
  async check(): Promise<void> {
    this.permit({ network: "Accessible" });
    const host = this.#liveHost();
    await host.ready();
    await selfTest((program, input) =>
      this.#call(writeSelfTestImage(host, program), input, { timeoutMs: DEFAULT_TIMEOUT_MS }),
    );
  }

  /** Ends running calls with `Closed`. */
  async close(): Promise<void> {
    const host = this.#host;
    if (host === undefined) return;
    await host.close();
    // A killed host leaves its folder behind.
    await removeRoot(host.scratch);
  }

  #liveHost(): SandboxHost {
    if (this.#host?.gone === true) {
      removeRoot(this.#host.scratch).catch(() => undefined);
      this.#host = undefined;
    }
    const { dir, onWarning } = this.#options;
    const onLost = (reason: string): void => onWarning(`the chroot host ended: ${reason}`);
    return (this.#host ??= new SandboxHost(dir, onLost, "chroots"));
  }
}

function unavailable(message: string): RunnerError {
  return new RunnerError("ChrootUnavailable", message, { phase: "start", retryable: false });
}
