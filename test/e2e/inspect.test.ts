import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { InspectorClient, type StepMeta } from "@xfn/function-grpc/inspector";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { XFN_MAIN } from "../harness/paths.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

// The real program, with messages as Crossplane's controller sends them.

interface Running {
  readonly child: ChildProcess;
  readonly written: { stdout: string; stderr: string };
  readonly ended: Promise<number | null>;
}

let socket: string;
beforeEach(() => {
  socket = join(temporaryFolder(), "inspector.sock");
});

function start(...args: string[]): Running {
  const child = spawn(process.execPath, [XFN_MAIN, "inspect", "--socket", socket, ...args]);
  onTestFinished(() => void child.kill("SIGKILL"));
  const written = { stdout: "", stderr: "" };
  child.stdout.on("data", (text: Buffer) => (written.stdout += text.toString()));
  child.stderr.on("data", (text: Buffer) => (written.stderr += text.toString()));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, written, ended };
}

async function started(...args: string[]): Promise<Running> {
  const running = start(...args);
  await vi.waitFor(() => expect(running.written.stderr).toContain("waiting for a controller"), { timeout: 60_000 });
  return running;
}

function meta(name: string, spanId: string): StepMeta {
  return {
    timestamp: { seconds: 1_700_000_000n, nanos: 0 },
    traceId: `run-of-${name}`,
    spanId,
    stepIndex: 1,
    stepName: "compose",
    iteration: 0,
    functionName: "function-compose",
    compositionMeta: {
      compositionName: "databases",
      compositeResourceUid: "uid",
      compositeResourceName: name,
      compositeResourceNamespace: "team",
      compositeResourceApiVersion: "example.org/v1",
      compositeResourceKind: "XDatabase",
    },
  };
}

async function send(name: string, response: object): Promise<void> {
  const client = new InspectorClient(socket, 30_000);
  const of = meta(name, `span-${name}`);
  const desired = { resources: { main: { resource: { kind: "Server", size: "small" } } } };
  await client.emitRequest({ request: Buffer.from(JSON.stringify({ desired })), meta: of });
  await client.emitResponse({ response: Buffer.from(JSON.stringify(response)), error: "", meta: of });
  client.close();
}

const LARGER = { desired: { resources: { main: { resource: { kind: "Server", size: "large\u001b[2J" } } } } };

test("prints the calls of the chosen XRs, and removes its socket at Ctrl-C", async () => {
  const { child, written, ended } = await started("xdatabase/orders", "-n", "team", "--composition", "databases");
  await send("invoices", LARGER);
  await send("orders", LARGER);
  await vi.waitFor(() => expect(written.stdout).toContain("+  size"), { timeout: 30_000 });
  expect(written.stdout.replace(/\d+\.\d s/, "TIME").split("\n")).toEqual([
    "XDatabase team/orders, composed by databases, run run-of-o",
    "2. compose function-compose 22:13:20.000Z: TIME",
    "   ~ main (Server)",
    "   @@ -1 +1 @@",
    "    resource:",
    "      kind: Server",
    "   -  size: small",
    '   +  size: "large\\e[2J"',
    "",
  ]);
  child.kill("SIGINT");
  expect(await ended).toBe(0);
  expect(existsSync(socket)).toBe(false);
});

test("prints one line of JSON for each message", async () => {
  const { written } = await started("-o", "json");
  await send("orders", { desired: {}, results: [] });
  await vi.waitFor(() => expect(written.stdout.split("\n")).toHaveLength(3), { timeout: 30_000 });
  const [request, response] = written.stdout
    .split("\n")
    .slice(0, 2)
    .map((line) => JSON.parse(line) as object);
  expect(request).toMatchObject({
    meta: { timestamp: "2023-11-14T22:13:20.000Z", stepIndex: 1, compositionMeta: { compositeResourceName: "orders" } },
    request: { desired: { resources: { main: {} } } },
  });
  expect(response).toMatchObject({ meta: { spanId: "span-orders" }, response: { desired: {}, results: [] } });
});

test("a sender of something else learns it, and the inspector goes on", async () => {
  const { written } = await started();
  const client = new InspectorClient(socket, 30_000);
  await expect(client.emitRequest({ request: Buffer.from("{"), meta: meta("a", "b") })).rejects.toThrow(
    "cannot be read",
  );
  client.close();
  await send("orders", LARGER);
  await vi.waitFor(() => expect(written.stdout).toContain("large"), { timeout: 30_000 });
});

test("a socket that answers and a file of another type are errors that name it; a dead socket is replaced", async () => {
  const first = await started();
  const second = start();
  expect(await second.ended).toBe(1);
  expect(second.written.stderr).toContain(`another process listens on ${socket} already`);
  first.child.kill("SIGKILL");
  await first.ended;
  const third = await started();
  third.child.kill("SIGTERM");
  expect(await third.ended).toBe(143);
  writeFileSync(socket, "");
  const fourth = start();
  expect(await fourth.ended).toBe(1);
  expect(fourth.written.stderr).toContain(`${socket} exists and is not a socket`);
});

test("another server that already listens keeps its socket", async () => {
  const server = createServer().listen(socket);
  onTestFinished(() => void server.close());
  expect(await start().ended).toBe(1);
  expect(existsSync(socket)).toBe(true);
});
