import { createHash } from "node:crypto";
import type { KubernetesObject } from "@xfn/functionio";
import { canonicalJson } from "../objects/canonical-json.ts";

/** The longest value of a label (Kubernetes, "Labels and Selectors"). */
const MAX_LABEL_LENGTH = 63;
/** The longest name of a revision: that of a DNS subdomain. */
const MAX_NAME_LENGTH = 253;

/**
 * What a revision stands for, as 64 hexadecimal digits: the Composition's spec and its labels. Labels belong to it because a
 * revision carries them, and XRs choose revisions by them. The order of keys does not matter; annotations do not either.
 */
export function contentHash(composition: KubernetesObject): string {
  const hash = createHash("sha256");
  hash.update(canonicalJson(composition.metadata?.labels ?? {}));
  hash.update("\0");
  hash.update(canonicalJson(composition["spec"] ?? null));
  return hash.digest("hex");
}

/** The hash as the value of a label: without its last digit, which has no room. */
export function hashLabel(hash: string): string {
  return hash.slice(0, MAX_LABEL_LENGTH);
}

/** The value of the label by which a Composition's revisions are found: its name, or what is left of one that is too long. */
export function compositionLabel(composition: string): string {
  if (composition.length <= MAX_LABEL_LENGTH) return composition;
  const hash = createHash("sha256").update(composition).digest("hex").slice(0, 12);
  return `${composition.slice(0, MAX_LABEL_LENGTH - hash.length - 1).replace(/[.-]{1,50}$/, "")}-${hash}`;
}

/** The name of a revision: the same for the same content, so that a retry after a crash finds what an earlier try created. */
export function revisionName(composition: string, hash: string, digits: number): string {
  return `${composition.slice(0, MAX_NAME_LENGTH - digits - 1)}-${hash.slice(0, digits)}`;
}
