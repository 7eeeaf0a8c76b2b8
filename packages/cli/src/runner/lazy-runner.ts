import type { FunctionRunner } from "@xfn/pipeline";

/** A runner that the caller closes. */
export interface ClosableRunner extends FunctionRunner {
  close(): Promise<void>;
}

/** Opens its runner on demand: a Composition of templates alone needs no store and no container. */
export class LazyRunner implements FunctionRunner {
  readonly #open: () => Promise<ClosableRunner>;
  #opening: Promise<ClosableRunner> | undefined;

  constructor(open: () => Promise<ClosableRunner>) {
    this.#open = open;
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

  /** Closes the runner if it is open. Does not reject if it could not be opened. */
  async close(): Promise<void> {
    const runner = await this.#opening?.catch(() => undefined);
    await runner?.close();
  }
}
