import { randomBytes } from "node:crypto";
import type { Runner } from "@xfn/runner";
import { createRunnerClient, createRunnerServer, type RunnerServer, type RunnerServerOptions } from "@xfn/runner-grpc";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildCodeFunction } from "../harness/code-function.ts";
import { needs } from "../harness/needs.ts";
import { runnerOf } from "../harness/shell-function.ts";
import { Workspace } from "../harness/workspace.ts";

// Every process in a network namespace can reach its abstract sockets and loopback ports. A function with the runner's
// network is such a process. Here the function makes a real gRPC call to the runner.
describe("a function with the runner's network", needs("crun"), () => {
  let workspace: Workspace;
  let runner: Runner;
  let node: string;
  beforeAll(async () => {
    workspace = await Workspace.create();
    node = await buildCodeFunction(workspace, "node");
    runner = await runnerOf(workspace);
  });
  afterAll(async () => {
    await runner.close();
    await workspace[Symbol.asyncDispose]();
  });

  const withServer = async (
    options: Pick<RunnerServerOptions, "tokenFile" | "insecureNoAuth">,
    work: (server: { abstract: string; port: number; pathSocket: string; served: string[] }) => Promise<void>,
  ): Promise<void> => {
    const served: string[] = [];
    const abstract = `xfn-test-${randomBytes(6).toString("hex")}`;
    const pathSocket = workspace.path("runner.sock");
    const server: RunnerServer = createRunnerServer({
      // Runs only the attacking function for real. Records the calls that the function itself makes.
      run: async (image, input, runOptions) => {
        served.push(image);
        return image === node ? await runner.run(image, input, runOptions) : Buffer.from("reached");
      },
      addresses: [`unix:${pathSocket}`, `unix-abstract:${abstract}`, "127.0.0.1:0"],
      maxConcurrent: 4,
      maxQueued: 4,
      ...options,
    });
    const addresses = await server.start();
    try {
      const port = Number(addresses.find((address) => !address.startsWith("unix"))?.replace(/^.*:/, ""));
      await work({ abstract, port, pathSocket, served });
    } finally {
      await server.stop(1_000);
    }
  };

  /** The function's result for each socket: a gRPC status or a socket error. */
  const attempt = async (
    socket: string,
    network: "Isolated" | "Accessible",
    server: { abstract: string; port: number },
    token?: string,
  ): Promise<unknown> => {
    const client = createRunnerClient({ endpoint: `unix:${socket}` });
    try {
      const output = await client.run(node, Buffer.from(attack(server.abstract, server.port, token)), { network });
      return JSON.parse(Buffer.from(output).toString());
    } finally {
      client.close();
    }
  };

  const OK = "0";
  const UNAUTHENTICATED = "16";

  test("cannot call the runner without its token", async () => {
    const token = randomBytes(16).toString("hex");
    const tokenFile = await workspace.write("token", `${token}\n`, { mode: 0o600 });
    await withServer({ tokenFile }, async (server) => {
      expect(await attempt(server.pathSocket, "Accessible", server)).toEqual({
        abstract: UNAUTHENTICATED,
        loopback: UNAUTHENTICATED,
      });
      expect(await attempt(server.pathSocket, "Accessible", server, `${token.slice(0, -1)}x`)).toEqual({
        abstract: UNAUTHENTICATED,
        loopback: UNAUTHENTICATED,
      });
      expect(server.served).toEqual([node, node]);
      // With the token the same attempt succeeds, so the missing token stopped it.
      expect(await attempt(server.pathSocket, "Accessible", server, token)).toEqual({ abstract: OK, loopback: OK });
      expect(server.served).toEqual([node, node, node, "stolen", "stolen"]);
    });
  });

  test("cannot reach the runner without that network", async () => {
    const tokenFile = await workspace.write("token", `${randomBytes(16).toString("hex")}\n`, { mode: 0o600 });
    await withServer({ tokenFile }, async (server) => {
      expect(await attempt(server.pathSocket, "Isolated", server)).toEqual({
        abstract: "ECONNREFUSED",
        loopback: "ECONNREFUSED",
      });
    });
  });

  test("is rejected if callers need no token", async () => {
    await withServer({ insecureNoAuth: true }, async (server) => {
      await expect(attempt(server.pathSocket, "Accessible", server)).rejects.toMatchObject({
        code: "PermissionDenied",
        retryable: false,
      });
      expect(server.served).toEqual([]);
    });
  });
});

/** Node code that calls `RunFunction` with the image "stolen" over plain HTTP/2. */
function attack(abstract: string, port: number, token: string | undefined): string {
  return `
const http2 = require("node:http2"), net = require("node:net");
const image = Buffer.from("stolen");
const message = Buffer.concat([Buffer.from([0x0a, image.length]), image]);
const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
const call = (connect) => new Promise((resolve) => {
  const socket = connect();
  socket.on("error", (error) => resolve(error.code));
  const session = http2.connect("http://localhost", { createConnection: () => socket });
  const done = (result) => { session.destroy(); resolve(result); };
  session.on("error", () => undefined);
  const stream = session.request({
    ":method": "POST",
    ":path": "/apiextensions.fn.proto.v1alpha1.ContainerizedFunctionRunnerService/RunFunction",
    "content-type": "application/grpc", te: "trailers",
    ${token === undefined ? "" : `authorization: "Bearer ${token}",`}
  });
  stream.on("error", (error) => setTimeout(done, 1000, error.code));
  for (const event of ["response", "trailers"])
    stream.on(event, (headers) => headers["grpc-status"] !== undefined && done(String(headers["grpc-status"])));
  stream.resume();
  stream.end(frame);
});
(async () => {
  console.log(JSON.stringify({
    abstract: await call(() => net.connect({ path: ${JSON.stringify(`\0${abstract}`)} })),
    loopback: await call(() => net.connect(${port}, "127.0.0.1")),
  }));
})();
`;
}
