import type { Rule } from "./rule.ts";
import { functionDetailTypes } from "./rules/connection-details.ts";
import { keptSchema, referenceNamespaces } from "./rules/definitions.ts";
import { largestMemory, limitsAboveZero, noCpuShares, sandbox } from "./rules/image-spec.ts";
import { matchTrueFalse } from "./rules/readiness.ts";
import { convertJson, defaultTypes, stringJoin } from "./rules/transforms.ts";
import { laterFeatures } from "./rules/validation.ts";

/** Every difference from the reference that is on purpose; docs/conformance.md has the same list. */
export const rules: readonly Rule[] = [
  functionDetailTypes,
  matchTrueFalse,
  defaultTypes,
  convertJson,
  stringJoin,
  keptSchema,
  referenceNamespaces,
  laterFeatures,
  sandbox,
  noCpuShares,
  limitsAboveZero,
  largestMemory,
];
