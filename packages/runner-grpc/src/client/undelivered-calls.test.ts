import { once } from "node:events";
import { constants, createServer, type ServerHttp2Stream } from "node:http2";
import { isUndelivered } from "@xfn/runner-contract";
import { expect, onTestFinished, test } from "vitest";
import { frame } from "../../testing/http2-caller.ts";
import { Serving } from "../../testing/serving.ts";
import { encodeResponse } from "../wire/request.ts";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import { statusNumber } from "../wire/status-codes.ts";
import { encodeStatusDetails } from "../wire/status-details.ts";

type Answer = (stream: ServerHttp2Stream) => void;

/** Listens as a gRPC server that answers successive calls as listed. The last answer repeats. */
async function scripted(serving: Serving, ...answers: Answer[]): Promise<{ endpoint: string; calls: () => number }> {
  let calls = 0;
  const server = createServer();
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    const answer = answers[Math.min(calls, answers.length - 1)];
    calls++;
    answer?.(stream);
  });
  const sessions = new Set<{ destroy(): void }>();
  server.on("session", (session) => sessions.add(session));
  const path = serving.path("scripted.sock");
  await once(server.listen(path), "listening");
  onTestFinished(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return { endpoint: `unix:${path}`, calls: () => calls };
}

const refuseStream: Answer = (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM);

const fail =
  (error: RunnerGrpcError): Answer =>
  (stream) =>
    stream.respond(
      {
        ":status": 200,
        "content-type": "application/grpc",
        "grpc-status": statusNumber(error.status),
        "grpc-status-details-bin": encodeStatusDetails(error).toString("base64"),
      },
      { endStream: true },
    );

const succeed: Answer = (stream) => {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.end(frame(Buffer.concat(encodeResponse(Buffer.from("output")))));
};

const INPUT = Buffer.from("input");
const stops = fail(new RunnerGrpcError("Closed", "stopping", { undelivered: true, retryAfterMs: 1_000 }));

test.each([
  ["its stream was refused", refuseStream],
  ["the runner stops", stops],
])("a call is sent once more if %s", async (_, refusal) => {
  await using serving = new Serving();
  const { endpoint, calls } = await scripted(serving, refusal, succeed);
  expect(Buffer.from(await serving.client(endpoint).run("x", INPUT)).toString()).toBe("output");
  expect(calls()).toBe(2);
});

test.each([
  ["refuses all streams", refuseStream, "Unavailable"],
  ["says that it stops", stops, "Closed"],
])("a runner that %s gets a call twice, and the call is undelivered", async (_, refusal, code) => {
  await using serving = new Serving();
  const { endpoint, calls } = await scripted(serving, refusal);
  const error: unknown = await serving
    .client(endpoint)
    .run("x", INPUT)
    .then(
      () => expect.unreachable(),
      (e) => e,
    );
  expect(error).toMatchObject({ code, undelivered: true });
  expect(isUndelivered(error)).toBe(true);
  expect(calls()).toBe(2);
});

test.each([
  ["ran", fail(new RunnerGrpcError("Closed", "stopped while the function ran"))],
  ["found a full queue", fail(new RunnerGrpcError("QueueFull", "full", { retryAfterMs: 1 }))],
  ["was reset", (stream: ServerHttp2Stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR)],
  ["was aborted", fail(new RunnerGrpcError("Aborted", "aborted", { undelivered: true }))],
])("a call that %s is sent once", async (_, answer) => {
  await using serving = new Serving();
  const { endpoint, calls } = await scripted(serving, answer, succeed);
  await expect(serving.client(endpoint).run("x", INPUT)).rejects.toBeInstanceOf(RunnerGrpcError);
  expect(calls()).toBe(1);
});

test("a call to a runner that stops keeps its time to wait, if no other runner is there", async () => {
  await using serving = new Serving();
  const gone: Answer = (stream) => {
    stops(stream);
    stream.session?.close();
    listener.close();
  };
  const listener = createServer().on("stream", gone);
  await once(listener.listen(serving.path("gone.sock")), "listening");
  const call = serving.client(`unix:${serving.path("gone.sock")}`).run("x", INPUT);
  await expect(call).rejects.toMatchObject({ code: "Closed", retryAfterMs: 1_000, undelivered: true });
});
