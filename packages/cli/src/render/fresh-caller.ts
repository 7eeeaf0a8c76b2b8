import type { FunctionCaller, FunctionRun } from "@xfn/function-grpc";
import type { OpenFunction } from "@xfn/pipeline/packages";

/** Makes each call in a server of its own, which ends after the call. */
export class FreshCaller implements FunctionCaller {
  readonly #open: () => Promise<OpenFunction>;
  readonly #used: Set<OpenFunction> = new Set();
  /** The server for the next call. */
  #next: Promise<OpenFunction> | undefined;
  #closed = false;

  constructor(open: () => Promise<OpenFunction>) {
    this.#open = open;
  }

  /** Starts the server of the first call ahead of it. Rejects if it cannot be started. */
  async prepare(): Promise<void> {
    this.#next ??= this.#start();
    await this.#next;
  }

  async run(...call: Parameters<FunctionCaller["run"]>): Promise<FunctionRun> {
    const starting = this.#next ?? this.#start();
    this.#next = undefined;
    const open = await starting;
    try {
      return await open.caller.run(...call);
    } finally {
      this.#end(open);
    }
  }

  /** Ends all servers, and those that still start. */
  close(): void {
    this.#closed = true;
    for (const open of this.#used) this.#end(open);
  }

  async #start(): Promise<OpenFunction> {
    const open = await this.#open();
    this.#used.add(open);
    if (this.#closed) this.#end(open);
    return open;
  }

  #end(open: OpenFunction): void {
    if (this.#used.delete(open)) open.close();
  }
}
