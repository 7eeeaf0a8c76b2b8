import type { JsonObject, KubernetesObject } from "@xfn/json";
import { IMAGE_CONFIGS, LOCKS, RUNTIME_CONFIGS } from "../objects/kinds.ts";
import { AGE, CONDITIONS, crd, TEXT, version } from "./crd.ts";
import { RUNTIME_CONFIG_REFERENCE } from "./runtime-config.ts";

// Kinds of Crossplane's package manager that are not packages. They exist only in v1beta1.

/** The CustomResourceDefinitions of the Lock, of ImageConfigs, and of DeploymentRuntimeConfigs. */
export function packageSettingsCrds(): KubernetesObject[] {
  return [
    crd(LOCKS, {}, [version("v1beta1", LOCK_SCHEMA, [AGE], true)]),
    crd(IMAGE_CONFIGS, {}, [version("v1beta1", rootWithoutStatus(IMAGE_CONFIG_SPEC, true), [AGE], true)]),
    runtimeConfigCrd(),
  ];
}

/** The CustomResourceDefinition of DeploymentRuntimeConfigs. */
export function runtimeConfigCrd(): KubernetesObject {
  return crd(RUNTIME_CONFIGS, {}, [version("v1beta1", rootWithoutStatus(RUNTIME_CONFIG_SPEC, false), [AGE], true)]);
}

function rootWithoutStatus(spec: JsonObject, isRequired: boolean): JsonObject {
  return {
    type: "object",
    ...(isRequired && { required: ["spec"] }),
    properties: { apiVersion: TEXT, kind: TEXT, metadata: { type: "object" }, spec },
  };
}

const PACKAGE_TYPE: JsonObject = { type: "string", enum: ["Configuration", "Provider", "Function"] };

const LOCK_SCHEMA: JsonObject = {
  type: "object",
  properties: {
    apiVersion: TEXT,
    kind: TEXT,
    metadata: { type: "object" },
    packages: {
      type: "array",
      items: {
        type: "object",
        required: ["dependencies", "name", "source", "version"],
        properties: {
          apiVersion: TEXT,
          kind: TEXT,
          type: PACKAGE_TYPE,
          name: TEXT,
          source: TEXT,
          version: TEXT,
          dependencies: {
            type: "array",
            items: {
              type: "object",
              required: ["constraints", "package"],
              properties: { apiVersion: TEXT, kind: TEXT, type: PACKAGE_TYPE, package: TEXT, constraints: TEXT },
            },
          },
        },
      },
    },
    status: { type: "object", properties: { conditions: CONDITIONS } },
  },
};

const SIGNER: JsonObject = {
  type: "object",
  properties: { issuer: TEXT, issuerRegExp: TEXT, subject: TEXT, subjectRegExp: TEXT },
};

const COSIGN: JsonObject = {
  type: "object",
  required: ["authorities"],
  properties: {
    authorities: {
      type: "array",
      items: {
        type: "object",
        required: ["name"],
        properties: {
          name: TEXT,
          key: {
            type: "object",
            required: ["hashAlgorithm", "secretRef"],
            properties: {
              hashAlgorithm: { type: "string", default: "sha256" },
              secretRef: { type: "object", required: ["key", "name"], properties: { key: TEXT, name: TEXT } },
            },
          },
          keyless: {
            type: "object",
            required: ["identities"],
            properties: {
              identities: { type: "array", items: SIGNER },
              insecureIgnoreSCT: { type: "boolean" },
            },
          },
          attestations: {
            type: "array",
            items: {
              type: "object",
              required: ["name", "predicateType"],
              properties: { name: TEXT, predicateType: TEXT },
            },
          },
        },
      },
    },
  },
};

const IMAGE_CONFIG_SPEC: JsonObject = {
  type: "object",
  required: ["matchImages"],
  properties: {
    matchImages: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        required: ["prefix"],
        properties: { prefix: TEXT, type: { type: "string", default: "Prefix", enum: ["Prefix"] } },
      },
    },
    registry: {
      type: "object",
      properties: {
        authentication: {
          type: "object",
          required: ["pullSecretRef"],
          properties: {
            pullSecretRef: {
              type: "object",
              properties: { name: { type: "string", default: "" } },
              "x-kubernetes-map-type": "atomic",
            },
          },
        },
      },
    },
    rewriteImage: { type: "object", required: ["prefix"], properties: { prefix: TEXT } },
    runtime: { type: "object", properties: { configRef: RUNTIME_CONFIG_REFERENCE } },
    verification: {
      type: "object",
      required: ["provider"],
      properties: { provider: { type: "string", enum: ["Cosign"] }, cosign: COSIGN },
    },
  },
};

const TEXTS: JsonObject = { type: "object", additionalProperties: TEXT };
const COUNT: JsonObject = { type: "integer", format: "int32" };
const TEMPLATE_METADATA: JsonObject = {
  type: "object",
  properties: { annotations: TEXTS, labels: TEXTS, name: TEXT },
};

/** Fields of built-in kinds, which the API server checks when it receives an object of the kind. */
const ANY_FIELDS: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

const DEPLOYMENT_SPEC: JsonObject = {
  type: "object",
  required: ["selector", "template"],
  properties: {
    minReadySeconds: COUNT,
    paused: { type: "boolean" },
    progressDeadlineSeconds: COUNT,
    replicas: COUNT,
    revisionHistoryLimit: COUNT,
    selector: { ...ANY_FIELDS, "x-kubernetes-map-type": "atomic" },
    strategy: ANY_FIELDS,
    template: {
      type: "object",
      properties: { metadata: ANY_FIELDS, spec: { ...ANY_FIELDS, required: ["containers"], properties: {} } },
    },
  },
};

const RUNTIME_CONFIG_SPEC: JsonObject = {
  type: "object",
  properties: {
    deploymentTemplate: { type: "object", properties: { metadata: TEMPLATE_METADATA, spec: DEPLOYMENT_SPEC } },
    serviceTemplate: { type: "object", properties: { metadata: TEMPLATE_METADATA } },
    serviceAccountTemplate: { type: "object", properties: { metadata: TEMPLATE_METADATA } },
  },
};
