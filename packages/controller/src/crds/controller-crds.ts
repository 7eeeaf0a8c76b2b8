import { COMPOSITION_API_VERSIONS, COMPOSITION_SPEC_OPEN_API } from "@xfn/composition";
import { DEFINITION_API_VERSIONS, definitionSpecOpenApi } from "@xfn/composition/definition";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import {
  COMPOSITIONS,
  DEFINITIONS,
  ENVIRONMENT_CONFIGS,
  FUNCTION_RUNTIMES,
  PACKAGE_KINDS,
  PROVIDER_RUNTIMES,
  REVISIONS,
  RUNTIME_CONFIGS,
} from "../objects/kinds.ts";
import { AGE, conditionColumn, crd, KIND_REFERENCE, root, TEXT, version } from "./crd.ts";
import { resourceCompositionCrds } from "./resource-composition-crds.ts";

/** The kinds that the controller serves in addition to those of Compositions. */
export interface ServedKinds {
  /** Packages, their revisions and their settings (`--enable-packages`). */
  readonly packages?: boolean | undefined;
  /** The runtimes of functions and providers, and their DeploymentRuntimeConfigs (`--enable-function-runtimes`). */
  readonly functionRuntimes?: boolean | undefined;
  /** InfrastructureDefinition, ApplicationDefinition, InfrastructurePublication (`--enable-resource-composition`). */
  readonly resourceComposition?: boolean | undefined;
  /** The controller's version, for a label that `xfn version` reads. */
  readonly version?: string | undefined;
}

/**
 * The CustomResourceDefinitions of the controller's own kinds. The API server checks objects by their schemas and CEL
 * rules, the controllers check the rest. Options add CRDs but change none: if a CRD lost a field, its objects would
 * lose it too.
 */
export function controllerCrds(served: ServedKinds = {}): KubernetesObject[] {
  const { version } = served;
  return crdsOf(served).map((crd) => (version === undefined ? crd : labelled(crd, VERSION_LABEL, version)));
}

const VERSION_LABEL = "app.kubernetes.io/version";

function labelled(object: KubernetesObject, label: string, value: string): KubernetesObject {
  const { metadata } = object;
  return { ...object, metadata: { ...metadata, labels: { ...metadata?.labels, [label]: value } } };
}

function crdsOf(served: ServedKinds): KubernetesObject[] {
  const { packages = false, functionRuntimes = false, resourceComposition = false } = served;
  return [
    crd(
      DEFINITIONS,
      { shortNames: ["xrd", "xrds"] },
      DEFINITION_API_VERSIONS.map((apiVersion) =>
        version(versionOf(apiVersion), definitionSchema(apiVersion), DEFINITION_COLUMNS),
      ),
    ),
    crd(
      COMPOSITIONS,
      { shortNames: ["comp"] },
      COMPOSITION_API_VERSIONS.map((apiVersion) =>
        version(versionOf(apiVersion), COMPOSITION_SCHEMA, [...TYPE_COLUMNS, SYNCED, RUNTIMES, AGE]),
      ),
    ),
    crd(REVISIONS, { shortNames: ["comprev"] }, [
      version("v1", revisionSchema(), [
        { name: "REVISION", type: "string", jsonPath: ".spec.revision" },
        ...TYPE_COLUMNS,
        RUNTIMES,
        { name: "ROLLOUT", type: "string", jsonPath: ".status.rollout.phase", priority: 1 },
        AGE,
      ]),
    ]),
    crd(ENVIRONMENT_CONFIGS, { shortNames: ["envcfg"] }, [
      // As in Crossplane, it has no status. v1alpha1 is the version of Crossplane before 1.18.
      { ...version("v1beta1", ENVIRONMENT_CONFIG_SCHEMA, [AGE], true), subresources: {} },
      { ...version("v1alpha1", ENVIRONMENT_CONFIG_SCHEMA, [AGE]), subresources: {} },
    ]),
    ...(packages ? PACKAGE_KINDS.map((kind) => kind.crd()) : []),
    ...(functionRuntimes ? [FUNCTION_RUNTIMES.crd(), PROVIDER_RUNTIMES.crd()] : []),
    ...(functionRuntimes && !packages ? [RUNTIME_CONFIGS.crd()] : []),
    ...(resourceComposition ? resourceCompositionCrds() : []),
  ];
}

