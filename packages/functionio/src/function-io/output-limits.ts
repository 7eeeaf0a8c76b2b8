import type { FunctionIOLimits } from "./entries.ts";

/** Kubernetes objects have some 20 bytes for each field. A hostile value takes 250 bytes of memory at most. */
const BYTES_PER_VALUE = 16;

/** 4 MiB of YAML, and 200,000 values. More takes hundreds of megabytes, and a second. */
const MAX_YAML_LENGTH = 4 * 1024 * 1024;
const MAX_YAML_VALUES = 200_000;

/**
 * An XR refers to each of its resources, and an API server accepts objects of up to 1.5 MiB. The pipeline handles so
 * many entries in tens of milliseconds.
 */
const MAX_ENTRIES = 10_000;

/**
 * API servers refuse requests of more than 3 MiB, so larger objects cannot be applied. Preparing to apply a million
 * values takes seconds.
 */
const MAX_OBJECT_VALUES = Math.floor((3 * 1024 * 1024) / BYTES_PER_VALUE);

/** The limits of {@link outputLimits}. */
export interface OutputLimits extends FunctionIOLimits {
  readonly maxBytes: number;
  readonly maxValues: number;
  readonly maxEntries: number;
  readonly maxObjectValues: number;
}

/**
 * The limits for the output of a function. Its author is not trusted, so the values are bounded as well as the bytes:
 * reading any 16 MiB never takes more than 300 MB. Responses of function packages have the same limits.
 */
export function outputLimits(maxBytes: number): OutputLimits {
  return {
    maxBytes,
    maxValues: Math.ceil(maxBytes / BYTES_PER_VALUE),
    maxYamlLength: Math.min(MAX_YAML_LENGTH, maxBytes),
    maxYamlValues: MAX_YAML_VALUES,
    maxEntries: MAX_ENTRIES,
    maxObjectValues: MAX_OBJECT_VALUES,
  };
}
