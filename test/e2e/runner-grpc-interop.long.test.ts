import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import {
  createRunnerClient,
  createRunnerServer,
  type RunnerClient,
  type RunnerClientOptions,
  type RunnerServer,
  type RunnerServerOptions,
  SERVICE_NAME,
  type ServedRunOptions,
} from "@xfn/runner-grpc";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { withMoreTime } from "../harness/patience.ts";
import { startRunnerServer } from "../harness/runner-server.ts";
import { buildShellFunction, SHELL } from "../harness/shell-function.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";
import { pythonWithGrpc } from "../harness/which.ts";
import { Workspace } from "../harness/workspace.ts";
import {
  goPeer,
  type Order,
  type Peer,
  type PeerClient,
  type PeerOptions,
  type PeerServer,
  pythonPeer,
  type Result,
} from "../interop/peer.ts";
import { processesOf } from "../soak/watch.ts";

const TOKEN = "c2VjcmV0LXRva2VuLW9mLXRlc3Rz";
const LARGE = 20_000_000;

// gRPC's status numbers, because languages spell the names differently.
const OK = 0;
const CANCELLED = 1;
const UNKNOWN = 2;
const DEADLINE_EXCEEDED = 4;
const RESOURCE_EXHAUSTED = 8;
const UNAUTHENTICATED = 16;

describe("gRPC of Go", needs("go-modules"), () => {
  speaks(goPeer, ["an abstract socket", "a path socket", "TCP with a token", "TCP with mTLS"]);

  callsXfnRunner(goPeer);

  test("finds the contract by reflection, as grpcurl does", async () => {
    using peer = await goPeer();
    const server = createRunnerServer({
      run: async (_image, input) => input,
      addresses: ["127.0.0.1:0"],
      insecureNoAuth: true,
      maxConcurrent: 1,
      maxQueued: 0,
      reflection: true,
    });
    const [address = ""] = await server.start();
    onTestFinished(() => server.stop(0));
    await using caller = peer.call({ address });
    expect(await caller.run({ reflect: SERVICE_NAME })).toMatchObject({
      code: OK,
      output: "apiextensions/fn/proto/v1alpha1/run_function.proto google/protobuf/duration.proto",
    });
  });
});

// Python, Ruby, PHP and C++ share gRPC's C core, so Python stands for all of them.
describe("gRPC of Python", needs("python-grpc"), () => {
  const makePeer = (): Promise<Peer> => pythonPeer(pythonWithGrpc() as string);
  speaks(makePeer, ["an abstract socket", "a path socket", "TCP with a token"]);
  callsXfnRunner(makePeer);
});

type Transport = "an abstract socket" | "a path socket" | "TCP with a token" | "TCP with mTLS";

/** The settings of both ends for a transport. */
interface Meeting {
  /** The options of our server. */
  readonly ours: Partial<RunnerServerOptions> & { addresses: string[] };
  /** The options of the peer's client, given the address that our server reports. */
  dial(address: string): PeerOptions;
  /** The token that the peer sends. */
  readonly token?: string;
  /** The options of the peer's server. */
  readonly theirs: PeerOptions;
  /** How our client connects, given the address that the peer reports. */
  reach(address: string): RunnerClientOptions;
}

