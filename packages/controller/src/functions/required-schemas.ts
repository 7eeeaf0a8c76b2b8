import { isObject, type JsonObject } from "@xfn/json";
import { type Client, isApiError } from "@xfn/kubernetes";
import { findSchema } from "@xfn/pipeline";
import { hasElapsed } from "../objects/elapsed.ts";

/** A schema changes only with its CRD or with a new version of the API server. */
const FRESH_MS = 60_000;

/** A schema of a built-in kind can have up to a megabyte. */
const MAX_SCHEMAS = 64;

/** The OpenAPI schemas that functions required recently. */
export class RequiredSchemas {
  readonly #now: () => number;
  readonly #schemas: Map<string, { readonly schema: JsonObject | undefined; readonly at: number }> = new Map();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The schema of a kind; undefined if it has none. @throws {ApiError} */
  async find(
    client: Client,
    selector: { readonly apiVersion: string; readonly kind: string },
    signal: AbortSignal,
  ): Promise<JsonObject | undefined> {
    const key = `${selector.apiVersion}/${selector.kind}`;
    const known = this.#schemas.get(key);
    if (known !== undefined && !hasElapsed(known.at, this.#now(), FRESH_MS)) return known.schema;
    const schema = await readSchema(client, selector, signal);
    this.#schemas.delete(key);
    for (const oldest of this.#schemas.keys()) if (this.#schemas.size >= MAX_SCHEMAS) this.#schemas.delete(oldest);
    this.#schemas.set(key, { schema, at: this.#now() });
    return schema;
  }
}

async function readSchema(
  client: Client,
  selector: { readonly apiVersion: string; readonly kind: string },
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  const { apiVersion } = selector;
  if (!/^[a-z0-9][-.a-z0-9]*(\/[a-z0-9]+)?$/.test(apiVersion)) return undefined;
  try {
    const path = apiVersion.includes("/") ? `apis/${apiVersion}` : `api/${apiVersion}`;
    const document = await client.raw("GET", `/openapi/v3/${path}`, { signal });
    const components = isObject(document) ? document["components"] : undefined;
    const schemas = isObject(components) ? components["schemas"] : undefined;
    return isObject(schemas) ? findSchema(schemas, selector, () => ({ type: "object" })) : undefined;
  } catch (error) {
    if (isApiError(error, "NotFound", "KindNotServed")) return undefined;
    throw error;
  }
}
