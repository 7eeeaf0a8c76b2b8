import type { Layout } from "@xfn/composition";
import type { LiveObject } from "@xfn/kubernetes";
import { secretReferenceOf } from "../../objects/connection-secrets.ts";
import { referenceOf, SECRETS } from "../../objects/kinds.ts";
import type { ReconcileReader } from "../state/reconcile-reader.ts";

/** Reads the XR's connection secret; undefined if it has none. @throws {ApiError} if it cannot be read */
export async function readConnectionSecret(
  reader: ReconcileReader,
  xr: LiveObject,
  layout: Layout,
): Promise<LiveObject | undefined> {
  const secret = secretReferenceOf(xr, layout);
  return secret && (await reader.readOnce(referenceOf(SECRETS, secret.name, secret.namespace)));
}
