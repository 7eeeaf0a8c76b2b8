import { type Layout, publishesDetails } from "@xfn/composition";
import { isObject, type JsonObject, newObject, textAt } from "@xfn/json";
import { type Client, isApiError, type LiveObject, namingProblem } from "@xfn/kubernetes";
import { ApplyCache } from "./apply-cache.ts";
import { asCompositeError, CompositeError } from "./composite-error.ts";
import type { Context } from "./context.ts";
import { FIELD_MANAGERS } from "./field-managers.ts";
import { referenceOf, SECRETS, typeMeta } from "./kinds.ts";
import { controllerOf, controllerReferenceTo, isControlledBy } from "./owner.ts";
import { findLive } from "./read-objects.ts";

/** The `type` of connection secrets (Crossplane v1.13). */
export const SECRET_TYPE_CONNECTION = "connection.crossplane.io/v1alpha1";

/** Kubernetes, "Secrets": the syntax of a key. */
const SECRET_KEY = /^[-._a-zA-Z0-9]{1,253}$/;

/** The name and the namespace of a Secret. */
export interface SecretReference {
  readonly name: string;
  readonly namespace: string;
}

/** Input of {@link publishConnectionSecret}. */
export interface PublishOptions {
  /** The object whose details these are. It becomes the Secret's controller. */
  readonly owner: LiveObject;
  readonly secret: SecretReference;
  readonly details: Iterable<readonly [name: string, value: string]>;
  /** The Secret, read live; undefined if it does not exist. */
  readonly observed: LiveObject | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The Secret that an XR publishes its connection details in: `spec.writeConnectionSecretToRef`. Only XRs of Crossplane
 * 1 have one.
 */
export function secretReferenceOf(xr: LiveObject, layout: Layout): SecretReference | undefined {
  if (!publishesDetails(layout)) return undefined;
  const name = textAt(xr, "spec", "writeConnectionSecretToRef", "name");
  const namespace = textAt(xr, "spec", "writeConnectionSecretToRef", "namespace");
  return name === undefined || namespace === undefined ? undefined : { name, namespace };
}

/** The warning for an XR or claim that wants its details in an external secret store; undefined if it does not. */
export function unsupportedPublishing({ spec }: LiveObject, layout: Layout): string | undefined {
  if (!publishesDetails(layout) || !isObject(spec) || spec["publishConnectionDetailsTo"] === undefined)
    return undefined;
  return (
    "spec.publishConnectionDetailsTo has no effect: external secret stores are not supported; " +
    "use spec.writeConnectionSecretToRef"
  );
}

/**
 * Writes connection details to a Secret if they differ. Removes keys that were published before and are no longer
 * desired; keys of other writers stay.
 *
 * @returns whether it wrote
 * @throws {CompositeError} `NotControllable` for the Secret of another owner; `InvalidResource` for an invalid name.
 *   A refusal of the server is described without its message, which may quote a value
 * @throws {ApiError} `Conflict` if the Secret has changed since it was read
 */
export async function publishConnectionSecret(client: Client, options: PublishOptions): Promise<boolean> {
  const { owner, secret, observed, signal } = options;
  const problem = namingProblem(referenceOf(SECRETS, secret.name, secret.namespace));
  if (problem !== undefined) {
    throw new CompositeError(
      "InvalidResource",
      `cannot publish connection details: spec.writeConnectionSecretToRef: ${problem}`,
    );
  }
  requireControllable(observed, owner, secret);
  const data = encodeDetails(options.details);
  const intent = {
    ...typeMeta(SECRETS),
    metadata: { ...secret, ownerReferences: [controllerReferenceTo(owner)] },
    type: SECRET_TYPE_CONNECTION,
    ...(Object.keys(data).length > 0 && { data }),
  };
  try {
    // Use the observed resourceVersion as a precondition, so that a concurrent owner of the Secret wins.
    const apply = { fieldManager: FIELD_MANAGERS.connectionSecret, onlyIfUnchanged: true, signal };
    return (await new ApplyCache().apply(client, intent, observed, apply)).written;
  } catch (error) {
    if (isApiError(error, "Conflict")) throw error;
    if (isApiError(error, "NotFound")) {
      throw new CompositeError(
        "InvalidResource",
        `cannot publish connection details in ${describeSecret(secret)}: there is no namespace ${secret.namespace}; create ` +
          "it, or name another in spec.writeConnectionSecretToRef",
      );
    }
    throw asCompositeError(error, `cannot publish connection details in ${describeSecret(secret)}`, true);
  }
}

function encodeDetails(details: PublishOptions["details"]): JsonObject {
  const data = newObject();
  for (const [name, value] of details) {
    if (!SECRET_KEY.test(name)) {
      throw new CompositeError(
        "InvalidResource",
        `the connection detail ${JSON.stringify(name.slice(0, 253))} cannot be published: a name has letters, digits, ` +
          "dashes, dots and underscores, at most 253",
      );
    }
    data[name] = Buffer.from(value, "utf8").toString("base64");
  }
  return data;
}

/**
 * Deletes the connection secret of an owner that is being deleted. The garbage collector cannot do it once a
 * definition has removed the owner's kind, because it no longer finds the owner.
 *
 * @throws {ApiError} `Conflict` if the Secret has changed since it was read
 */
export async function deleteConnectionSecret(
  { client }: Pick<Context, "client">,
  owner: LiveObject,
  secret: SecretReference | undefined,
  signal?: AbortSignal,
): Promise<void> {
  if (secret === undefined) return;
  const reference = referenceOf(SECRETS, secret.name, secret.namespace);
  const observed = await findLive({ client }, reference, signal);
  if (observed === undefined || !isControlledBy(observed, owner)) return;
  const { uid, resourceVersion } = observed.metadata;
  try {
    await client.delete(reference, { preconditions: { uid, resourceVersion }, signal });
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
  }
}

/** Adopts a Secret without a controller only if it has the type of connection secrets, as Crossplane does. */
function requireControllable(observed: LiveObject | undefined, owner: LiveObject, secret: SecretReference): void {
  if (observed === undefined || isControlledBy(observed, owner)) return;
  const controller = controllerOf(observed);
  if (controller === undefined && observed["type"] === SECRET_TYPE_CONNECTION) return;
  const reason =
    controller === undefined
      ? `is of type ${textAt(observed, "type") ?? "Opaque"}`
      : `belongs to ${controller.kind} ${controller.name}`;
  throw new CompositeError(
    "NotControllable",
    `cannot publish connection details in ${describeSecret(secret)}: it ${reason}; ` +
      "name another in spec.writeConnectionSecretToRef",
  );
}

function describeSecret({ namespace, name }: SecretReference): string {
  return `the Secret ${namespace}/${name}`;
}
