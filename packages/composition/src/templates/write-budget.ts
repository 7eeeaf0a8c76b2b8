import { Float64, type GoValue } from "../values/go-value.ts";
import { TemplateError } from "./template-error.ts";

/**
 * What all patches of one run may write, in values. A thousand resources of ten patches each, of ten values, come to a
 * tenth of it. Each patch may copy a whole object: without a bound on all of them together a small Composition could
 * keep a core busy for hours, or fill any memory.
 */
const MAX_WRITTEN_VALUES = 1_000_000;

/** A text counts as a value for each this many of its characters: 64 MB of text for a run. */
const CHARACTERS_PER_VALUE = 64;

/** Adds up what the patches of one run write. */
export class WriteBudget {
  #left = MAX_WRITTEN_VALUES;

  /**
   * Notes a value that was written; its depth is bounded already.
   *
   * @throws {TemplateError} `TooLarge`
   */
  spend(value: GoValue, source: string): void {
    this.#left -= sizeOf(value);
    if (this.#left < 0) {
      throw new TemplateError("TooLarge", source, `the patches of a run may write ${MAX_WRITTEN_VALUES} values in all`);
    }
  }
}

function sizeOf(value: GoValue): number {
  if (typeof value === "string") return 1 + Math.floor(value.length / CHARACTERS_PER_VALUE);
  if (typeof value !== "object" || value === null || value instanceof Float64) return 1;
  let size = 1;
  if (Array.isArray(value)) for (const item of value) size += sizeOf(item);
  else for (const key of Object.keys(value)) size += sizeOf(value[key] ?? null);
  return size;
}
