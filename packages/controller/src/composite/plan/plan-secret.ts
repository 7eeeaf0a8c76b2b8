import { type JsonObject, newObject, textAt } from "@xfn/json";
import { type ApiError, isApiError, type LiveObject, namingProblem } from "@xfn/kubernetes";
import type { ApplyCache } from "../../objects/apply-cache.ts";
import { asCompositeError, CompositeError } from "../../objects/composite-error.ts";
import { SECRET_TYPE_CONNECTION, type SecretReference } from "../../objects/connection-secrets.ts";
import { FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { referenceOf, SECRETS, typeMeta } from "../../objects/kinds.ts";
import {
  controllerOf,
  controllerReferenceTo,
  isControllableBy,
  isControlledBy,
  isOfPredecessor,
} from "../../objects/owner.ts";
import type { Plan } from "../../plan/plan.ts";
import type { ActorName } from "../state/composite-actors.ts";
import { dropPredecessor } from "./plan-adoption.ts";

/** Kubernetes, "Secrets": the syntax of a key. */
const SECRET_KEY = /^[-._a-zA-Z0-9]{1,253}$/;

export interface SecretInput {
  /** The XR that publishes these details. It becomes the Secret's controller. */
  readonly xr: LiveObject;
  readonly secret: SecretReference;
  readonly details: Iterable<readonly [name: string, value: string]>;
  /** The Secret, read live; undefined if it does not exist. */
  readonly observed: LiveObject | undefined;
  readonly applies: ApplyCache;
}

/**
 * Plans to write connection details to a Secret if they differ. Removes keys that were published before and are no
 * longer desired. Keys of other writers stay.
 *
 * @throws {CompositeError} `NotControllable` for the Secret of another owner; `InvalidResource` for an invalid name
 */
export function planSecret({ xr, secret, details, observed, applies }: SecretInput): Plan<ActorName> {
  const on = referenceOf(SECRETS, secret.name, secret.namespace);
  const problem = namingProblem(on);
  if (problem !== undefined) {
    throw new CompositeError(
      "InvalidResource",
      `cannot publish connection details: spec.writeConnectionSecretToRef: ${problem}`,
    );
  }
  requireControllable(observed, xr, secret);
  const data = encodeDetails(details);
  const intent = {
    ...typeMeta(SECRETS),
    metadata: { ...secret, ownerReferences: [controllerReferenceTo(xr)] },
    type: SECRET_TYPE_CONNECTION,
    ...(Object.keys(data).length > 0 && { data }),
  };
  const manager = FIELD_MANAGERS.connectionSecret;
  if (observed !== undefined && applies.isApplied(intent, observed, { fieldManager: manager })) return { stages: [] };
  const why = "the connection details differ";
  // Use the observed resourceVersion as a precondition, so that a concurrent owner of the Secret wins.
  const action = { do: "apply", as: "xr", on, manager, why, intent, seen: observed, guard: "version" } as const;
  const isFormer = observed !== undefined && isOfPredecessor(observed, xr);
  const before = isFormer ? [dropPredecessor(xr, observed, "xr", manager)] : [];
  return { stages: [{ name: "secret", actions: [...before, action], onFailure: "stop" }] };
}

/** Describes a refusal by the server without its message, which may quote a value. Returns a conflict unchanged. */
export function secretFailure(error: ApiError, secret: SecretReference): ApiError | CompositeError {
  if (isApiError(error, "Conflict")) return error;
  const title = `cannot publish connection details in ${describeSecret(secret)}`;
  if (!isApiError(error, "NotFound")) return asCompositeError(error, title, true);
  return new CompositeError(
    "InvalidResource",
    `${title}: there is no namespace ${secret.namespace}; create it, or name another in spec.writeConnectionSecretToRef`,
  );
}

function encodeDetails(details: SecretInput["details"]): JsonObject {
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

/** Adopts a Secret without a living controller only if it has the type of connection secrets, as Crossplane does. */
function requireControllable(observed: LiveObject | undefined, owner: LiveObject, secret: SecretReference): void {
  if (observed === undefined || isControlledBy(observed, owner)) return;
  const isFree = isControllableBy(observed, owner);
  const controller = controllerOf(observed);
  if (isFree && observed["type"] === SECRET_TYPE_CONNECTION) return;
  const reason =
    controller === undefined || isFree
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
