import type { Rule } from "./rule.ts";
import { functionDetailTypes } from "./rules/connection-details.ts";
import { conditionGenerations, keptSchema, referenceNamespaces } from "./rules/definitions.ts";
import { largestMemory, limitsAboveZero, noCpuShares, sandbox } from "./rules/image-spec.ts";
import { namesAreStrings } from "./rules/patches.ts";
import { matchTrueFalse } from "./rules/readiness.ts";
import {
  booleanChecks,
  compositeOptional,
  detailsFirst,
  entryNames,
  failedTemplates,
  firstFatal,
  firstOfTwo,
  functionsAllTheSame,
  namedEntries,
  namesFirst,
  ourController,
  renamedInPlace,
  repairs,
  statusPersisted,
  undesiredKept,
  unknownSeverity,
} from "./rules/reconcile.ts";
import { convertJson, defaultTypes, stringJoin } from "./rules/transforms.ts";
import { laterFeatures } from "./rules/validation.ts";

/** All intended differences from the reference. docs/conformance.md has the same list. */
export const rules: readonly Rule[] = [
  functionDetailTypes,
  matchTrueFalse,
  namesAreStrings,
  defaultTypes,
  convertJson,
  stringJoin,
  keptSchema,
  referenceNamespaces,
  conditionGenerations,
  laterFeatures,
  entryNames,
  detailsFirst,
  firstFatal,
  unknownSeverity,
  compositeOptional,
  ourController,
  booleanChecks,
  undesiredKept,
  renamedInPlace,
  namesFirst,
  statusPersisted,
  repairs,
  namedEntries,
  functionsAllTheSame,
  firstOfTwo,
  failedTemplates,
  sandbox,
  noCpuShares,
  limitsAboveZero,
  largestMemory,
];
