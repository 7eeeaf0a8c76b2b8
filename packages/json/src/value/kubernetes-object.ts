import type { JsonObject } from "./json-value.ts";

// Intersections, because an interface with optional fields that extends JsonObject compiles only with
// exactOptionalPropertyTypes, which a function's own settings need not have.

/** The fields of Kubernetes' object metadata that this project reads. Other fields survive. */
export type ObjectMeta = JsonObject & {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  labels?: { [key: string]: string };
  annotations?: { [key: string]: string };
};

/** A Kubernetes object of any kind. */
export type KubernetesObject = JsonObject & {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
};
