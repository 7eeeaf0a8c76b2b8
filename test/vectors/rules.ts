import type { Rule } from "./rule.ts";
import { functionDetailTypes } from "./rules/connection-details.ts";
import {
  conditionGenerations,
  keptSchema,
  reclaimPolicy,
  reconcileRequests,
  referenceNamespaces,
} from "./rules/definitions.ts";
import { largestMemory, limitsAboveZero, noCpuShares, sandbox } from "./rules/image-spec.ts";
import { mergedObserved } from "./rules/merged-patches.ts";
import { oneAccountFile } from "./rules/one-account-file.ts";
import { namesAreStrings, textsKept } from "./rules/patches.ts";
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
import { claimLabels } from "./rules/reconcile/claims.ts";
import {
  detailsFirst as detailsBeforeReadiness,
  failedKept,
  failedTemplates,
  firstOfTwo,
  functionsAllTheSame,
  namedEntries,
  objectKept,
  othersApplied,
  repairs,
} from "./rules/reconcile/entries.ts";
import {
  detailsComplete,
  namesFirst,
  renamedInPlace,
  statusPersisted,
  uncontrolledKept,
  undesiredKept,
} from "./rules/reconcile/kept.ts";
import { convertJson, defaultTypes, defaultTypesOfPatches, stringJoin } from "./rules/transforms.ts";
import { laterFeatures } from "./rules/validation.ts";

/** All intended differences from the reference. docs/concepts/differences-from-crossplane.md has the same list. */
export const rules: readonly Rule[] = [
  functionDetailTypes,
  matchTrueFalse,
  defaultTypesOfPatches,
  namesAreStrings,
  textsKept,
  mergedObserved,
  defaultTypes,
  convertJson,
  stringJoin,
  keptSchema,
  referenceNamespaces,
  reclaimPolicy,
  reconcileRequests,
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
  objectKept,
  uncontrolledKept,
  detailsComplete,
  failedKept,
  othersApplied,
  detailsBeforeReadiness,
  claimLabels,
  oneAccountFile,
  sandbox,
  noCpuShares,
  limitsAboveZero,
  largestMemory,
];
