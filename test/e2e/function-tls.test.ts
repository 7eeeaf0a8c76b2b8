import { copyFileSync, readFileSync } from "node:fs";
import { ConnectedFunctions, type FunctionCertificateFiles } from "@xfn/controller/functions";
import type { FunctionResponse } from "@xfn/function-grpc";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FunctionServer, serveTestFunction } from "../../packages/function-grpc/testing/function-server.ts";
import { type Certificates, makeCertificates } from "../harness/certificates.ts";
import { needs } from "../harness/needs.ts";
import { requestFor } from "../harness/served-functions.ts";
import { Workspace } from "../harness/workspace.ts";

// Tests --function NAME=https://HOST:PORT and --function-tls-* of xfn-controller against a server that requires a
// certificate of its authority, like functions of a Crossplane installation.

const noHost = { callFunction: () => Promise.reject(new Error("no package is expected")) };
const USE = { step: "step", auth: async () => undefined };

describe("a function at an https:// endpoint", needs("openssl"), () => {
  let workspace: Workspace;
  let certificates: Certificates;
  let server: FunctionServer;
  const closers: (() => void)[] = [];
  beforeEach(async () => {
    workspace = await Workspace.create();
    certificates = await makeCertificates(workspace);
    server = await serve(certificates);
  });
  afterEach(async () => {
    for (const close of closers.splice(0)) close();
    await workspace[Symbol.asyncDispose]();
  });

  const serve = async ({ ca, cert, key }: Certificates, port = 0): Promise<FunctionServer> => {
    const tls = { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) };
    const started = await serveTestFunction(() => ({ composite: { resource: { status: { up: true } } } }), {
      port,
      tls,
    });
    closers.push(() => started.stop());
    return started;
  };
  const connected = (files: Partial<FunctionCertificateFiles>): (() => Promise<FunctionResponse>) => {
    const functions = [{ name: "function-test", source: `https://${server.address}` }];
    const all = { ca: undefined, cert: undefined, key: undefined, ...files };
    const directory = new ConnectedFunctions(noHost, functions, all);
    closers.push(() => directory.close());
    return async () => {
      const caller = directory.byName("function-test", USE);
      if (caller === undefined) throw new Error("it is not known");
      return (await caller.run(requestFor("Ada"), { timeoutMs: 20_000 })).response;
    };
  };
  const failure = async (call: () => Promise<unknown>): Promise<unknown> => {
    const outcome = await call().catch((error: unknown) => error);
    expect(server.calls).toBe(0);
    return outcome;
  };

  test("is called with a client certificate, many times over one connection", async () => {
    const call = connected(certificates);
    for (let i = 0; i < 3; i++)
      expect((await call()).desired.composite?.resource).toMatchObject({ status: { up: true } });
    expect(server.calls).toBe(3);
  });

  test("refuses a client without a certificate, and the error names the flag", async () => {
    expect(await failure(connected({ ca: certificates.ca }))).toMatchObject({
      name: "FunctionCallError",
      code: "ConnectionLost",
      message: expect.stringMatching(/certificate.*--function-tls-cert/is) as string,
    });
  });

  test("is not called if its certificate is of another authority than --function-tls-ca", async () => {
    const { cert, key } = certificates;
    await using other = await Workspace.create();
    const { ca } = await makeCertificates(other);
    for (const files of [
      { ca, cert, key },
      { cert, key },
    ]) {
      expect(await failure(connected(files))).toMatchObject({
        name: "FunctionCallError",
        code: "ConnectionLost",
        message: expect.stringMatching(new RegExp(`${server.address}.*certificate.*--function-tls-ca`, "s")) as string,
      });
    }
  });

  test("without TLS at its port is reported, not called in the clear", async () => {
    const plain = await serveTestFunction(() => ({}));
    closers.push(() => plain.stop());
    const address = server.address;
    server = plain;
    expect(await failure(connected(certificates))).toMatchObject({ name: "FunctionCallError", code: "ConnectionLost" });
    expect(plain.address).not.toBe(address);
  });

  test("is called with renewed files after it restarted with a new authority", async () => {
    const call = connected(certificates);
    await call();
    await using other = await Workspace.create();
    const renewed = await makeCertificates(other);
    server.stop();
    server = await serve(renewed, Number(server.address.split(":")[1]));
    for (const part of ["ca", "cert", "key"] as const) copyFileSync(renewed[part], certificates[part]);
    // A call during the restart may fail: the function may have had the request.
    const composite = (): Promise<unknown> =>
      call().then(
        ({ desired }) => desired.composite,
        () => undefined,
      );
    await expect.poll(composite).toBeDefined();
  });

  test("a certificate file that cannot be read is reported with its name", async () => {
    const ca = workspace.path("missing.crt");
    expect(await failure(connected({ ...certificates, ca }))).toMatchObject({
      code: "ConnectionLost",
      message: expect.stringContaining(ca) as string,
    });
  });
});
