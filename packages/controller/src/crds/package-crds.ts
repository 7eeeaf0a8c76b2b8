import { PACKAGE_REFERENCE } from "@xfn/composition";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import {
  CONFIGURATION_REVISIONS,
  CONFIGURATIONS,
  FUNCTION_REVISIONS,
  FUNCTIONS,
  PROVIDER_REVISIONS,
  PROVIDERS,
} from "../objects/kinds.ts";
import { AGE, conditionColumn, crd, root, TEXT, version } from "./crd.ts";
import { packageSettingsCrds } from "./package-settings-crds.ts";
import { RUNTIME_CONFIG } from "./runtime-config.ts";

// The kinds of Crossplane's package manager (https://docs.crossplane.io/latest/packages/), with their fields, defaults
// and columns: manifests for Crossplane apply unchanged.

/** The CustomResourceDefinitions of packages, their revisions and their settings. */
export function packageCrds(): KubernetesObject[] {
  return [
    crd(
      FUNCTIONS,
      { categories: ["pkg"] },
      VERSIONS.map((name) => version(name, packageSchema(true), PACKAGE_COLUMNS)),
    ),
    crd(
      FUNCTION_REVISIONS,
      { categories: ["pkgrev"] },
      VERSIONS.map((name) => version(name, revisionSchema(TLS_SECRETS, ENDPOINT), RUNTIME_COLUMNS)),
    ),
    crd(PROVIDERS, { categories: ["pkg"] }, [version("v1", packageSchema(true), PACKAGE_COLUMNS)]),
    crd(PROVIDER_REVISIONS, { categories: ["pkgrev"] }, [version("v1", revisionSchema(TLS_SECRETS), RUNTIME_COLUMNS)]),
    crd(CONFIGURATIONS, { categories: ["pkg"] }, [version("v1", packageSchema(false), PACKAGE_COLUMNS)]),
    crd(CONFIGURATION_REVISIONS, { categories: ["pkgrev"] }, [version("v1", revisionSchema(), REVISION_COLUMNS)]),
    ...packageSettingsCrds(),
  ];
}

/** Function and FunctionRevision CRDs also serve v1beta1. */
const VERSIONS = ["v1", "v1beta1"] as const;

const PACKAGE_COLUMNS: readonly JsonObject[] = [
  conditionColumn("INSTALLED", "Installed"),
  conditionColumn("HEALTHY", "Healthy"),
  { name: "PACKAGE", type: "string", jsonPath: ".spec.package" },
  AGE,
];

const LATER_COLUMNS: readonly JsonObject[] = [
  { name: "IMAGE", type: "string", jsonPath: ".spec.image" },
  { name: "STATE", type: "string", jsonPath: ".spec.desiredState" },
  AGE,
  { name: "REVISION", type: "string", jsonPath: ".spec.revision", priority: 1 },
  { name: "DEP-FOUND", type: "string", jsonPath: ".status.foundDependencies", priority: 1 },
  { name: "DEP-INSTALLED", type: "string", jsonPath: ".status.installedDependencies", priority: 1 },
];

const REVISION_COLUMNS: readonly JsonObject[] = [conditionColumn("HEALTHY", "RevisionHealthy"), ...LATER_COLUMNS];

/** Printer columns of revisions that have a runtime. */
const RUNTIME_COLUMNS: readonly JsonObject[] = [
  conditionColumn("HEALTHY", "RevisionHealthy"),
  conditionColumn("RUNTIME-HEALTHY", "RuntimeHealthy"),
  ...LATER_COLUMNS,
];

const NUMBER: JsonObject = { type: "integer", format: "int64" };
const OFF_BY_DEFAULT: JsonObject = { type: "boolean", default: false };
const TEXTS: JsonObject = { type: "object", additionalProperties: TEXT };

export const PULL_SECRETS: JsonObject = {
  type: "array",
  items: {
    type: "object",
    properties: { name: { type: "string", default: "" } },
    "x-kubernetes-map-type": "atomic",
  },
};
export const PULL_POLICY: JsonObject = {
  type: "string",
  default: "IfNotPresent",
  enum: ["Always", "IfNotPresent", "Never"],
};

/** Fields that packages and their revisions share. */
const SHARED_FIELDS: JsonObject = {
  packagePullSecrets: PULL_SECRETS,
  packagePullPolicy: PULL_POLICY,
  ignoreCrossplaneConstraints: OFF_BY_DEFAULT,
  skipDependencyResolution: OFF_BY_DEFAULT,
  commonLabels: TEXTS,
  commonAnnotations: TEXTS,
};

const IMAGE_CONFIG_REFS: JsonObject = {
  type: "array",
  items: { type: "object", required: ["name", "reason"], properties: { name: TEXT, reason: TEXT } },
};

/** @param rules - in addition to the rules for the form of a reference */
export function packageReference(...rules: readonly JsonObject[]): JsonObject {
  const { "x-kubernetes-validations": form = [], ...text } = PACKAGE_REFERENCE.openApi;
  return { ...text, "x-kubernetes-validations": [...(form as JsonObject[]), ...rules] };
}

const TLS_SECRETS: JsonObject = { tlsServerSecretName: TEXT, tlsClientSecretName: TEXT };
const ENDPOINT: JsonObject = { endpoint: TEXT };

/** @param hasRuntime - whether a program of the package runs */
function packageSchema(hasRuntime: boolean): JsonObject {
  return root(
    {
      type: "object",
      required: ["package"],
      properties: {
        package: packageReference(),
        revisionActivationPolicy: { type: "string", default: "Automatic", enum: ["Automatic", "Manual"] },
        revisionHistoryLimit: { ...NUMBER, default: 1, minimum: 0 },
        ...SHARED_FIELDS,
        ...(hasRuntime && { runtimeConfigRef: RUNTIME_CONFIG }),
      },
    },
    {
      currentRevision: TEXT,
      currentIdentifier: TEXT,
      appliedImageConfigRefs: IMAGE_CONFIG_REFS,
      resolvedPackage: TEXT,
    },
  );
}

/**
 * @param secrets - the names of certificates, for packages with a runtime
 * @param more - further fields of the status
 */
function revisionSchema(secrets?: JsonObject, more: JsonObject = {}): JsonObject {
  return root(
    {
      type: "object",
      required: ["desiredState", "image", "revision"],
      properties: {
        desiredState: { type: "string", enum: ["Active", "Inactive"] },
        image: TEXT,
        revision: NUMBER,
        ...SHARED_FIELDS,
        ...(secrets && { runtimeConfigRef: RUNTIME_CONFIG, ...secrets }),
      },
    },
    {
      objectRefs: {
        type: "array",
        items: {
          type: "object",
          required: ["apiVersion", "kind", "name"],
          properties: { apiVersion: TEXT, kind: TEXT, name: TEXT, uid: TEXT },
        },
      },
      commonMetadataHash: TEXT,
      foundDependencies: NUMBER,
      installedDependencies: NUMBER,
      invalidDependencies: NUMBER,
      appliedImageConfigRefs: IMAGE_CONFIG_REFS,
      resolvedImage: TEXT,
      capabilities: { type: "array", items: TEXT },
      ...secrets,
      ...more,
    },
  );
}
