import { objectAt, textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { conditionOf } from "../objects/conditions.ts";
import { ANNOTATION_CERTIFICATES } from "./manifests.ts";

/** Whether all pods of a Deployment are of its current template, and available. */
export function isRolledOut(deployment: LiveObject): boolean {
  const {
    observedGeneration,
    replicas = 0,
    updatedReplicas = 0,
    availableReplicas = 0,
  } = objectAt(deployment, "status");
  const wanted = Number(objectAt(deployment, "spec")["replicas"] ?? 1);
  const isObserved = Number(observedGeneration ?? 0) >= Number(deployment.metadata["generation"] ?? 0);
  return isObserved && [replicas, updatedReplicas, availableReplicas].every((count) => Number(count) === wanted);
}

/** The hash of the Secrets with which a Deployment's pods start. */
export function certificatesOf(deployment: LiveObject): string | undefined {
  return textAt(deployment, "spec", "template", "metadata", "annotations", ANNOTATION_CERTIFICATES);
}

/** Why no pod of a Deployment serves; undefined if one does. The message says what to do. */
export function deploymentProblem(deployment: LiveObject): string | undefined {
  const { name, namespace = "" } = deployment.metadata;
  const title = `the Deployment ${namespace}/${name}`;
  if (conditionOf(deployment, "Available")?.["status"] === "True") return undefined;
  const refused = conditionOf(deployment, "ReplicaFailure");
  if (refused?.["status"] === "True") {
    const why = textAt(refused, "message") ?? "the API server refuses its pods";
    return (
      `${title} cannot create its pods: ${why}; raise the ResourceQuota or change the LimitRange of the namespace, or ` +
      "change the resources in the DeploymentRuntimeConfig"
    );
  }
  const progress = conditionOf(deployment, "Progressing");
  const look = `look at its pods: kubectl -n ${namespace} describe pods -l pkg.crossplane.io/runtime`;
  if (progress?.["status"] === "False") {
    const why = textAt(progress, "message") ?? "its pods do not get ready";
    return `${title} does not get available: ${why}; ${look}`;
  }
  return `${title} waits for its first pod; if that lasts, ${look}`;
}
