import type { Rule } from "./rule.ts";
import { functionDetailTypes } from "./rules/connection-details.ts";
import { conditionGenerations, keptSchema, reclaimPolicy, referenceNamespaces } from "./rules/definitions.ts";
import { largestMemory, limitsAboveZero, noCpuShares, sandbox } from "./rules/image-spec.ts";
import { namesAreStrings } from "./rules/patches.ts";
import { matchTrueFalse } from "./rules/readiness.ts";
import {
  booleanChecks,
  compositeOptional,
  detailsFirst,
  entryNames,
  firstFatal,
  ourController,
  unknownSeverity,
} from "./rules/reconcile/answers.ts";
import { failedTemplates, firstOfTwo, functionsAllTheSame, namedEntries, repairs } from "./rules/reconcile/entries.ts";
import { namesFirst, renamedInPlace, statusPersisted, undesiredKept } from "./rules/reconcile/kept.ts";
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
  reclaimPolicy,
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