function speaks(makePeer: () => Promise<Peer & { writeCertificates?(): string }>, transports: Transport[]): void {
  let peer: Peer & { writeCertificates?(): string };
  let folder = "";
  beforeAll(async () => {
    folder = temporaryFolder();
    peer = await makePeer();
  });
  afterAll(() => {
    peer[Symbol.dispose]();
  });

  function meeting(transport: Transport): Meeting {
    const name = `xfn-test/${process.pid}/default.sock`;
    const tokenFile = join(folder, "token");
    writeFileSync(tokenFile, TOKEN);
    switch (transport) {
      case "an abstract socket":
        return {
          ours: { addresses: [`unix:///@${name}`], tokenFile },
          dial: () => ({ address: `unix-abstract:${name}` }),
          token: TOKEN,
          theirs: { address: `unix-abstract:${name}` },
          reach: () => ({ endpoint: `unix:///@${name}`, tokenFile }),
        };
      case "a path socket":
        return {
          ours: { addresses: [`unix://${join(folder, "ours.sock")}`] },
          dial: () => ({ address: `unix:${join(folder, "ours.sock")}` }),
          theirs: { address: `unix:${join(folder, "theirs.sock")}` },
          reach: () => ({ endpoint: `unix://${join(folder, "theirs.sock")}`, tokenFile }),
        };
      case "TCP with a token":
        return {
          ours: { addresses: ["127.0.0.1:0"], tokenFile },
          dial: (address) => ({ address }),
          token: TOKEN,
          theirs: { address: "127.0.0.1:0" },
          reach: (endpoint) => ({ endpoint, tokenFile }),
        };
      case "TCP with mTLS": {
        const certificates = peer.writeCertificates?.() ?? "";
        const files = (side: string): { caFile: string; certFile: string; keyFile: string } => ({
          caFile: join(certificates, "ca.pem"),
          certFile: join(certificates, `${side}.pem`),
          keyFile: join(certificates, `${side}.key`),
        });
        const pem = (side: string): Omit<PeerOptions, "address"> => {
          const { caFile: ca, certFile: cert, keyFile: key } = files(side);
          return { ca, cert, key };
        };
        return {
          ours: { addresses: ["127.0.0.1:0"], tls: files("server") },
          dial: (address) => ({ address, ...pem("client") }),
          theirs: { address: "127.0.0.1:0", ...pem("server") },
          reach: (endpoint) => ({ endpoint, tls: files("client"), tokenFile }),
        };
      }
    }
  }

  describe.each(transports)("calls our server over %s", (transport) => {
    async function meet(
      options: Partial<RunnerServerOptions> = {},
    ): Promise<{ caller: PeerClient; server: RunnerServer; token: string }> {
      const { ours, dial, token = "" } = meeting(transport);
      const server = createRunnerServer({
        run: async (_image, input) => input,
        maxConcurrent: 2,
        maxQueued: 0,
        health: { serving: true },
        ...ours,
        ...options,
      });
      const [address = ""] = await server.start();
      const caller = peer.call(dial(address));
      onTestFinished(async () => {
        await caller[Symbol.asyncDispose]();
        await server.stop(0);
      });
      return { caller, server, token };
    }

    test("with every field of the contract", async () => {
      const calls: [string, string, ServedRunOptions][] = [];
      const { caller, token } = await meet({
        run: async (image, input, options) => {
          calls.push([image, Buffer.from(input).toString(), options]);
          return Buffer.from("output");
        },
      });
      const called = await caller.run({ image: "x:1", input: "input", settings: true, token });
      expect(called).toMatchObject({ code: OK, output: "output" });
      const options = {
        timeoutMs: 1_500,
        memoryBytes: 134_217_728,
        cpus: 0.25,
        network: "Accessible",
        pullPolicy: "Always",
        auth: { username: "u", password: "p" },
      };
      expect(calls).toEqual([["x:1", "input", expect.objectContaining(options)]]);
    });

    test("with 20 MB, which come back unchanged", async () => {
      const { caller, token } = await meet();
      expect(await caller.run({ image: "x", bytes: LARGE, token })).toMatchObject({
        code: OK,
        bytes: LARGE,
        same: true,
      });
    });

    test("and reads a failure's code, ErrorInfo, RetryInfo and end of stderr", async () => {
      const failures: Record<string, object> = {
        exit: { code: "NonZeroExit", phase: "run", exitCode: 3, stderr: "bööm\n" },
        full: { code: "DiskFull", phase: "run" },
      };
      const { caller, server, token } = await meet({
        run: (image, _input, { signal }) =>
          image in failures
            ? Promise.reject(Object.assign(new Error("ü: it ended"), failures[image]))
            : new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
      });
      expect(await caller.run({ image: "exit", token })).toMatchObject({
        code: UNKNOWN,
        text: "ü: it ended",
        details: [
          {
            ErrorInfo: {
              reason: "NON_ZERO_EXIT",
              domain: "runner.xfn",
              metadata: { phase: "run", image: "exit", exitCode: "3", retryable: "false" },
            },
          },
          { DebugInfo: { detail: "bööm\n" } },
        ],
      });
      expect(await caller.run({ image: "full", token })).toMatchObject({
        code: RESOURCE_EXHAUSTED,
        details: [{ ErrorInfo: { reason: "DISK_FULL", metadata: { retryable: "false" } } }],
      });
      const running = [1, 2].map(() => caller.start({ image: "wait", token }));
      await expect.poll(() => server.counts().running).toBe(2);
      expect(await caller.run({ image: "x", token })).toMatchObject({
        code: RESOURCE_EXHAUSTED,
        details: [
          { ErrorInfo: { reason: "QUEUE_FULL", metadata: { retryable: "true" } } },
          { RetryInfo: { retryDelay: expect.stringMatching(/^[\d.]+s$/) } },
        ],
      });
      for (const call of running) {
        call.cancel();
        expect(await call.result).toMatchObject({ code: CANCELLED });
      }
    });

    test("and ends the run by a deadline, a cancellation, and its own end", async () => {
      const reasons: unknown[] = [];
      const { caller, server, token } = await meet({
        run: (_image, _input, { signal }) =>
          new Promise((_, reject) =>
            signal.addEventListener("abort", () => {
              reasons.push(signal.reason);
              reject(signal.reason as Error);
            }),
          ),
      });
      await withMoreTime(300, async (timeoutMs) => {
        expect(await caller.run({ image: "x", timeoutMs, token })).toMatchObject({ code: DEADLINE_EXCEEDED });
        await expect.poll(() => server.counts()).toEqual({ running: 0, waiting: 0 });
        // A busy machine may not have begun the run by then.
        return reasons.length > 0 ? true : undefined;
      });
      const cancelled = caller.start({ image: "x", token });
      await expect.poll(() => server.counts().running).toBe(1);
      cancelled.cancel();
      expect(await cancelled.result).toMatchObject({ code: CANCELLED });
      await expect.poll(() => server.counts()).toEqual({ running: 0, waiting: 0 });
      void caller.start({ image: "x", token });
      await expect.poll(() => server.counts().running).toBe(1);
      caller.kill();
      await expect.poll(() => server.counts()).toEqual({ running: 0, waiting: 0 });
      // On a busy machine the peer's reset may come long before our own clock ends the call.
      const atDeadline = expect.objectContaining({ code: expect.stringMatching(/^(Timeout|Aborted)$/) });
      const aborted = expect.objectContaining({ code: "Aborted" });
      expect(reasons).toEqual([atDeadline, aborted, aborted]);
    });

    test("and checks its health without the token that calls require", async () => {
      const { caller, server, token } = await meet();
      expect(await caller.run({ health: true })).toMatchObject({ code: OK, output: "SERVING" });
      server.setServing(false);
      expect(await caller.run({ health: true })).toMatchObject({ code: OK, output: "NOT_SERVING" });
      if (token === "") return;
      const details = [{ ErrorInfo: expect.objectContaining({ reason: "UNAUTHENTICATED" }) }];
      expect(await caller.run({ image: "x" })).toMatchObject({ code: UNAUTHENTICATED, details });
    });
  });

  describe.each(transports)("serves our client over %s", (transport) => {
    async function meet(): Promise<{ server: PeerServer; client: RunnerClient }> {
      const { theirs, reach } = meeting(transport);
      const server = await peer.serve(theirs);
      const client = createRunnerClient({ marginMs: 30_000, maxOutputBytes: LARGE, ...reach(server.address) });
      onTestFinished(async () => {
        client.close();
        await server[Symbol.asyncDispose]();
      });
      return { server, client };
    }

    test("with every field of the contract, the token and the step", async () => {
      const { client } = await meet();
      const described = await client.run("describe", Buffer.from("{}"), {
        step: "über",
        timeoutMs: 2_500,
        network: "Accessible",
        memoryBytes: 64,
        cpus: 0.5,
        pullPolicy: "Always",
        auth: { username: "u", password: "p" },
      });
      expect(JSON.parse(Buffer.from(described).toString())).toEqual({
        request: {
          image: "describe",
          input: "e30=",
          imagePullConfig: { pullPolicy: "IMAGE_PULL_POLICY_ALWAYS", auth: { username: "u", password: "p" } },
          runFunctionConfig: {
            timeout: "2.500s",
            network: { policy: "NETWORK_POLICY_RUNNER" },
            resources: { limits: { memory: "64", cpu: "500m" } },
          },
        },
        authorization: `Bearer ${TOKEN}`,
        step: "über",
      });
    });

    test("with 20 MB, which come back unchanged", async () => {
      const { client } = await meet();
      const input = Buffer.alloc(LARGE, "0123456789abcdefg");
      expect(Buffer.compare(input, await client.run("echo", input))).toBe(0);
    });

    test("which understands its errors with and without details, and rejects answers over the limit", async () => {
      const { client } = await meet();
      const input = new Uint8Array(1);
      await expect(client.run("unknown", input)).rejects.toMatchObject({
        code: "Unknown",
        status: "UNKNOWN",
        retryable: true,
        image: "unknown",
      });
      await expect(client.run("precondition", input)).rejects.toMatchObject({
        code: "FailedPrecondition",
        retryable: false,
      });
      await expect(client.run("details", input, { step: "one" })).rejects.toMatchObject({
        code: "OutOfMemory",
        status: "RESOURCE_EXHAUSTED",
        message: "x:1: it needed more memory than it may have",
        phase: "run",
        exitCode: 137,
        retryable: true,
        retryAfterMs: 1_500,
        stderr: "the end of stderr",
        image: "details",
        step: "one",
      });
      await expect(client.run("large", input)).rejects.toMatchObject({ code: "OutputTooLarge", retryable: false });
    });

    test("which ends its calls by a cancellation and a deadline", async () => {
      const { theirs, reach } = meeting(transport);
      await using server = await peer.serve(theirs);
      const client = createRunnerClient({ marginMs: 200, ...reach(server.address) });
      onTestFinished(() => client.close());
      const aborter = new AbortController();
      const cancelled = client.run("wait", new Uint8Array(1), { signal: aborter.signal });
      expect(await server.next()).toEqual({ started: "wait" });
      aborter.abort();
      await expect(cancelled).rejects.toMatchObject({ code: "Aborted" });
      expect(await server.next()).toHaveProperty("ended");
      const late = client.run("wait", new Uint8Array(1), { timeoutMs: 1_000 });
      await expect(late).rejects.toMatchObject({ code: "Timeout", status: "DEADLINE_EXCEEDED", retryable: true });
      expect(await server.next()).toEqual({ started: "wait" });
      expect(await server.next()).toHaveProperty("ended");
    });

    test("which reconnects after a restart of the killed server", async () => {
      const { theirs, reach } = meeting(transport);
      const first = await peer.serve(theirs);
      const client = createRunnerClient({ marginMs: 30_000, ...reach(first.address) });
      onTestFinished(() => client.close());
      await client.run("echo", new Uint8Array(1));
      const interrupted = client.run("wait", new Uint8Array(1));
      const failed = expect(interrupted).rejects.toMatchObject({ status: "UNAVAILABLE", retryable: true });
      await first.next();
      await first.kill();
      await failed;
      const address = theirs.address.endsWith(":0") ? first.address : theirs.address;
      await using second = await peer.serve({ ...theirs, address });
      await client.ready(20_000);
      expect(await client.run("echo", new Uint8Array(1))).toEqual(Buffer.alloc(1));
      expect(second.address).toBe(first.address);
    });
  });
}

