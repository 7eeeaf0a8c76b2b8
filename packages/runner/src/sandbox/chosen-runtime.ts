import { findRuntime, identifyRuntime, type OciRuntime, runtimeWarning } from "./crun.ts";

/** Each release of this package is tested with it, so processes use it without a test. */
const DEFAULT_RUNTIME = "crun";

/** The OCI runtime of a runner. */
export class ChosenRuntime {
  readonly #name: string;
  readonly #onWarning: (message: string) => void;
  #path: string | undefined;
  #runtime: Promise<OciRuntime> | undefined;
  #test: Promise<void> | undefined;

  /** @param name a name on PATH, or an absolute path */
  constructor(name: string = DEFAULT_RUNTIME, onWarning: (message: string) => void) {
    this.#name = name;
    this.#onWarning = onWarning;
  }

  /** @throws RunnerError `RuntimeMissing` */
  path(): string {
    return (this.#path ??= findRuntime(this.#name));
  }

  /** The family and version of the runtime. @throws RunnerError `RuntimeMissing`, `StartFailed` */
  async identified(): Promise<OciRuntime> {
    this.#runtime ??= identifyRuntime(this.path());
    try {
      const runtime = await this.#runtime;
      const warning = runtimeWarning(runtime);
      if (warning !== undefined) this.#onWarning(warning);
      return runtime;
    } catch (error) {
      // The runtime may be replaced before the next call.
      this.#runtime = undefined;
      throw error;
    }
  }

  /** Tests a runtime other than the default once, before its first call. @throws the error of `test` */
  async verified(test: () => Promise<void>): Promise<void> {
    if (this.#name === DEFAULT_RUNTIME && (await this.identified()).family === DEFAULT_RUNTIME) return;
    this.#test ??= test();
    try {
      await this.#test;
    } catch (error) {
      this.#test = undefined;
      throw error;
    }
  }
}
