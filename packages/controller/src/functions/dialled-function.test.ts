import { once } from "node:events";
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { join } from "node:path";
import { parseTarget } from "@xfn/function-grpc";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { DialledFunction } from "./dialled-function.ts";

// A message without fields: one byte for no compression, and the length 0.
const EMPTY = Buffer.alloc(5);

/** A gRPC server whose answers the test controls. */
async function serve(): Promise<{ path: string; calls: ServerHttp2Stream[]; sessions: ServerHttp2Session[] }> {
  const folder = temporaryFolder();
  const path = join(folder, "fn.sock");
  const calls: ServerHttp2Stream[] = [];
  const sessions: ServerHttp2Session[] = [];
  const server = createServer();
  server.on("session", (session) => sessions.push(session));
  server.on("stream", (stream: ServerHttp2Stream) => calls.push(stream.resume()));
  server.listen(path);
  await once(server, "listening");
  onTestFinished(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return { path, calls, sessions };
}

function answer(stream: ServerHttp2Stream | undefined): void {
  stream?.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream?.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream?.end(EMPTY);
}

test("a call in flight ends before its connection closes, and the next call connects again", async () => {
  const { path, calls, sessions } = await serve();
  const target = parseTarget(`unix:${path}`);
  if (target === undefined) throw new Error("no target");
  const dialled = new DialledFunction(target, async () => ({}));
  const call = (): Promise<Uint8Array> => dialled.call("/a.B/C", new Uint8Array(), { timeoutMs: 30_000 });
  const first = call();
  await expect.poll(() => calls.length).toBe(1);
  dialled.retire();
  const second = call();
  await expect.poll(() => calls.length).toBe(2);
  expect(sessions.map(({ closed }) => closed)).toEqual([false, false]);
  answer(calls[0]);
  expect(await first).toHaveLength(0);
  await expect.poll(() => sessions.map(({ closed }) => closed)).toEqual([true, false]);
  answer(calls[1]);
  expect(await second).toHaveLength(0);
  dialled.close();
  await expect.poll(() => sessions.map(({ closed }) => closed)).toEqual([true, true]);
});
