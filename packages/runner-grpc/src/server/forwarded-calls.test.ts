import { expect, test } from "vitest";
import { rawCall } from "../../testing/raw-call.ts";
import { Serving, TOKEN } from "../../testing/serving.ts";
import {
  type CallOutcome,
  createRunnerClient,
  errorOfStatus,
  type ForwardCall,
  type RunnerGrpcError,
} from "../index.ts";

const V1 = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";
const V1BETA1 = "/apiextensions.fn.proto.v1beta1.FunctionRunnerService/RunFunction";

/** Calls a method with bytes that are not a protobuf message. */
async function call(
  address: string,
  path: string,
  headers: Record<string, string | Buffer>,
  deadline?: number,
): Promise<{ answer: string } | { code: number; details: string }> {
  try {
    return { answer: String(await rawCall(address, path, Buffer.from("raw \xff"), headers, deadline)) };
  } catch (error) {
    const { code, details } = error as { code: number; details: string };
    return { code, details };
  }
}

const echo: ForwardCall = async (image, path, request) =>
  Buffer.from(`${image} ${path.split(".")[3]} ${String(request)}`);

test.each([V1, V1BETA1])("%s is passed on with its bytes to the package of the header", async (path) => {
  await using serving = new Serving();
  const outcomes: CallOutcome[] = [];
  const { address } = await serving.server({ forward: echo, onCall: (outcome) => outcomes.push(outcome) });
  const answer = await call(address, path, { "xfn-package": "example.org/fn:v1" });
  expect(answer).toEqual({ answer: `example.org/fn:v1 ${path === V1 ? "v1" : "v1beta1"} raw \xff` });
  await expect.poll(() => outcomes).toMatchObject([{ image: "example.org/fn:v1", path, error: undefined }]);
});

test("the caller's deadline is the timeout, and its cancellation is a signal", async () => {
  await using serving = new Serving();
  const timeouts: unknown[] = [];
  const aborted = Promise.withResolvers<unknown>();
  const forward: ForwardCall = async (_image, _path, request, { timeoutMs, signal }) => {
    timeouts.push(timeoutMs);
    if (timeouts.length === 1) return request;
    return await new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => {
        aborted.resolve(signal.reason);
        reject(signal.reason as Error);
      });
    });
  };
  const { address } = await serving.server({ forward });
  await call(address, V1, { "xfn-package": "x" }, Date.now() + 60_000);
  expect(Number(timeouts[0])).toBeGreaterThan(0);
  expect(Number(timeouts[0])).toBeLessThanOrEqual(60_000);
  expect(await call(address, V1, { "xfn-package": "x" }, Date.now() + 2_000)).toMatchObject({ code: 4 });
  expect(await aborted.promise).toMatchObject({ code: "Timeout" });
});

test.each([
  ["no header", {}, 3],
  ["an empty one", { "xfn-package": "" }, 3],
  ["one that is too long", { "xfn-package": "x".repeat(2_000) }, 3],
])("rejects a call with %s for its package", async (_, metadata, code) => {
  await using serving = new Serving();
  const { address } = await serving.server({ forward: echo });
  expect(await call(address, V1, metadata as Record<string, string>)).toMatchObject({ code });
});

test("the credentials and the pull policy of a client reach the runner", async () => {
  await using serving = new Serving();
  const received: unknown[] = [];
  const forward: ForwardCall = async (_image, _path, request, { auth, pullPolicy, step }) => {
    received.push({ auth, pullPolicy, step });
    return request;
  };
  const { address } = await serving.server({ forward });
  const client = createRunnerClient({ endpoint: address });
  try {
    const auth = { username: "ada", password: "päss\n" };
    await client.callFunction("x", V1, Buffer.alloc(1), { step: "one", auth, pullPolicy: "Always" });
    await client.callFunction("x", V1, Buffer.alloc(1));
    // More bytes than Node accepts as headers.
    const long = { registryToken: "x".repeat(40_000) };
    const refused = client.callFunction("x", V1, Buffer.alloc(1), { auth: long });
    await expect(refused).rejects.toMatchObject({ code: "InvalidRequest" });
    const largest = { registryToken: "x".repeat(32_000) };
    await client.callFunction("x", V1, Buffer.alloc(1), { auth: largest });
    expect(received).toEqual([
      { auth, pullPolicy: "Always", step: "one" },
      { auth: undefined, pullPolicy: undefined, step: undefined },
      { auth: largest, pullPolicy: undefined, step: undefined },
    ]);
  } finally {
    client.close();
  }
});

test.each([
  ["is not a message", Buffer.from([0xff, 0xff])],
  ["has an unknown pull policy", Buffer.from([8, 99])],
])("rejects a call whose header for the pull %s", async (_, header) => {
  await using serving = new Serving();
  const { address } = await serving.server({ forward: echo });
  const headers = { "xfn-package": "x", "xfn-image-pull-bin": header };
  expect(await call(address, V1, headers)).toMatchObject({ code: 3 });
});

test("requires the token of the listener, and admits as many calls as of the runner's own service", async () => {
  await using serving = new Serving();
  const barrier = Promise.withResolvers<void>();
  const forward: ForwardCall = async (_image, _path, request) => {
    await barrier.promise;
    return request;
  };
  const tokenFile = serving.file("token", TOKEN);
  const { address, server } = await serving.server({
    addresses: ["127.0.0.1:0"],
    tokenFile,
    forward,
    maxConcurrent: 1,
    maxQueued: 0,
  });
  expect(await call(address, V1, { "xfn-package": "x" })).toMatchObject({ code: 16 });
  const first = call(address, V1, { "xfn-package": "x", authorization: `Bearer ${TOKEN}` });
  await expect.poll(() => server.counts().running).toBe(1);
  expect(await call(address, V1, { "xfn-package": "x", authorization: `Bearer ${TOKEN}` })).toMatchObject({ code: 8 });
  barrier.resolve();
  expect(await first).toEqual({ answer: "raw \xff" });
});

test("a function's own status reaches the caller", async () => {
  await using serving = new Serving();
  const forward: ForwardCall = (image) => Promise.reject<Uint8Array>(errorOfStatus(12, "unknown service", image));
  const { address } = await serving.server({ forward });
  const failure = await call(address, V1, { "xfn-package": "x" });
  expect(failure).toEqual({ code: 12, details: "unknown service" });
});

test("without a forwarder the service does not exist", async () => {
  await using serving = new Serving();
  const { address } = await serving.server();
  expect(await call(address, V1, { "xfn-package": "x" })).toMatchObject({ code: 12 });
});

test("an unassigned status is UNKNOWN", () => {
  expect(errorOfStatus(99, "x", "y") satisfies RunnerGrpcError).toMatchObject({ code: "Unknown", status: "UNKNOWN" });
});
