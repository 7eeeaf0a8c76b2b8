import { type JsonObject, listAt, type ObjectMeta, objectAt } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { list } from "../api-schema/list.ts";
import {
  ANY_OBJECT,
  conforms,
  embeddedObject,
  named,
  type ObjectOpenApi,
  type ObjectSchema,
  object,
} from "../api-schema/object.ts";
import { COUNT, choice, defaulted, name, required } from "../api-schema/schema.ts";
import { CompositionError } from "../reader/composition-error.ts";
import { Findings } from "../reader/field-reader.ts";
import { isObject, kindOf } from "../values/json.ts";
import type { PackageStep } from "./composition.ts";
import { packageStepOf } from "./normalize.ts";
import { CREDENTIALS, REQUIREMENTS, uniqueSteps } from "./pipeline.ts";
import type { WrittenPackageStep } from "./written.ts";

/** The `apiVersion` of Operation, CronOperation and WatchOperation. */
export const OPERATION_API_VERSION = "ops.crossplane.io/v1alpha1";

/** An Operation: function packages that run once, in order. */
export interface Operation {
  metadata: ObjectMeta;
  steps: PackageStep[];
  /** The number of failed attempts after which the Operation has failed. */
  retryLimit: number;
}

type WrittenOperationStep = WrittenPackageStep & { functionRef: { name: string } };

interface WrittenOperation {
  mode?: "Pipeline";
  pipeline: WrittenOperationStep[];
  retryLimit?: number | bigint;
}

/** Crossplane's limits: a failed attempt is repeated so often, and an Operation has so many steps. */
const DEFAULT_RETRY_LIMIT = 5;
const MAX_STEPS = 99;

const STEP = object<WrittenOperationStep>({
  step: required(name(253), "a name for this step"),
  functionRef: required(named("a Function"), "the function to call, as functionRef.name"),
  input: embeddedObject("an input"),
  credentials: CREDENTIALS,
  requirements: REQUIREMENTS,
});

/** Like that of Compositions, it checks files, and yields the schema of CRDs. */
const SPEC: ObjectSchema<WrittenOperation> = object<WrittenOperation>({
  mode: defaulted(choice("Pipeline"), "Pipeline"),
  pipeline: required(
    list(STEP, { minItems: 1, maxItems: MAX_STEPS, key: "step", check: uniqueSteps }),
    "the steps of the Operation",
  ),
  retryLimit: COUNT,
});

export const OPERATION_SPEC_OPEN_API: ObjectOpenApi = SPEC.openApi;

const OPERATION = object<{ metadata?: ObjectMeta; spec: WrittenOperation }>(
  { metadata: ANY_OBJECT, spec: required(SPEC, "the steps of the Operation") },
  { onUnknown: () => undefined },
);

/** The name by which functions require the object whose change a WatchOperation reports. */
export const WATCHED_RESOURCE = "ops.crossplane.io/watched-resource";

/** The spec of an Operation whose steps require a watched object. */
export function withWatchedResource(
  spec: JsonObject,
  watched: { readonly apiVersion: string; readonly kind: string; readonly name: string; readonly namespace?: string },
): JsonObject {
  const pipeline = listAt(spec, "pipeline").map((step) => {
    if (!isObject(step)) return step;
    const requirements = objectAt(step, "requirements");
    const others = listAt(requirements, "requiredResources").filter(
      (one) => !isObject(one) || one["requirementName"] !== WATCHED_RESOURCE,
    );
    const required = { requirementName: WATCHED_RESOURCE, ...watched };
    return { ...step, requirements: { ...requirements, requiredResources: [...others, required] } };
  });
  return { ...spec, pipeline };
}

/**
 * Reads an Operation from a YAML or JSON document (see `readDocuments` of @xfn/json/document).
 *
 * @throws {CompositionError} with all errors of the file: field path, line and column
 */
export function parseOperation(document: ParsedDocument): Operation {
  const { value, source } = document;
  const findings = new Findings(document);
  if (!isObject(value)) findings.error("Invalid", [], `expected an Operation, found ${kindOf(value)}`);
  else if (conforms(value, OPERATION, findings) && findings.errors === 0) {
    const { metadata = {}, spec } = value;
    const { pipeline, retryLimit = DEFAULT_RETRY_LIMIT } = spec;
    return { metadata, steps: pipeline.map(packageStepOf), retryLimit: Number(retryLimit) };
  }
  const errors = findings.sorted().filter(({ severity }) => severity === "error");
  throw new CompositionError(errors, source);
}
