import { compileSchema, type Schema, SchemaError } from "@xfn/composition/schema";
import { isObject, objectsAt, valueAt } from "@xfn/json";
import { isApiError, type LiveObject } from "@xfn/kubernetes";
import type { KindSchemas } from "@xfn/pipeline";
import { asCompositeError } from "../objects/composite-error.ts";
import type { Selection } from "../objects/context.ts";
import { CRDS, referenceOf } from "../objects/kinds.ts";
import { DEFINED_SELECTOR } from "../objects/labels.ts";
import { findLive, type Reader } from "../objects/read-objects.ts";

/** A cache returns the same CRD object until it changes, so each CRD is compiled once. */
const compiled = new WeakMap<LiveObject, Map<string, Schema | undefined>>();

/** Input of {@link StrictSchemas}. */
export interface StrictSchemasInput extends Reader {
  readonly signal: AbortSignal;
}

/**
 * The schemas of the cluster for steps with `schema: Strict`: those of CRDs and of Kubernetes' own kinds. A CRD is read
 * once and then watched by name. So a steady state makes no requests, and a change reconciles the XR.
 */
export class StrictSchemas implements KindSchemas {
  readonly #input: StrictSchemasInput;
  readonly #selections: Map<string, Selection> = new Map();

  constructor(input: StrictSchemasInput) {
    this.#input = input;
  }

  /** The CRDs to watch. */
  get selections(): readonly Selection[] {
    return [...this.#selections.values()];
  }

  /** @throws {CompositeError} */
  async of(apiVersion: string, kind: string): Promise<Schema | undefined> {
    const builtin = await builtinKind(apiVersion, kind);
    if (builtin !== undefined) return builtin;
    const [group, version] = apiVersion.split("/");
    if (group === undefined || version === undefined) return undefined;
    try {
      const { plural } = await this.#input.client.kind(apiVersion, kind, { signal: this.#input.signal });
      const crd = await this.#crd(`${plural}.${group}`);
      return crd === undefined ? undefined : schemaOf(crd, version);
    } catch (error) {
      if (isApiError(error, "KindNotServed")) return undefined;
      throw asCompositeError(error, `cannot read the schema of ${kind} of ${apiVersion} (schema: Strict)`, false);
    }
  }

  async #crd(name: string): Promise<LiveObject | undefined> {
    const { informers, signal } = this.#input;
    const defined = informers.peek(CRDS, DEFINED_SELECTOR)?.get(name);
    if (defined !== undefined) return defined;
    const fieldSelector = `metadata.name=${name}`;
    this.#selections.set(name, { kind: CRDS, fieldSelector });
    const cache = informers.peek(CRDS, { fieldSelector });
    return cache === undefined ? await findLive(this.#input, referenceOf(CRDS, name), signal) : cache.get(name);
  }
}

function schemaOf(crd: LiveObject, version: string): Schema | undefined {
  let schemas = compiled.get(crd);
  if (schemas === undefined) compiled.set(crd, (schemas = new Map<string, Schema | undefined>()));
  if (!schemas.has(version)) schemas.set(version, compile(crd, version));
  return schemas.get(version);
}

function compile(crd: LiveObject, name: string): Schema | undefined {
  const version = objectsAt(crd, "spec", "versions").find((one) => one["name"] === name);
  const schema = valueAt(version, "schema", "openAPIV3Schema");
  if (!isObject(schema)) return undefined;
  try {
    return compileSchema(schema);
  } catch (error) {
    // The schema exceeds the size of any schema in use. The API server checks the object when it is applied.
    if (error instanceof SchemaError) return undefined;
    throw error;
  }
}

const builtin = new Map<string, Schema>();

async function builtinKind(apiVersion: string, kind: string): Promise<Schema | undefined> {
  const key = `${apiVersion}/${kind}`;
  const known = builtin.get(key);
  if (known !== undefined || (apiVersion.includes(".") && !apiVersion.includes(".k8s.io/"))) return known;
  // Loaded on demand, because the module contains the schemas of all kinds.
  const { builtinSchema } = await import("@xfn/kubernetes/builtin-kinds");
  const schema = await builtinSchema(apiVersion, kind);
  if (schema === undefined) return undefined;
  const compiledSchema = compileSchema(schema);
  builtin.set(key, compiledSchema);
  return compiledSchema;
}
