import type { FunctionRunner } from "@xfn/pipeline";

/** A runner that has to be closed. */
export interface ClosableRunner extends FunctionRunner {
  close(): Promise<void>;
}

/** A runner that is opened only once it is needed: a Composition of templates alone needs no store and no container. */
export class LateRunner implements FunctionRunner {
  readonly #open: () => Promise<ClosableRunner>;
  #opening: Promise<ClosableRunner> | undefined;

  constructor(open: () => Promise<ClosableRunner>) {
    this.#open = open;
  }

  /** Whether it was opened, or is being opened. */
  get isOpen(): boolean {
    return this.#opening !== undefined;
  }

  /** Opens it. What goes wrong is told by {@link ready} only: it may turn out that nobody needs a runner. */
  async prepare(): Promise<void> {
    await this.ready().catch(() => undefined);
  }

  /** Opens it, unless that was done; rejects as that did. */
  async ready(): Promise<ClosableRunner> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async run(...call: Parameters<FunctionRunner["run"]>): Promise<Uint8Array> {
    return (await this.ready()).run(...call);
  }

  /** Closes it if it is open. Never rejects for a runner that could not be opened. */
  async close(): Promise<void> {
    const runner = await this.#opening?.catch(() => undefined);
    await runner?.close();
  }
}
