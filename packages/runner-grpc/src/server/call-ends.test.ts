import { constants, createServer as createServerHttp2 } from "node:http2";
import { describe, expect, test } from "vitest";
import { abstractName, endless, Serving } from "../../testing/serving.ts";
import { createRunnerClient, type RunnerGrpcError, type RunnerServerOptions, type RunOptions } from "../index.ts";

const INPUT = Buffer.from("input");

describe("errors of a run", () => {
  async function failure(thrown: unknown, options?: RunOptions): Promise<RunnerGrpcError> {
    await using serving = new Serving();
    const { address } = await serving.server({ run: () => Promise.reject(thrown as Error) });
    return await serving
      .client(address)
      .run("registry.example.org/x:1", INPUT, options)
      .then(
        () => expect.unreachable(),
        (error: RunnerGrpcError) => error,
      );
  }

  test("keep their code, phase, step, stderr, exit code and whether a retry helps", async () => {
    const details = { code: "NonZeroExit", phase: "run", stderr: "boom\n", exitCode: 3, retryable: false };
    const error = await failure(Object.assign(new Error("x ended with 3"), details), { step: "compose" });
    expect(error).toMatchObject({
      name: "RunnerGrpcError",
      message: "x ended with 3",
      status: "UNKNOWN",
      image: "registry.example.org/x:1",
      step: "compose",
      ...details,
    });
  });

  test.each([
    [{ code: "PullFailed", retryable: true }, "UNAVAILABLE"],
    [{ code: "PullFailed", retryable: false }, "FAILED_PRECONDITION"],
    [{ code: "LimitUnavailable", retryable: false }, "FAILED_PRECONDITION"],
    [{ code: "Timeout", retryable: true }, "DEADLINE_EXCEEDED"],
    [{ code: "OutOfMemory", retryable: true }, "RESOURCE_EXHAUSTED"],
    [{ code: "TooManyProcesses" }, "RESOURCE_EXHAUSTED"],
    [{ code: "DiskFull" }, "RESOURCE_EXHAUSTED"],
    [{ code: "Killed", retryable: true }, "ABORTED"],
    [{ code: "PermissionDenied", retryable: false }, "PERMISSION_DENIED"],
  ])("%j has the status %s", async (details, status) => {
    const error = await failure(Object.assign(new Error("m"), details));
    expect(error).toMatchObject({ retryable: false, ...details, message: "m", status });
  });

  test.each([
    ["an error without a code", new Error("password=hunter2")],
    ["a code of Node", Object.assign(new Error("password=hunter2"), { code: "ENOENT" })],
    ["no error at all", "password=hunter2"],
  ])("reveal nothing of unexpected errors: %s", async (_, thrown) => {
    const error = await failure(thrown);
    expect(error).toMatchObject({ code: "Internal", status: "INTERNAL", retryable: false });
    expect(`${error.message}${JSON.stringify(error)}`).not.toContain("hunter2");
  });

  test("arrive even with texts that gRPC cannot send", async () => {
    const error = await failure(Object.assign(new Error("\ud800 100%\n\0 ü"), { code: "Killed", stderr: "\udfff" }));
    expect(error).toMatchObject({ code: "Killed", message: "\ufffd 100%\n\\x00 ü", stderr: "\ufffd" });
  });
});

describe("an aborted call", () => {
  test("ends the run", async () => {
    await using serving = new Serving();
    const { run, started, ended } = endless();
    const { address, server } = await serving.server({ run });
    const aborter = new AbortController();
    const call = serving.client(address).run("x", INPUT, { signal: aborter.signal });
    await started;
    aborter.abort(new Error("enough"));
    await expect(call).rejects.toMatchObject({ code: "Aborted", retryable: false, cause: aborter.signal.reason });
    expect(await ended).toMatchObject({ code: "Aborted" });
    await expect.poll(() => server.counts()).toEqual({ running: 0, waiting: 0 });
  });

  test("that waits leaves the queue, and never runs", async () => {
    await using serving = new Serving();
    const first = endless();
    let runs = 0;
    const run: RunnerServerOptions["run"] = (...call) => (++runs === 1 ? first.run(...call) : Promise.resolve(INPUT));
    const { address, server } = await serving.server({ run, maxConcurrent: 1 });
    const client = serving.client(address);
    const [one, two] = [new AbortController(), new AbortController()];
    const running = client.run("x", INPUT, { signal: one.signal });
    await first.started;
    const waiting = client.run("x", INPUT, { signal: two.signal });
    await expect.poll(() => server.counts()).toEqual({ running: 1, waiting: 1 });
    two.abort();
    await expect(waiting).rejects.toMatchObject({ code: "Aborted" });
    await expect.poll(() => server.counts()).toEqual({ running: 1, waiting: 0 });
    one.abort();
    await expect(running).rejects.toMatchObject({ code: "Aborted" });
    await client.run("x", INPUT);
    expect(runs).toBe(2);
  });

  test("that was aborted before is not sent", async () => {
    const client = createRunnerClient({ endpoint: abstractName() });
    await expect(client.run("x", INPUT, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "Aborted" });
    client.close();
  });
});

// grpc-go resets a call at its deadline if its own clock reaches the deadline first.
test("a server's reset at the deadline is a timeout, not a cancellation", async () => {
  await using serving = new Serving();
  const server = createServerHttp2().listen(serving.path("other.sock"));
  server.on("stream", (stream) => stream.on("error", () => undefined).close(constants.NGHTTP2_CANCEL));
  const endpoint = `unix:${serving.path("other.sock")}`;
  const late = serving.client(endpoint, { marginMs: 50 }).run("x", INPUT, { timeoutMs: 149 });
  await expect(late).rejects.toMatchObject({ code: "Timeout", status: "DEADLINE_EXCEEDED", phase: "timeout" });
  const early = serving.client(endpoint).run("x", INPUT);
  await expect(early).rejects.toMatchObject({ code: "Aborted", status: "CANCELLED" });
  server.close();
});

test("a deadline ends the run, and both sides report it", async () => {
  await using serving = new Serving();
  const { run, ended } = endless();
  const { address } = await serving.server({ run });
  const call = serving.client(address, { marginMs: 50 }).run("x", INPUT, { timeoutMs: 1_000 });
  await expect(call).rejects.toMatchObject({
    code: "Timeout",
    status: "DEADLINE_EXCEEDED",
    phase: "timeout",
    retryable: true,
  });
  expect(await ended).toMatchObject({ code: "Timeout" });
});

test("a lost connection ends the run", async () => {
  await using serving = new Serving();
  const { run, started, ended } = endless();
  const { address } = await serving.server({ run });
  const client = serving.client(address);
  const call = client.run("x", INPUT);
  await started;
  client.close();
  await expect(call).rejects.toMatchObject({ code: "Closed", retryable: true });
  expect(await ended).toMatchObject({ code: "Aborted" });
  await expect(client.run("x", INPUT)).rejects.toMatchObject({ code: "Closed" });
});
