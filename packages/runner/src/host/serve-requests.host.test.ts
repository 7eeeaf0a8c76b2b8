import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import type { HostRequest } from "./protocol.ts";

/** A host that reports its requests, and does not implement the methods of containers. */
const PROGRAM = `
import { serveRequests } from ${JSON.stringify(new URL("serve-requests.ts", import.meta.url).href)};
serveRequests(
  (scratch, send) => {
    if (scratch === "broken") throw new Error("no folder");
    const report = (message) => send({ type: "prepareFailed", id: "", message });
    return {
      prepare: async ({ id }, config) => report("prepare " + id + " " + config),
      start: ({ id }) => report("start " + id),
      kill: ({ id }) => report("kill " + id),
      reap: () => report("reap"),
    };
  },
  () => process.exit(7),
);
`;

let dir: string;
let child: ChildProcess;
beforeEach(() => {
  dir = temporaryFolder();
  const program = join(dir, "host.mjs");
  writeFileSync(program, PROGRAM);
  child = fork(program, { execArgv: [] });
});
afterEach(() => {
  child.kill("SIGKILL");
});

/** Sends requests, and returns the given number of responses. */
async function ask(count: number, ...requests: object[]): Promise<unknown[]> {
  const responses: unknown[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const note = (response: unknown): void => {
    if (responses.push(response) === count) resolve();
  };
  child.on("message", note);
  for (const request of requests) child.send(request as HostRequest);
  await promise;
  child.off("message", note);
  return responses;
}

const report = (message: string, id = ""): object => ({ type: "prepareFailed", id, message });

test("a request gets the text of its number, or a failure if there is none any more", async () => {
  const responses = await ask(
    6,
    { type: "init", scratch: dir },
    { type: "config", number: 0, text: "a" },
    { type: "config", number: 1, text: "b" },
    { type: "prepare", id: "x", config: 1 },
    { type: "config", number: 0, text: "c" },
    { type: "prepare", id: "y", config: 0 },
    { type: "prepare", id: "z", config: 1 },
    { type: "start", id: "x" },
    { type: "kill", id: "x" },
  );
  expect(responses).toEqual([
    { type: "ready" },
    report("prepare x b"),
    report("prepare y c"),
    report("no config.json was sent with number 1", "z"),
    report("start x"),
    report("kill x"),
  ]);
});

test("ignores requests that its functions do not have, and reaps children", async () => {
  const others = ["load", "move", "measure", "connect"].map((type) => ({ type, id: "x" }));
  const responses = await ask(2, { type: "init", scratch: dir }, ...others, { type: "kill", id: "y" });
  expect(responses).toEqual([{ type: "ready" }, report("kill y")]);
  const reaped = ask(1);
  child.kill("SIGCHLD");
  expect(await reaped).toEqual([report("reap")]);
});

test("a host that cannot be opened is reported, and leaves later requests without an answer", async () => {
  expect(await ask(1, { type: "init", scratch: "broken" }, { type: "kill", id: "x" })).toEqual([
    { type: "failed", message: "no folder" },
  ]);
});

test("ends as its program says when the runner is gone", async () => {
  await ask(1, { type: "init", scratch: dir });
  child.disconnect();
  expect(await once(child, "exit")).toEqual([7, null]);
});
