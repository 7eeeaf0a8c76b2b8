import { Float64, type GoValue } from "../values/go-value.ts";
import { TemplateError } from "./template-error.ts";

/**
 * The most values that all patches of one run write. A thousand resources with ten patches of ten values need a tenth
 * of it. Each patch may copy a whole object, so without a bound a small Composition could exhaust a core or the memory.
 */
const MAX_WRITTEN_VALUES = 1_000_000;

/** This many characters of a text count as one value, which allows 64 MB of text for a run. */
const CHARACTERS_PER_VALUE = 64;

/** Adds up the values that the patches of one run write. */
export class WriteBudget {
  #left = MAX_WRITTEN_VALUES;

  /**
   * Counts a written value, whose depth is bounded already.
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
