import type { FunctionRunner } from "@xfn/pipeline";
import type { FunctionHost } from "@xfn/runner-contract";
import type { RunnerClient } from "@xfn/runner-grpc";
import { CliError } from "../errors/cli-error.ts";

/** A runner in another process, which starts and ends the servers of packages by itself. */
export type PackageRunner = Pick<RunnerClient, "callFunction">;

/** A runner that the caller closes. */
export interface ClosableRunner extends FunctionRunner, Partial<FunctionHost>, Partial<PackageRunner> {
  close(): Promise<void>;
}

/** Opens its runner on demand: a Composition of templates alone needs no store and no container. */
export class LazyRunner implements FunctionRunner {
  readonly maxOutputBytes: number | undefined;
  readonly #open: () => Promise<ClosableRunner>;
  #opening: Promise<ClosableRunner> | undefined;

  /** @param maxOutputBytes that of the runner which `open` opens */
  constructor(open: () => Promise<ClosableRunner>, maxOutputBytes?: number) {
    this.#open = open;
    this.maxOutputBytes = maxOutputBytes;
  }

  /** Whether the runner is open or opening. */
  get isOpen(): boolean {
    return this.#opening !== undefined;
  }

  /** Opens the runner. Only {@link ready} reports an error, since the run may turn out to need no runner. */
  async prepare(): Promise<void> {
    await this.ready().catch(() => undefined);
  }

  /** Opens the runner once; rejects if that failed. */
  async ready(): Promise<ClosableRunner> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async run(...call: Parameters<FunctionRunner["run"]>): Promise<Uint8Array> {
    return (await this.ready()).run(...call);
  }

  /** The runner as a host of function packages, in this process or another one. */
  async host(): Promise<FunctionHost | PackageRunner> {
    const runner = await this.ready();
    const { serve, callFunction } = runner;
    if (callFunction !== undefined) return { callFunction: (...call) => callFunction.apply(runner, call) };
    if (serve === undefined) throw new CliError("Failed", "this runner serves no function packages");
    return { serve: (...call) => serve.apply(runner, call) };
  }

  /** Closes the runner if it is open. Does not reject if it could not be opened. */
  async close(): Promise<void> {
    const runner = await this.#opening?.catch(() => undefined);
    await runner?.close();
  }
}
