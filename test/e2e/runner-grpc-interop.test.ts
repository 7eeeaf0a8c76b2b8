import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { createRunnerClient, createRunnerServer, type ServedRunOptions } from "@xfn/runner-grpc";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/places.ts";

const PEER = join(CHECKOUT, "test/interop/peer.py");
const TOKEN = "c2VjcmV0LXRva2VuLW9mLXRlc3Rz";

// gRPC's C core is behind its Python, Ruby, PHP, C# and C++: what one of them understands, all do.
describe("gRPC of another language", needs("python-grpc"), () => {
  let folder = "";
  const environment = (): NodeJS.ProcessEnv => ({ ...process.env, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1" });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "xfn-interop-"));
    mkdirSync(join(folder, "out"));
    const files = [
      "apiextensions/fn/proto/v1alpha1/run_function.proto",
      "google/rpc/status.proto",
      "google/rpc/error_details.proto",
    ];
    // google.rpc beside google.protobuf: a package of the same name in site-packages must not hide it.
    const args = [
      "-m",
      "grpc_tools.protoc",
      "-I",
      join(CHECKOUT, "proto"),
      `--python_out=${folder}`,
      `--grpc_python_out=${folder}`,
    ];
    await promisify(execFile)("python3", [...args, ...files]);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each([
    ["an abstract socket", (name: string) => `unix:///@${name}`, (name: string) => `unix-abstract:${name}`],
    ["a path socket", (name: string) => `unix:${join(folder, name)}`, (name: string) => `unix:${join(folder, name)}`],
    ["TCP", () => "127.0.0.1:0", (_: string, address: string) => address],
  ])("calls our server over %s, and reads why a call failed", async (_, listen, dial) => {
    const name = `xfn-interop-${process.pid}`;
    const calls: [string, ServedRunOptions][] = [];
    const server = createRunnerServer({
      run: async (image, input, options) => {
        calls.push([image, options]);
        if (image === "good") return input;
        throw Object.assign(new Error("ü: it ended with 3"), {
          code: "NonZeroExit",
          phase: "run",
          exitCode: 3,
          stderr: "bööm\n",
        });
      },
      addresses: [listen(name)],
      tokenFile: write("token", TOKEN),
      maxConcurrent: 1,
      maxQueued: 0,
    });
    const [address = ""] = await server.start();
    onTestFinished(() => server.stop(0));
    const call = async (...args: string[]): Promise<unknown> => {
      const { stdout } = await promisify(execFile)("python3", [PEER, "call", dial(name, address), ...args], {
        env: environment(),
      });
      return JSON.parse(stdout);
    };
    expect(await call(TOKEN, "good")).toEqual({ output: "input" });
    expect(calls[0]).toEqual([
      "good",
      expect.objectContaining({ timeoutMs: 1_500, memoryBytes: 134_217_728, cpus: 0.25 }),
    ]);
    expect(await call(TOKEN, "bad")).toEqual({
      status: "UNKNOWN",
      text: "ü: it ended with 3",
      ErrorInfo: {
        reason: "NON_ZERO_EXIT",
        domain: "runner.xfn",
        metadata: { phase: "run", image: "bad", exitCode: "3", retryable: "false" },
      },
      DebugInfo: { detail: "bööm\n" },
    });
    if (listen(name).startsWith(`unix:${folder}`)) return;
    expect(await call("", "good")).toMatchObject({
      status: "UNAUTHENTICATED",
      ErrorInfo: { reason: "UNAUTHENTICATED" },
    });
  });

  test.each([
    ["an abstract socket", (name: string) => `unix-abstract:${name}`, (name: string) => `@${name}`],
    ["a path socket", (name: string) => `unix:${join(folder, name)}`, (name: string) => `unix:${join(folder, name)}`],
    ["TCP", () => "127.0.0.1:0", (_: string, port: string) => `127.0.0.1:${port}`],
  ])("serves our client over %s", async (_, listen, dial) => {
    const name = `xfn-interop-peer-${process.pid}`;
    const peer = spawn("python3", [PEER, "serve", listen(name)], {
      env: environment(),
      stdio: ["pipe", "pipe", "ignore"],
    });
    onTestFinished(async () => {
      peer.stdin.end();
      if (peer.exitCode === null) await once(peer, "exit");
    });
    const [port] = (await once(peer.stdout, "data")) as [Buffer];
    const client = createRunnerClient({ endpoint: dial(name, port.toString().trim()) });
    onTestFinished(() => client.close());
    const input = Buffer.alloc(20_000_000, "0123456789abcdefg");
    expect(Buffer.compare(input, await client.run("echo", input))).toBe(0);
    const described = await client.run("describe", Buffer.from("{}"), {
      timeoutMs: 2_500,
      network: "Accessible",
      memoryBytes: 64,
      cpus: 0.5,
      pullPolicy: "Always",
      auth: { username: "u", password: "p" },
    });
    expect(JSON.parse(Buffer.from(described).toString())).toEqual({
      image: "describe",
      input: "e30=",
      imagePullConfig: { pullPolicy: "IMAGE_PULL_POLICY_ALWAYS", auth: { username: "u", password: "p" } },
      runFunctionConfig: {
        timeout: "2.500s",
        network: { policy: "NETWORK_POLICY_RUNNER" },
        resources: { limits: { memory: "64", cpu: "500m" } },
      },
    });
    const unknown = client.run("unknown", input.subarray(0, 1));
    await expect(unknown).rejects.toMatchObject({
      code: "Unknown",
      status: "UNKNOWN",
      retryable: true,
      image: "unknown",
    });
    const precondition = client.run("precondition", input.subarray(0, 1));
    await expect(precondition).rejects.toMatchObject({ code: "FailedPrecondition", retryable: false });
  });

  function write(name: string, content: string): string {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  }
});
