import { randomBytes } from "node:crypto";
import type { Runner } from "@xfn/runner";
import { createRunnerClient, createRunnerServer, type RunnerServer, type RunnerServerOptions } from "@xfn/runner-grpc";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildCodeFunction } from "../harness/code-function.ts";
import { needs } from "../harness/needs.ts";
import { runnerOf } from "../harness/shell-function.ts";
import { Workspace } from "../harness/workspace.ts";

// An abstract socket is reachable by everything in its network namespace, and a loopback port too: also by a function that
// was given the runner's network. Here such a function really tries, in the words of the contract.
describe("a function with the runner's network, and the runner", needs("crun"), () => {
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
      // The real runner, unless a function got through: its calls are only noted.
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

  /** What a function that tries gets: the status of gRPC, or the error of the socket, by socket. */
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

  test("it cannot call the runner back without a token, and with one it could", async () => {
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
      // The same attempt gets through with the token: it was this that stopped it.
      expect(await attempt(server.pathSocket, "Accessible", server, token)).toEqual({ abstract: OK, loopback: OK });
      expect(server.served).toEqual([node, node, node, "stolen", "stolen"]);
    });
  });

  test("without that network it finds no runner at all", async () => {
    const tokenFile = await workspace.write("token", `${randomBytes(16).toString("hex")}\n`, { mode: 0o600 });
    await withServer({ tokenFile }, async (server) => {
      expect(await attempt(server.pathSocket, "Isolated", server)).toEqual({
        abstract: "ECONNREFUSED",
        loopback: "ECONNREFUSED",
      });
    });
  });

  test("where callers need no token, no function gets that network", async () => {
    await withServer({ insecureNoAuth: true }, async (server) => {
      await expect(attempt(server.pathSocket, "Accessible", server)).rejects.toMatchObject({
        code: "PermissionDenied",
        retryable: false,
      });
      expect(server.served).toEqual([]);
    });
  });
});

/** Code for Node that calls `RunFunction` over HTTP/2 by hand, with the image "stolen". */
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
