import { randomBytes } from "node:crypto";
import type { Runner } from "@xfn/runner";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildCodeFunction } from "../harness/code-function.ts";
import { needs } from "../harness/needs.ts";
import { runnerOf } from "../harness/shell-function.ts";
import { Workspace } from "../harness/workspace.ts";

// Functions with the runner's network can pass descriptors to each other through an abstract socket (unix(7)).
describe("a function that passes its stdout to another function", needs("crun", "python3"), () => {
  let workspace: Workspace;
  let runner: Runner;
  let python: string;
  beforeAll(async () => {
    workspace = await Workspace.create();
    python = await buildCodeFunction(workspace, "python");
    runner = await runnerOf(workspace);
  });
  afterAll(async () => {
    await runner.close();
    await workspace[Symbol.asyncDispose]();
  });

  const run = (code: string, timeoutMs: number): Promise<Uint8Array> =>
    runner.run(python, Buffer.from(code), { network: "Accessible", timeoutMs });

  test("a call ends with its function, although another function has its stdout", async () => {
    const name = `xfn-test-${randomBytes(6).toString("hex")}`;
    const accomplice = run(accepting(name), 8_000);
    const ended = accomplice.then(
      () => "ended",
      () => "ended",
    );
    const began = performance.now();
    const answer = await run(passing(name), 6_000);
    expect(Buffer.from(answer).toString()).toBe("answer\n");
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(await Promise.race([ended, Promise.resolve("running")])).toBe("running");
    await ended;
  });
});

describe("a function", needs("crun", "python3"), () => {
  test("its processes have the highest oom_score_adj", async () => {
    await using workspace = await Workspace.create();
    const python = await buildCodeFunction(workspace, "python");
    const runner = await runnerOf(workspace);
    try {
      const answer = await runner.run(python, Buffer.from('print(open("/proc/self/oom_score_adj").read())'));
      expect(Buffer.from(answer).toString().trim()).toBe("1000");
    } finally {
      await runner.close();
    }
  });
});

/** Receives a descriptor, confirms it, and keeps it for longer than any call of the test. */
function accepting(name: string): string {
  return `
import socket, time
server = socket.socket(socket.AF_UNIX)
server.bind("\\0${name}")
server.listen()
connection, _ = server.accept()
received = socket.recv_fds(connection, 1, 1)
connection.send(b"x")
time.sleep(60)
`;
}

/** Passes its stdout on, answers and exits. */
function passing(name: string): string {
  return `
import socket, time
client = socket.socket(socket.AF_UNIX)
while True:
    try:
        client.connect("\\0${name}")
        break
    except ConnectionRefusedError:
        time.sleep(0.05)
socket.send_fds(client, [b"x"], [1])
client.recv(1)
print("answer")
`;
}
