import type { RequirementsSource } from "@xfn/function-grpc";
import { type LiveObject, namingProblem, objectBytes, type ResourceKind } from "@xfn/kubernetes";
import type { Access } from "../account/actor.ts";
import { asCompositeError, CompositeError } from "../objects/composite-error.ts";
import type { RequiredWatches, Selection } from "../objects/context.ts";
import { isSecretKind, referenceOf } from "../objects/kinds.ts";
import { selectorText } from "../objects/labels.ts";
import { withoutManagedFields } from "../objects/managed-fields.ts";
import { findLive } from "../objects/read-objects.ts";
import { describeReference, queueKey } from "../objects/references.ts";
import type { RequiredSchemas } from "./required-schemas.ts";

/** The number of objects that the functions of one run can require. Each object is read, encoded and sent. */
const MAX_OBJECTS = 10_000;

/**
 * The bytes of the objects that the functions of one run can require. Concurrent runs read and encode their objects in
 * the memory of the controller, for which deploy/ allows 512 MiB. By default, a gRPC server in Go accepts 4 MiB.
 */
export const MAX_REQUIRED_BYTES: number = 8 * 1024 * 1024;

type Selector = Parameters<RequirementsSource["resources"]>[0];
type Found = Awaited<ReturnType<RequirementsSource["resources"]>>;

/** Input of {@link RequiredObjects}. */
export interface RequiredObjectsInput extends Pick<Access, "client"> {
  /** Absent: objects are read live. */
  readonly required?: RequiredWatches | undefined;
  readonly allowComposedSecrets?: boolean | undefined;
  readonly signal: AbortSignal;
  readonly schemas: RequiredSchemas;
}

/**
 * Finds the objects that the functions of one run require, with the rights of its client: in the caches of the
 * controller's watches, or live. A run sees one state of each selection.
 */
export class RequiredObjects implements RequirementsSource {
  readonly #input: RequiredObjectsInput;
  readonly #found: Map<string, Promise<Found>> = new Map();
  readonly #selections: Selection[] = [];
  readonly #reader: string | undefined;
  #count = 0;
  #bytes = 0;

  /**
   * @param reader names the service account whose rights the client has, for messages; undefined for the controller's
   *   own
   */
  constructor(input: RequiredObjectsInput, reader?: string) {
    this.#input = input;
    this.#reader = reader;
  }

  /** The selections that were read so far and can be watched. */
  get selections(): readonly Selection[] {
    return this.#selections;
  }

  /** @throws {CompositeError} */
  async resources(selector: Selector): Promise<Found> {
    const { apiVersion, kind, namespace, match } = selector;
    const matched = "name" in match ? match.name : [...match.labels].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const key = JSON.stringify([apiVersion, kind, namespace, matched]);
    let found = this.#found.get(key);
    if (found === undefined) this.#found.set(key, (found = this.#find(selector)));
    return await found;
  }

  async schema(selector: { apiVersion: string; kind: string }): ReturnType<RequirementsSource["schema"]> {
    const { client, schemas, signal } = this.#input;
    return await schemas.find(client, selector, signal);
  }