function callsXfnRunner(makePeer: () => Promise<Peer>): void {
  describe("calls xfn-runner", needs("crun"), () => {
    test("over an abstract socket and TCP: 20 MB, an exit code, a deadline, and a killed caller", async () => {
      using peer = await makePeer();
      await using workspace = await Workspace.create();
      await buildShellFunction(workspace);
      const state = await before(workspace.root);
      const tokenFile = await workspace.write("token", TOKEN);
      const name = `xfn-test/${process.pid}/xfn-runner.sock`;
      const limits = ["--max-concurrent", "2", "--max-output", "20Mi"];
      const options = ["--token-file", tokenFile, "--cache-dir", workspace.cache, ...limits];
      const addresses = ["--address", `unix:///@${name}`, "--address", "127.0.0.1:0"];
      {
        await using server = await startRunnerServer(workspace, [...options, ...addresses]);
        const [, tcp = ""] = server.addresses;
        for (const address of [`unix-abstract:${name}`, tcp]) {
          await using caller = peer.call({ address });
          const run = (script: string, order: Order = {}): Promise<Result> =>
            caller.run({ image: SHELL, input: `${script}\n`, token: TOKEN, ...order });
          expect(await run("cat\nhello")).toMatchObject({ code: OK, output: "hello\n" });
          expect(await run(`head -c ${LARGE} /dev/zero`)).toMatchObject({ code: OK, bytes: LARGE });
          expect(await run("echo bööm >&2; exit 3")).toMatchObject({
            code: UNKNOWN,
            details: [
              { ErrorInfo: { reason: "NON_ZERO_EXIT", metadata: { phase: "run", exitCode: "3" } } },
              { DebugInfo: { detail: "bööm\n" } },
            ],
          });
          expect(await run("cat", { token: "" })).toMatchObject({ code: UNAUTHENTICATED });
          expect(await run("sleep 600", { timeoutMs: 500 })).toMatchObject({ code: DEADLINE_EXCEEDED });
          const command = ["sleep", `600.${process.pid}`];
          void caller.start({ image: SHELL, input: `exec ${command.join(" ")}\n`, token: TOKEN });
          await expect.poll(() => processesOf(command)).toHaveLength(1);
          caller.kill();
          await expect.poll(() => processesOf(command)).toEqual([]);
        }
      }
      expect(await leftovers(state)).toEqual([]);
    });
  });
}
