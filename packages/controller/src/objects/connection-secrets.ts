import { isObject, type JsonObject } from "@xfn/functionio";
import { type Client, isApiError, type LiveObject, namingProblem } from "@xfn/kubernetes";
import { AppliedMemory } from "./apply-changed.ts";
import { CompositeError, refused } from "./composite-error.ts";
import type { Context } from "./context.ts";
import { SECRET_TYPE_CONNECTION } from "./labels.ts";
import { controllerOf } from "./owner.ts";
import { findLive, textAt } from "./read-objects.ts";

/** The field manager of connection secrets. */
const SECRET_MANAGER = "apiextensions.crossplane.io/connection";

/** Kubernetes, "Secrets": what a key may be. */
const SECRET_KEY = /^[-._a-zA-Z0-9]{1,253}$/;

/** A Secret by its place. */
export interface SecretPlace {
  readonly name: string;
  readonly namespace: string;
}

/** What {@link publishConnectionSecret} is given. */
export interface PublishOptions {
  /** Whose details these are: it becomes the Secret's controller. */
  readonly owner: LiveObject;
  readonly place: SecretPlace;
  /** Names and values, as text. */
  readonly details: Iterable<readonly [name: string, value: string]>;
  /** The Secret as it is, read live; undefined if there is none. */
  readonly observed: LiveObject | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The Secret that an XR publishes its connection details in: `spec.writeConnectionSecretToRef`. */
export function secretPlaceOf(xr: LiveObject): SecretPlace | undefined {
  const name = textAt(xr, "spec", "writeConnectionSecretToRef", "name");
  const namespace = textAt(xr, "spec", "writeConnectionSecretToRef", "namespace");
  return name === undefined || namespace === undefined ? undefined : { name, namespace };
}

/** What to tell the author of an XR or claim that wants its details in an external secret store; undefined if it does not. */
export function unsupportedPublishing({ spec }: LiveObject): string | undefined {
  if (!isObject(spec) || spec["publishConnectionDetailsTo"] === undefined) return undefined;
  return "spec.publishConnectionDetailsTo has no effect: there are no external secret stores; use spec.writeConnectionSecretToRef";
}

/**
 * Writes connection details to a Secret, unless it says the same already. Keys that were published before and no longer are, go;
 * those of others stay.
 *
 * @returns whether something was written
 * @throws {CompositeError} `NotControllable` for a Secret of somebody else; `InvalidResource` for a name that no Secret can
 *   have; what the server refuses, without its words, which may quote a value
 * @throws {ApiError} `Conflict` if the Secret has changed since it was read
 */
export async function publishConnectionSecret(client: Client, options: PublishOptions): Promise<boolean> {
  const { owner, place, observed, signal } = options;
  const problem = namingProblem({ apiVersion: "v1", kind: "Secret", ...place });
  if (problem !== undefined) {
    throw new CompositeError(
      "InvalidResource",
      `cannot publish connection details: spec.writeConnectionSecretToRef: ${problem}`,
    );
  }
  requireControllable(observed, owner, place);
  const data = Object.create(null) as JsonObject;
  for (const [name, value] of options.details) {
    if (!SECRET_KEY.test(name)) {
      throw new CompositeError(
        "InvalidResource",
        `the connection detail ${JSON.stringify(name.slice(0, 253))} cannot be published: a name has letters, digits, ` +
          "dashes, dots and underscores, at most 253",
      );
    }
    data[name] = Buffer.from(value, "utf8").toString("base64");
  }
  const intent = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { ...place, ownerReferences: [ownerReference(owner)] },
    type: SECRET_TYPE_CONNECTION,
    ...(Object.keys(data).length > 0 && { data }),
  };
  try {
    // With the version that was judged: whoever takes the Secret meanwhile keeps it.
    const how = { fieldManager: SECRET_MANAGER, onlyIfUnchanged: true, signal };
    return (await new AppliedMemory().apply(client, intent, observed, how)).written;
  } catch (error) {
    // Somebody else wrote it meanwhile: the next look judges what is there now.
    if (isApiError(error, "Conflict")) throw error;
    throw refused(error, `cannot publish connection details in ${title(place)}`, true);
  }
}

/**
 * Deletes the connection secret of an owner that is going. The garbage collector would, but not once the owner's kind is gone: it
 * cannot look the owner up any more, and with a definition its kinds go.
 *
 * @throws {ApiError} `Conflict` if the Secret has changed since it was judged
 */
export async function deleteConnectionSecret(
  context: Context,
  owner: LiveObject,
  place: SecretPlace | undefined,
  signal?: AbortSignal,
): Promise<void> {
  if (place === undefined) return;
  const reference = { apiVersion: "v1", kind: "Secret", ...place };
  const secret = await findLive(context, reference, signal);
  if (secret === undefined || !isControlledBy(secret, owner)) return;
  const { uid, resourceVersion } = secret.metadata;
  try {
    await context.client.delete(reference, { preconditions: { uid, resourceVersion }, signal });
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
  }
}

/** Whether an object has this owner as its controller. */
export function isControlledBy(object: LiveObject, owner: LiveObject): boolean {
  return controllerOf(object)?.uid === owner.metadata.uid;
}

/** A Secret that nobody controls is taken over only if it is one of connection details, as Crossplane does. */
function requireControllable(observed: LiveObject | undefined, owner: LiveObject, place: SecretPlace): void {
  if (observed === undefined || isControlledBy(observed, owner)) return;
  const controller = controllerOf(observed);
  if (controller === undefined && observed["type"] === SECRET_TYPE_CONNECTION) return;
  const whose =
    controller === undefined
      ? `is of type ${textAt(observed, "type") ?? "Opaque"}`
      : `belongs to ${controller.kind} ${controller.name}`;
  throw new CompositeError(
    "NotControllable",
    `cannot publish connection details in ${title(place)}: it ${whose}; name another in spec.writeConnectionSecretToRef`,
  );
}

function title({ namespace, name }: SecretPlace): string {
  return `the Secret ${namespace}/${name}`;
}

function ownerReference({ apiVersion, kind, metadata: { name, uid } }: LiveObject): JsonObject {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}
