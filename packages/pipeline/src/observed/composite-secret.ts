import type { ExplicitConnectionDetail } from "@xfn/functionio";
import { isObject, type JsonValue } from "@xfn/json";
import { connectionSecretOf, isSecret, namespacedName, secretDetails } from "./connection-secrets.ts";
import type { CompositeResource } from "./observed-entries.ts";
import { isEntry } from "./own-output.ts";

/** The observed objects of a render, without the XR's own connection Secret. */
export interface Observed {
  readonly objects: readonly JsonValue[];
  /** The details in the XR's Secret, as the controller gives them to functions. Undefined without the Secret. */
  readonly connectionDetails: readonly ExplicitConnectionDetail[] | undefined;
}

/**
 * Takes the Secret that the XR's `spec.writeConnectionSecretToRef` names out of the observed objects. A Secret with the
 * name of an entry is a composed resource, and stays.
 */
export function takeCompositeSecret(objects: readonly JsonValue[], composite: CompositeResource): Observed {
  const reference = connectionSecretOf(composite);
  const secret = objects
    .filter(isObject)
    .find((object) => isSecret(object) && !isEntry(object) && namespacedName(object) === reference);
  if (secret === undefined) return { objects, connectionDetails: undefined };
  return { objects: objects.filter((object) => object !== secret), connectionDetails: secretDetails(secret) };
}
