import { once } from "node:events";
import { connect } from "node:net";
import { FunctionConnection } from "@xfn/function-grpc";
import { RegistryClient } from "@xfn/oci-rootfs/registry";
import { createWebhookCaller } from "@xfn/pipeline/webhook";
import { createRunnerClient } from "@xfn/runner-grpc";
import { TEST_CERTIFICATE } from "../../../packages/oci-rootfs/testing/certificate.ts";
import { HTTP1_KINDS } from "./http1-kinds.ts";
import { HTTP2_KINDS } from "./http2-kinds.ts";
import type { Kind } from "./kinds.ts";
import { PLAIN_KINDS } from "./plain-kinds.ts";
import type { Ports } from "./servers.ts";

/** A call of a hostile server. Rejects with a typed error, or resolves if the server also answered. */
export interface Attack {
  readonly name: string;
  readonly kind: Kind;
  run(timeoutMs: number): Promise<unknown>;
}

const GRPC_METHOD = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";
/** A runner gets messages of this size by plain calls, if it has them. */
const PLAIN_MESSAGE = Buffer.alloc(100_000);
const SMALL_MESSAGE = Buffer.from("{}");

/** The hostile servers, each with every client that could be its victim. */
export function attacksOf({ http2, http1, https, plain }: Ports): Attack[] {
  const each = (client: string, kinds: Kinds, ports: Readonly<Record<string, number>>, call: Call): Attack[] =>
    Object.entries(kinds).map(([name, kind]) => ({
      name: `${client}: ${name}`,
      kind,
      run: (timeoutMs) => call(ports[name] ?? 0, timeoutMs),
    }));
  return [
    ...each("function", HTTP2_KINDS, http2, (port, timeoutMs) => callFunction(port, timeoutMs, true)),
    ...each("runner", HTTP2_KINDS, http2, (port, timeoutMs) => callRunner(port, timeoutMs, SMALL_MESSAGE)),
    ...each("runner, plain", PLAIN_KINDS, plain, (port, timeoutMs) => callRunner(port, timeoutMs, PLAIN_MESSAGE)),
    ...each("webhook", HTTP1_KINDS, https, callWebhook),
    ...each("registry", HTTP1_KINDS, http1, callRegistry),
  ];
}

type Kinds = Readonly<Record<string, Kind>>;
type Call = (port: number, timeoutMs: number) => Promise<unknown>;

/** Calls a function package, and waits for the end of the connection if the server has more to send than an answer. */
export async function callFunction(port: number, timeoutMs: number, isHostile = false): Promise<unknown> {
  const socket = connect(port, "127.0.0.1");
  const connection = new FunctionConnection(socket);
  const call = connection.call(GRPC_METHOD, SMALL_MESSAGE, { timeoutMs, maxResponseBytes: 16 * 1024 * 1024 });
  try {
    return await call;
  } catch (error) {
    const answered = (error as { code?: unknown }).code === "Status";
    if (isHostile && answered && !socket.destroyed) await once(socket, "close");
    throw error;
  } finally {
    connection.close();
  }
}

async function callRunner(port: number, timeoutMs: number, message: Buffer): Promise<unknown> {
  const client = createRunnerClient({ endpoint: `127.0.0.1:${port}`, marginMs: 0 });
  try {
    return await client.callFunction("example.org/fn:v1", GRPC_METHOD, message, { timeoutMs });
  } finally {
    client.close();
  }
}

export async function callWebhook(port: number, timeoutMs: number): Promise<unknown> {
  const caller = createWebhookCaller();
  try {
    return await caller.call(`https://127.0.0.1:${port}/`, SMALL_MESSAGE, {
      step: "a",
      timeoutMs,
      caBundle: TEST_CERTIFICATE,
    });
  } finally {
    caller.close();
  }
}

async function callRegistry(port: number, timeoutMs: number): Promise<unknown> {
  const registry = `127.0.0.1:${port}`;
  const options = { insecureRegistries: [registry], stallTimeoutMs: timeoutMs, retry: { attempts: 1 } };
  const client = new RegistryClient({ registry, repository: "acme/fn" }, options);
  try {
    return await client.tags({ signal: AbortSignal.timeout(timeoutMs) });
  } finally {
    await client.close();
  }
}
