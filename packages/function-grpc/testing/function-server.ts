import { type handleUnaryCall, Server, ServerCredentials, type sendUnaryData } from "@grpc/grpc-js";
import type { JsonObject } from "@xfn/json";
import { decodeStruct } from "../src/struct/decode-struct.ts";
import { encodeStruct } from "../src/struct/encode-struct.ts";
import { RunFunctionRequest } from "../src/wire/request.ts";
import { type ResourceSelector as Selector } from "../src/wire/requirements.ts";
import { RunFunctionResponse } from "../src/wire/response.ts";
import { type Resource } from "../src/wire/state.ts";

const PATH = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";

/** The answer of a test function. Omitted fields are empty, except desired state, which is passed on. */
export interface TestResponse {
  readonly resources?: Readonly<Record<string, { readonly resource: JsonObject; readonly ready?: boolean }>>;
  readonly composite?: { readonly resource?: JsonObject; readonly ready?: boolean };
  /** Drops the desired state of earlier steps. */
  readonly dropsDesired?: boolean;
  readonly results?: readonly Partial<RunFunctionResponse["results"][number]>[];
  readonly conditions?: readonly Partial<RunFunctionResponse["conditions"][number]>[];
  readonly context?: JsonObject;
  readonly requires?: Readonly<Record<string, Selector>>;
  readonly requiresSchemas?: Readonly<Record<string, { readonly apiVersion: string; readonly kind: string }>>;
  readonly ttlMs?: number;
  /** The output for the status of an Operation. */
  readonly output?: JsonObject;
}

/** A request in the form that test functions read. */
export interface TestRequest {
  readonly wire: RunFunctionRequest;
  /** The observed XR. */
  readonly xr: JsonObject;
  readonly context: JsonObject;
  readonly input: JsonObject;
  /** The required resources with a name; undefined before the controller has read them. */
  required(name: string): JsonObject[] | undefined;
}

/** A function served by gRPC's own server. */
export interface FunctionServer {
  /** `127.0.0.1:PORT` */
  readonly address: string;
  readonly calls: number;
  stop(): void;
}

/** Serves a function whose answers the test chooses. @param port 0 for any free port */
export async function serveTestFunction(
  answer: (request: TestRequest) => TestResponse | Promise<TestResponse>,
  { port = 0, tls }: { port?: number; tls?: { ca: Buffer; cert: Buffer; key: Buffer } } = {},
): Promise<FunctionServer> {
  const server = new Server({ "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 });
  let calls = 0;
  const respond = async (request: RunFunctionRequest, callback: sendUnaryData<RunFunctionResponse>): Promise<void> => {
    try {
      callback(null, responseOf(request, await answer(requestOf(request))));
    } catch (error) {
      callback(error as Error);
    }
  };
  const RunFunction: handleUnaryCall<RunFunctionRequest, RunFunctionResponse> = ({ request }, callback) => {
    calls++;
    void respond(request, callback);
  };
  const method = {
    path: PATH,
    requestStream: false as const,
    responseStream: false as const,
    requestDeserialize: (bytes: Buffer) => RunFunctionRequest.decode(bytes),
    responseSerialize: (response: RunFunctionResponse) => Buffer.from(RunFunctionResponse.encode(response)),
    requestSerialize: (request: RunFunctionRequest) => Buffer.from(RunFunctionRequest.encode(request)),
    responseDeserialize: (bytes: Buffer) => RunFunctionResponse.decode(bytes),
  };
  server.addService({ RunFunction: method }, { RunFunction });
  const credentials =
    tls === undefined
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(tls.ca, [{ private_key: tls.key, cert_chain: tls.cert }], true);
  const bound = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`127.0.0.1:${port}`, credentials, (error, at) => (error === null ? resolve(at) : reject(error))),
  );
  return {
    address: `127.0.0.1:${bound}`,
    get calls() {
      return calls;
    },
    stop: () => server.forceShutdown(),
  };
}

function requestOf(wire: RunFunctionRequest): TestRequest {
  const struct = (bytes: Uint8Array | undefined): JsonObject => (bytes === undefined ? {} : decodeStruct(bytes));
  return {
    wire,
    xr: struct(wire.observed?.composite?.resource),
    context: struct(wire.context),
    input: struct(wire.input),
    required: (name) => wire.requiredResources.get(name)?.items.map(({ resource }) => struct(resource)),
  };
}

const encoded = new WeakMap<JsonObject, Uint8Array>();

/** Encodes a frozen object once: some tests answer several calls with one object of many megabytes. */
function struct(object: JsonObject): Uint8Array {
  const known = encoded.get(object);
  if (known !== undefined) return known;
  const { bytes } = encodeStruct(object);
  if (Object.isFrozen(object)) encoded.set(object, bytes);
  return bytes;
}

function responseOf(request: RunFunctionRequest, answer: TestResponse): RunFunctionResponse {
  const { resources = {}, composite, results = [], conditions = [], context, requires = {}, ttlMs, output } = answer;
  const ready = (is: boolean | undefined): 0 | 1 | 2 => (is === undefined ? 0 : is ? 1 : 2);
  const own = Object.entries(resources).map(([name, one]): [string, Resource] => [
    name,
    { resource: struct(one.resource), connectionDetails: new Map(), ready: ready(one.ready) },
  ]);
  const earlier = answer.dropsDesired === true ? [] : [...(request.desired?.resources ?? [])];
  const xr =
    composite === undefined
      ? request.desired?.composite
      : {
          resource: struct(composite.resource ?? {}),
          connectionDetails: new Map<string, Uint8Array>(),
          ready: ready(composite.ready),
        };
  return {
    meta: {
      tag: request.meta?.tag ?? "",
      ...(ttlMs !== undefined && {
        ttl: { seconds: BigInt(Math.floor(ttlMs / 1000)), nanos: Math.round((ttlMs % 1000) * 1e6) },
      }),
    },
    desired: { resources: new Map([...earlier, ...own]), ...(xr && answer.dropsDesired !== true && { composite: xr }) },
    results: results.map((one) => ({ severity: 3, message: "", ...one })),
    conditions: conditions.map((one) => ({ type: "", status: 2, reason: "", ...one })),
    context: context === undefined ? request.context : struct(context),
    output: output && struct(output),
    requirements: {
      extraResources: new Map(),
      resources: new Map(Object.entries(requires)),
      schemas: new Map(Object.entries(answer.requiresSchemas ?? {})),
    },
  };
}

/** The required schema with a name; empty if there is none. */
export function schemaOf({ requiredSchemas }: RunFunctionRequest, name: string): JsonObject {
  const bytes = requiredSchemas.get(name)?.openapiV3;
  return bytes === undefined ? {} : decodeStruct(bytes);
}