const SYNCED = conditionColumn("SYNCED", "Synced");
/** Whether the runtimes of functionRef.package are healthy; empty if there are none. */
const RUNTIMES = conditionColumn("RUNTIMES", "RuntimesHealthy");
const DEFINITION_COLUMNS = [conditionColumn("ESTABLISHED", "Established"), conditionColumn("OFFERED", "Offered"), AGE];
const TYPE_COLUMNS: readonly JsonObject[] = [
  { name: "XR-KIND", type: "string", jsonPath: ".spec.compositeTypeRef.kind" },
  { name: "XR-APIVERSION", type: "string", jsonPath: ".spec.compositeTypeRef.apiVersion" },
];

function versionOf(apiVersion: string): string {
  return apiVersion.slice(apiVersion.indexOf("/") + 1);
}

/**
 * The versions differ in the default scope. The server sets the default when an object is written. When it reads an
 * object that was stored without a scope, it uses the default of the stored version.
 */
function definitionSchema(apiVersion: string): JsonObject {
  return {
    ...root(definitionSpecOpenApi(apiVersion), {
      controllers: {
        type: "object",
        properties: { compositeResourceType: KIND_REFERENCE, compositeResourceClaimType: KIND_REFERENCE },
      },
    }),
    "x-kubernetes-validations": [
      {
        rule: "self.metadata.name == self.spec.names.plural + '.' + self.spec.group",
        message: "metadata.name must be <names.plural>.<group>",
      },
    ],
  };
}

const ENVIRONMENT_CONFIG_SCHEMA: JsonObject = {
  type: "object",
  properties: {
    apiVersion: TEXT,
    kind: TEXT,
    metadata: { type: "object" },
    data: { type: "object", additionalProperties: { "x-kubernetes-preserve-unknown-fields": true } },
  },
};

const COMPOSITION_SCHEMA = root(COMPOSITION_SPEC_OPEN_API);

const COMPOSITION_FIELDS = COMPOSITION_SPEC_OPEN_API.properties;

/** Everything in a revision except its number is immutable. */
function revisionSchema(): JsonObject {
  const spec = {
    type: "object",
    required: ["revision"],
    properties: { ...COMPOSITION_FIELDS, revision: { type: "integer", format: "int64", minimum: 1 } },
    "x-kubernetes-validations": Object.keys(COMPOSITION_FIELDS).map((field) => ({
      rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
      message: `${field}: a revision cannot be changed; change its Composition, which makes another one`,
    })),
  };
  return root(spec, { functions: PINNED_PACKAGES, unusedSince: TIME, rollout: ROLLOUT_STATUS });
}

const COUNT: JsonObject = { type: "integer", minimum: 0 };
const TIME: JsonObject = { type: "string", format: "date-time" };
const DIFFERENCE: JsonObject = {
  type: "object",
  required: ["resource", "path"],
  properties: { resource: TEXT, path: TEXT, applied: TEXT, desired: TEXT },
};
const SHADOW: JsonObject = {
  type: "object",
  required: ["name"],
  properties: {
    name: TEXT,
    namespace: TEXT,
    error: TEXT,
    differences: { type: "array", items: DIFFERENCE },
    omitted: COUNT,
  },
};

/** The rollout of a revision: its progress and its results. */
const ROLLOUT_STATUS: JsonObject = {
  type: "object",
  required: ["revision", "phase"],
  properties: {
    revision: { ...COUNT, format: "int64" },
    phase: { type: "string", enum: ["Shadow", "Canary", "Complete", "RolledBack", "Superseded"] },
    message: TEXT,
    from: TEXT,
    startedAt: TIME,
    canarySince: TIME,
    canaryBuckets: COUNT,
    canaryUntil: TIME,
    canary: {
      type: "object",
      properties: { composites: { type: "array", items: TEXT }, omitted: { ...COUNT, format: "int64" } },
    },
    shadow: { type: "array", items: SHADOW },
  },
};

/** The packages of a revision's steps, with their digests at the time of its creation. */
const PINNED_PACKAGES: JsonObject = {
  type: "array",
  items: {
    type: "object",
    required: ["package", "resolvedPackage", "runtime"],
    properties: { package: TEXT, resolvedPackage: TEXT, runtime: TEXT },
  },
};
