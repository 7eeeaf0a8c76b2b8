import { isObject, type JsonValue } from "@xfn/json";
import { named, type ObjectOpenApi, type ObjectSchema, object } from "../api-schema/object.ts";
import { choice, name, type Rule, required, unread } from "../api-schema/schema.ts";
import type { FieldReader } from "../reader/field-reader.ts";
import type { TypeReference } from "./composition.ts";
import { checkDetailNames } from "./detail-names.ts";
import { ENVIRONMENT } from "./environment.ts";
import { FUNCTIONS } from "./functions.ts";
import { PIPELINE } from "./pipeline.ts";
import { ROLLOUT } from "./rollout.ts";
import { SERVICE_ACCOUNT } from "./service-account.ts";
import { PATCH_SETS, TEMPLATES } from "./templates.ts";
import type { WrittenSpec } from "./written.ts";

const TYPE_REFERENCE = object<TypeReference>(
  {
    apiVersion: required(name(317), "the API version of the composite resource"),
    kind: required(name(63), "the kind of the composite resource"),
  },
  { rules: [["self == oldSelf", "cannot be changed: create another Composition"]] },
);

const RULES: readonly Rule[] = [
  [
    "has(self.compositeTypeRef) != has(self.from)",
    "compositeTypeRef is missing, or said twice: from (the older spelling) says the same",
  ],
  ["!has(self.resources) || !has(self.to)", "to says the same as resources: give only one of them"],
  [
    "!has(self.functions) || size(self.functions) == 0 || !has(self.resources) || self.resources.all(one, has(one.name))",
    "resources: with functions every template needs a name, by which they know it",
  ],
  [
    "!has(self.functions) || size(self.functions) == 0 || !has(self.to) || self.to.all(one, has(one.name))",
    "to: with functions every template needs a name, by which they know it",
  ],
  [
    "!has(self.mode) || self.mode != 'Pipeline' || (has(self.pipeline) && size(self.pipeline) > 0)",
    "pipeline is missing: the steps that mode: Pipeline runs",
  ],
  [
    "(has(self.mode) && self.mode == 'Pipeline') || (has(self.resources) && size(self.resources) > 0) || " +
      "(has(self.to) && size(self.to) > 0) || (has(self.functions) && size(self.functions) > 0) || has(self.environment)",
    "composes nothing: give resources, functions, or a pipeline with mode: Pipeline",
  ],
];

/**
 * The spec of a Composition. This table and the tables that it refers to are the only description of the API. They
 * check files, and yield the schema of the CRDs of Compositions and of their revisions.
 */
export const SPEC: ObjectSchema<WrittenSpec> = object<WrittenSpec>(
  {
    compositeTypeRef: TYPE_REFERENCE,
    from: TYPE_REFERENCE,
    mode: choice("Resources", "Pipeline"),
    resources: TEMPLATES,
    to: TEMPLATES,
    patchSets: PATCH_SETS,
    environment: ENVIRONMENT,
    functions: FUNCTIONS,
    pipeline: PIPELINE,
    undesiredResources: choice("Keep", "Delete"),
    writeConnectionSecretsToNamespace: name(63),
    publishConnectionDetailsWithStoreConfigRef: unread(named("a StoreConfig")),
    rollout: ROLLOUT,
    serviceAccountRef: SERVICE_ACCOUNT,
  },
  { rules: RULES, check: checkSpec },
);

function checkSpec(spec: FieldReader): void {
  const twice = (field: string, same: string): boolean =>
    spec.value(field) !== undefined && spec.value(same) !== undefined;
  if (twice("from", "compositeTypeRef")) {
    spec.error("Invalid", "from", "says the same as compositeTypeRef; give only one of them");
  } else if (spec.value("from") === undefined) {
    spec.required(
      "compositeTypeRef",
      spec.value("compositeTypeRef"),
      "the apiVersion and kind of the composite resource",
    );
  }
  if (twice("to", "resources")) spec.error("Invalid", "to", "says the same as resources; give only one of them");
  checkMode(spec);
  for (const field of ["resources", "to"] as const) checkDetailNames(spec, field);
  checkPatches(spec);
  const composes = ["functions", "resources", "to", "environment"].some((field) => spec.value(field) !== undefined);
  if (!composes && spec.value("mode") !== "Pipeline") {
    spec.warning(
      "Ignored",
      "functions",
      "is missing, as are resources; this Composition composes nothing, and an API server refuses it",
    );
  }
}

function checkMode(spec: FieldReader): void {
  const steps = spec.value("pipeline");
  if (spec.value("mode") !== "Pipeline") {
    if (isFilled(steps)) spec.warning("Ignored", "pipeline", "has no effect without mode: Pipeline");
    return;
  }
  spec.required("pipeline", steps, "the steps that mode: Pipeline runs");
  if (Array.isArray(steps) && steps.length === 0) {
    spec.error("Required", "pipeline", "is empty; give at least one step");
  }
  for (const field of ["resources", "to", "patchSets", "functions"]) {
    if (isFilled(spec.value(field))) spec.warning("Ignored", field, "has no effect with mode: Pipeline");
  }
}

function isFilled(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.length > 0;
}

/** Warns of patches that refer to an environment or a patch set that the spec does not have. */
function checkPatches(spec: FieldReader): void {
  const hasEnvironment = spec.value("environment") !== undefined;
  const sets = new Set(itemsOf(spec.value("patchSets")).map((set) => isObject(set) && set["name"]));
  for (const field of ["resources", "to", "patchSets"]) {
    for (const [index, owner] of itemsOf(spec.value(field)).entries()) {
      const patches = isObject(owner) ? itemsOf(owner["patches"]) : [];
      for (const [patchIndex, patch] of patches.entries()) {
        const type = isObject(patch) ? patch["type"] : undefined;
        if (typeof type !== "string" || !isObject(patch)) continue;
        const warn = (code: "Ignored" | "Invalid", name: string, message: string): void => {
          spec.findings.warning(code, [...spec.at(field), index, "patches", patchIndex, name], message);
        };
        if (!hasEnvironment && type.includes("Environment")) {
          warn("Ignored", "type", "has no effect: the Composition has no spec.environment");
        } else if (type === "PatchSet" && field !== "patchSets" && isUnknown(patch["patchSetName"], sets)) {
          warn("Invalid", "patchSetName", "there is no patch set of this name; every run fails");
        }
      }
    }
  }
}

function isUnknown(name: JsonValue | undefined, sets: ReadonlySet<JsonValue | undefined>): boolean {
  return typeof name === "string" && !sets.has(name);
}

function itemsOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** The schema of the spec for the CRDs of Compositions and of their revisions. */
export const COMPOSITION_SPEC_OPEN_API: ObjectOpenApi = SPEC.openApi;
