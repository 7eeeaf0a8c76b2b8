import { createHash } from "node:crypto";
import { canonicalJson, type KubernetesObject } from "@xfn/json";
import { MAX_LABEL_LENGTH } from "../objects/labels.ts";

/** The maximum length of a name (Kubernetes, "Object Names and IDs": DNS subdomain names). */
const MAX_NAME_LENGTH = 253;

/**
 * The hash of a revision's content, as 64 hexadecimal digits: the Composition's spec and labels. The order of keys does
 * not matter. Labels are part of the content because revisions carry them, and XRs select revisions by them.
 */
export function contentHash(composition: KubernetesObject): string {
  const hash = createHash("sha256");
  hash.update(canonicalJson(composition.metadata?.labels ?? {}));
  hash.update("\0");
  hash.update(canonicalJson(composition["spec"] ?? null));
  return hash.digest("hex");
}

/** The hash as a label value, which lacks the last digit: label values have at most 63 characters. */
export function hashLabel(hash: string): string {
  return hash.slice(0, MAX_LABEL_LENGTH);
}

/** The name of a revision. It depends on the content only, so that a retry after a crash finds the revision. */
export function revisionName(composition: string, hash: string, digits: number): string {
  return `${composition.slice(0, MAX_NAME_LENGTH - digits - 1)}-${hash.slice(0, digits)}`;
}
