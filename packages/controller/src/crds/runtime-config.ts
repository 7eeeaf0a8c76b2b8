import type { JsonObject } from "@xfn/json";
import { TEXT } from "./crd.ts";

/** A reference to a DeploymentRuntimeConfig, without a default. */
export const RUNTIME_CONFIG_REFERENCE: JsonObject = {
  type: "object",
  required: ["name"],
  properties: {
    apiVersion: { type: "string", default: "pkg.crossplane.io/v1beta1" },
    kind: { type: "string", default: "DeploymentRuntimeConfig" },
    name: TEXT,
  },
};

/** The runtime of a package: by default, the DeploymentRuntimeConfig `default`. */
export const RUNTIME_CONFIG: JsonObject = { ...RUNTIME_CONFIG_REFERENCE, default: { name: "default" } };