  async #find(selector: Selector): Promise<Found> {
    try {
      const objects = await this.#read(selector);
      this.#count += objects.length;
      if (this.#count > MAX_OBJECTS) throw tooMany(selector);
      for (const object of objects) this.#bytes += objectBytes(object);
      if (this.#bytes > MAX_REQUIRED_BYTES) throw tooLarge(selector);
      return objects.map((object) => ({ resource: withoutManagedFields(object) }));
    } catch (error) {
      const failure = asCompositeError(error, `cannot read the required ${titleOf(selector)}`, false);
      throw failure.code === "Forbidden" ? notGranted(failure, selector, this.#reader) : failure;
    }
  }

  async #read(selector: Selector): Promise<readonly LiveObject[]> {
    const { client, signal, allowComposedSecrets } = this.#input;
    const kind = await client.kind(selector.apiVersion, selector.kind, { signal });
    if (allowComposedSecrets !== true && isSecretKind(kind)) throw secretsRefused();
    const namespace = kind.namespaced ? selector.namespace || undefined : undefined;
    const { match } = selector;
    if ("name" in match) return await this.#readOne(kind, match.name, namespace);
    const labels = [...match.labels];
    // No object can have such labels, and a selector would interpret them differently.
    if (labels.some(([key, value]) => !LABEL_KEY.test(key) || !LABEL_VALUE.test(value))) return [];
    const labelSelector = labels.length === 0 ? undefined : selectorText(Object.fromEntries(labels));
    const selection: Selection = { kind, namespace, labelSelector };
    const objects = this.#watched(selection)?.list() ?? (await this.#list(selector, selection));
    if (objects.length > MAX_OBJECTS) throw tooMany(selector);
    this.#selections.push(selection);
    return objects.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }

  async #list(selector: Selector, { kind, namespace, labelSelector }: Selection): Promise<readonly LiveObject[]> {
    const { client, signal } = this.#input;
    const bounds = { maxItems: MAX_OBJECTS + 1, maxBytes: MAX_REQUIRED_BYTES };
    const { items, bytes = 0 } = await client.list(kind, { namespace, labelSelector, ...bounds, signal });
    if (bytes > MAX_REQUIRED_BYTES) throw tooLarge(selector);
    return items;
  }

  async #readOne(kind: ResourceKind, name: string, namespace: string | undefined): Promise<readonly LiveObject[]> {
    if (kind.namespaced && namespace === undefined) {
      const message = `the function names no namespace, and ${kind.kind} is a namespaced kind`;
      throw new CompositeError("InvalidResource", message);
    }
    const reference = referenceOf(kind, name, namespace);
    if (namingProblem(reference) !== undefined) return [];
    const selection: Selection = { kind, namespace, fieldSelector: `metadata.name=${name}` };
    const isWatchable = !/[,=\\]/.test(name);
    const cache = isWatchable ? this.#watched(selection) : undefined;
    const object = cache === undefined ? await findLive(this.#input, reference, this.#input.signal) : cache.list()[0];
    if (isWatchable) this.#selections.push(selection);
    return object === undefined ? [] : [object];
  }

  #watched(selection: Selection): ReturnType<RequiredWatches["cache"]> {
    return this.#input.required?.cache(selection);
  }
}

// https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/
const LABEL_KEY = /^[A-Za-z0-9][-A-Za-z0-9_./]*$/;
const LABEL_VALUE = /^[-A-Za-z0-9_.]*$/;

function keyOf({ metadata: { name, namespace } }: LiveObject): string {
  return queueKey(name, namespace);
}

function titleOf({ kind, namespace, match, apiVersion }: Selector): string {
  if ("name" in match)
    return describeReference({ apiVersion, kind, name: match.name, namespace: namespace || undefined });
  return `objects of kind ${kind}`;
}

function notGranted(
  { message, cause }: CompositeError,
  { kind }: Selector,
  reader: string | undefined,
): CompositeError {
  const way =
    reader === undefined
      ? `grant the controller get, list and watch of ${kind}, by a ClusterRole with the label ` +
        "rbac.crossplane.io/aggregate-to-crossplane"
      : `grant ${reader} get and list of ${kind}`;
  return new CompositeError("Forbidden", `${message}; ${way}`, { cause });
}

function tooMany(selector: Selector): CompositeError {
  const message =
    `the functions of one run require more than ${MAX_OBJECTS} objects, the last ones of kind ` +
    `${selector.kind}; select fewer, by more labels or a namespace`;
  return new CompositeError("TooManyRequired", message);
}

function tooLarge(selector: Selector): CompositeError {
  const message =
    `the functions of one run require more than ${MAX_REQUIRED_BYTES / 1024 / 1024} MiB of objects, the last ` +
    `ones of kind ${selector.kind}; select fewer, by more labels or a namespace, or make them smaller`;
  return new CompositeError("TooManyRequired", message);
}

function secretsRefused(): CompositeError {
  const message =
    "a function requires Secrets, which its author could read by it; name the Secret in the step's " +
    "credentials, or start the controller with --allow-composed-secrets";
  return new CompositeError("SecretsDisabled", message);
}
