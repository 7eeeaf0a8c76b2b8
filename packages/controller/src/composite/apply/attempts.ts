import { CompositeError } from "../../objects/composite-error.ts";

/** Collects the failures of independent steps, so that one failure does not keep the others from running. */
export class Attempts {
  readonly failures: CompositeError[] = [];
  readonly failedEntries: Set<string> = new Set();

  /** @returns undefined if the step failed */
  async run<T>(step: () => T | Promise<T>, entry?: string): Promise<T | undefined> {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof CompositeError)) throw error;
      this.failures.push(error);
      if (entry !== undefined) this.failedEntries.add(entry);
      return undefined;
    }
  }
}
