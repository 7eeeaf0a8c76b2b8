import { createHash } from "node:crypto";
import { formatPath, type JsonObject } from "@xfn/json";
import { encodeStruct } from "../struct/encode-struct.ts";
import { Capability, Ready } from "../wire/enums.ts";
import { RunFunctionRequest } from "../wire/request.ts";
import { type Resource, type Schema, type State as WireState } from "../wire/state.ts";
import type { FunctionRequest, ResourceState, State } from "./function-message.ts";

/** The bytes of a request, and the fields that were rounded. */
export interface EncodedRequest {
  readonly bytes: Uint8Array;
  /** The SHA-256 of the request, in hexadecimal. */
  readonly tag: string;
  /** Fields with integers beyond 2^53, which a Struct rounds: `observed.resources[db].spec.serial`. */
  readonly rounded: readonly string[];
}

const CAPABILITIES: readonly Capability[] = [
  Capability.CAPABILITY_CAPABILITIES,
  Capability.CAPABILITY_REQUIRED_RESOURCES,
  Capability.CAPABILITY_CREDENTIALS,
  Capability.CAPABILITY_CONDITIONS,
  Capability.CAPABILITY_REQUIRED_SCHEMAS,
];

/**
 * Encodes a request. Its tag is the SHA-256 of everything else, so that equal requests have equal tags.
 *
 * @throws {StructError} for a value that JSON cannot represent, or that is nested too deep
 */
export function encodeRequest(request: FunctionRequest): EncodedRequest {
  const encoder = new RequestEncoder();
  const body = RunFunctionRequest.encode(encoder.request(request));
  const tag = createHash("sha256").update(body).digest("hex");
  const meta = RunFunctionRequest.encode(emptyRequest({ meta: { tag, capabilities: [...CAPABILITIES] } }));
  // Concatenated messages are merged: https://protobuf.dev/programming-guides/encoding/#last-one-wins
  return { bytes: Buffer.concat([meta, body]), tag, rounded: encoder.rounded };
}

class RequestEncoder {
  readonly rounded: string[] = [];

  request(request: FunctionRequest): RunFunctionRequest {
    return emptyRequest({
      observed: this.#state(request.observed, "observed"),
      desired: this.#state(request.desired, "desired"),
      input: this.#optional(request.input, "input"),
      context: this.#optional(request.context, "context"),
      credentials: mapValues(request.credentials, (data) => ({ credentialData: { data: new Map(data) } })),
      extraResources: this.#found(request.extraResources, "extraResources"),
      requiredResources: this.#found(request.requiredResources, "requiredResources"),
      requiredSchemas: mapValues(
        request.requiredSchemas,
        (schema, name): Schema => ({
          openapiV3: this.#optional(schema, `requiredSchemas[${name}]`),
        }),
      ),
    });
  }

  #found(found: FunctionRequest["requiredResources"], path: string): RunFunctionRequest["requiredResources"] {
    return mapValues(found, (items, name) => ({
      items: items.map((item, index) => this.#resource(item, `${path}[${name}][${index}]`)),
    }));
  }

  #state(state: State, path: string): WireState {
    return {
      ...(state.composite && { composite: this.#resource(state.composite, `${path}.composite`) }),
      resources: mapValues(state.resources, (resource, name) => this.#resource(resource, `${path}.resources[${name}]`)),
    };
  }

  #resource({ resource, connectionDetails, ready }: ResourceState, path: string): Resource {
    return {
      resource: this.#struct(resource, path),
      connectionDetails: new Map(connectionDetails),
      ready: ready === undefined ? Ready.READY_UNSPECIFIED : ready ? Ready.READY_TRUE : Ready.READY_FALSE,
    };
  }

  #optional(object: JsonObject | undefined, path: string): Uint8Array | undefined {
    return object === undefined ? undefined : this.#struct(object, path);
  }

  #struct(object: JsonObject, path: string): Uint8Array {
    const { bytes, rounded } = encodeStruct(object);
    for (const inside of rounded) this.rounded.push(`${path}.${formatPath(inside)}`);
    return bytes;
  }
}

function emptyRequest(fields: Partial<RunFunctionRequest>): RunFunctionRequest {
  return {
    extraResources: new Map(),
    credentials: new Map(),
    requiredResources: new Map(),
    requiredSchemas: new Map(),
    ...fields,
  };
}

function mapValues<From, To>(
  map: ReadonlyMap<string, From> | undefined,
  convert: (value: From, key: string) => To,
): Map<string, To> {
  return new Map([...(map ?? [])].map(([key, value]) => [key, convert(value, key)]));
}
