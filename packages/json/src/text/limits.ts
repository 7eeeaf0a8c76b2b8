/** Bounds of the parsers. Raise one at your own risk. */
export interface ParseLimits {
  /** Size of the text in bytes, of a string in UTF-16 code units. Default {@link MAX_TEXT_BYTES}. */
  maxBytes?: number;
  /** Nesting of objects and arrays. Default {@link MAX_DEPTH}. */
  maxDepth?: number;
  /**
   * Number of fields and list items, which bounds the memory. Integers beyond 2^53 and keys with escapes count ten
   * times. Default: as many as the size allows.
   */
  maxValues?: number;
  /** Number of JSON objects that follow each other in one text. Default {@link MAX_STREAMED_OBJECTS}. */
  maxStreamedObjects?: number;
  /** Size of YAML in UTF-16 code units. Default {@link MAX_YAML_LENGTH}. */
  maxYamlLength?: number;
  /**
   * Number of fields and list items of YAML, which needs several times the memory of JSON. Default: `maxValues`, but at
   * most {@link MAX_YAML_VALUES}.
   */
  maxYamlValues?: number;
  /** Number of YAML aliases (`*name`). Default {@link MAX_ALIASES}. */
  maxAliases?: number;
  /** Number of values that aliases and merge keys can add by expansion. Default {@link MAX_ALIAS_VALUES}. */
  maxAliasValues?: number;
}

/** 100 MiB: the largest message of the runner contract, and the bound of a function's output. */
export const MAX_TEXT_BYTES: number = 100 * 1024 * 1024;

/** 16 MiB of YAML: its events take up to 60 times as much memory. JSON is not read as YAML and has no such limit. */
const MAX_YAML_LENGTH: number = 16 * 1024 * 1024;

/** 2 million: 16 MiB of Kubernetes objects have fewer than one. 8 million, as in `a,a,a`, would take 1.5 GB. */
const MAX_YAML_VALUES: number = 2_000_000;

/**
 * 500 levels. Kubernetes objects have fewer than 60. Python's json and many recursive decoders fail at 1000, so deeper
 * data could not reach the next function. The bound also keeps our own recursion far from the end of the stack.
 */
export const MAX_DEPTH: number = 500;

/** 100,000 objects: a loop of `kubectl get` prints thousands. 100 MiB of `{}` would be 50 million, and take 30 GB. */
const MAX_STREAMED_OBJECTS: number = 100_000;

/** 1,000 aliases: hand-written files use tens. An alias bomb needs only a few; the next bound stops it. */
export const MAX_ALIASES: number = 1000;

/** 100,000 values from expansion: about 3 MB of JSON, far more than hand-written files repeat. */
export const MAX_ALIAS_VALUES: number = 100_000;

/** 100 issues: more are of no use to a reader, and a hostile document must not grow the error without bound. */
export const MAX_ISSUES: number = 100;

/** Limits with every default filled in. */
export type ResolvedLimits = Required<ParseLimits>;

/** Fills in the defaults. */
export function resolveLimits(limits: ParseLimits | undefined): ResolvedLimits {
  return {
    maxBytes: limits?.maxBytes ?? MAX_TEXT_BYTES,
    maxDepth: limits?.maxDepth ?? MAX_DEPTH,
    maxValues: limits?.maxValues ?? Infinity,
    maxStreamedObjects: limits?.maxStreamedObjects ?? MAX_STREAMED_OBJECTS,
    maxYamlLength: limits?.maxYamlLength ?? MAX_YAML_LENGTH,
    maxYamlValues: limits?.maxYamlValues ?? Math.min(limits?.maxValues ?? Infinity, MAX_YAML_VALUES),
    maxAliases: limits?.maxAliases ?? MAX_ALIASES,
    maxAliasValues: limits?.maxAliasValues ?? MAX_ALIAS_VALUES,
  };
}
