import { renameSync, rmSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { testAuthority, testCertificate } from "../../testing/certificates.ts";
import { abstractName, Serving, TOKEN } from "../../testing/serving.ts";
import { createRunnerClient, createRunnerServer, type RunnerServerOptions } from "../index.ts";
import { CertificateWatcher } from "../setup/certificate-files.ts";

const INPUT = Buffer.from("input");
const OTHER_TOKEN = "b3RoZXItdG9rZW4tb2YtdGVzdHM";
const unauthenticated = { code: "Unauthenticated", status: "UNAUTHENTICATED", retryable: false };

describe.each([
  ["an abstract socket", abstractName],
  ["TCP", () => "127.0.0.1:0"],
])("%s with a token", (_, where) => {
  test("admits callers with the token, and no others", async () => {
    await using serving = new Serving();
    let runs = 0;
    const { address } = await serving.server({
      addresses: [where()],
      tokenFile: serving.file("token", `${TOKEN}\n`),
      run: async (_image, input) => {
        runs++;
        return input;
      },
    });
    await expect(serving.client(address).run("x", INPUT)).rejects.toMatchObject(unauthenticated);
    const wrong = serving.client(address, { tokenFile: serving.file("wrong", OTHER_TOKEN) });
    await expect(wrong.run("x", INPUT)).rejects.toMatchObject(unauthenticated);
    expect(runs).toBe(0);
    await serving.client(address, { tokenFile: serving.path("token") }).run("x", INPUT);
    expect(runs).toBe(1);
  });
});

test("a path socket needs no token, and reports the socket as authentication", async () => {
  await using serving = new Serving();
  const reported: string[] = [];
  const { address } = await serving.server({
    tokenFile: serving.file("token", TOKEN),
    run: async (_image, input, { caller }) => {
      reported.push(caller.authentication);
      return input;
    },
  });
  await serving.client(address).run("x", INPUT);
  expect(reported).toEqual(["socket"]);
});

test("rotates a token without a pause: accepts both while the file has both", async () => {
  await using serving = new Serving();
  const { address } = await serving.server({ addresses: [abstractName()], tokenFile: serving.file("token", TOKEN) });
  const client = serving.client(address, { tokenFile: serving.file("client-token", TOKEN) });
  await client.run("x", INPUT);
  // Kubernetes also replaces mounted files by a rename.
  renameSync(serving.file("new", `${OTHER_TOKEN}\n${TOKEN}\n`), serving.path("token"));
  await client.run("x", INPUT);
  serving.file("client-token", OTHER_TOKEN);
  await client.run("x", INPUT);
  serving.file("token", OTHER_TOKEN);
  await client.run("x", INPUT);
  serving.file("client-token", TOKEN);
  await expect(client.run("x", INPUT)).rejects.toMatchObject(unauthenticated);
});

test("rejects all callers while the token file is unreadable, with a retryable error", async () => {
  await using serving = new Serving();
  const { address } = await serving.server({ addresses: [abstractName()], tokenFile: serving.file("token", TOKEN) });
  const client = serving.client(address, { tokenFile: serving.file("client-token", TOKEN) });
  renameSync(serving.path("token"), serving.path("gone"));
  const refused = client.run("x", INPUT);
  await expect(refused).rejects.toMatchObject({ code: "Unavailable", retryable: true });
  await expect(refused).rejects.not.toThrow(serving.folder);
  serving.file("token", "");
  await expect(client.run("x", INPUT)).rejects.toMatchObject({ code: "Unavailable" });
});

test.each([
  ["missing", undefined],
  ["empty", "\n\n"],
  ["too short", "short"],
  ["of the wrong characters", "a token with spaces in it"],
  ["far too large", "x".repeat(100_000)],
])("a client or a server rejects a token file that is %s", async (_, content) => {
  await using serving = new Serving();
  if (content !== undefined) serving.file("token", content);
  const tokenFile = serving.path("token");
  const unusable = expect.objectContaining({ code: "TokenUnusable" });
  expect(() => createRunnerClient({ endpoint: abstractName(), tokenFile })).toThrow(unusable);
  expect(() => server({ addresses: [abstractName()], tokenFile })).toThrow(unusable);
});

describe("rejects options that admit everyone, or expose a token", () => {
  test.each([
    ["an abstract socket", { addresses: ["@x"] }, "AuthenticationRequired"],
    ["TCP", { addresses: ["127.0.0.1:0"] }, "AuthenticationRequired"],
    ["an open socket and a closed one", { addresses: ["unix:/tmp/x", "@x"] }, "AuthenticationRequired"],
    ["a token on a network", { addresses: ["0.0.0.0:0"], token: true }, "PlaintextRefused"],
    ["no address", { addresses: [] }, "InvalidOption"],
  ])("%s", async (_, { token = false, ...options }: { addresses: string[]; token?: boolean }, code) => {
    await using serving = new Serving();
    const tokenFile = token ? { tokenFile: serving.file("token", TOKEN) } : {};
    expect(() => server({ ...options, ...tokenFile })).toThrow(expect.objectContaining({ code, retryable: false }));
  });

  test("a client that would send its token in the clear", async () => {
    await using serving = new Serving();
    const tokenFile = serving.file("token", TOKEN);
    const options = { endpoint: "dns:///runner.example.org:9443", tokenFile };
    expect(() => createRunnerClient(options)).toThrow(expect.objectContaining({ code: "PlaintextRefused" }));
    createRunnerClient({ ...options, insecurePlaintext: true }).close();
  });
});

describe("without authentication", () => {
  test("serves calls, but shares the runner's network with no function on any socket", async () => {
    await using serving = new Serving();
    const abstract = abstractName();
    let runs = 0;
    await serving.server({
      addresses: [abstract, `unix:${serving.path("a.sock")}`],
      insecureNoAuth: true,
      run: async (_image, input) => {
        runs++;
        return input;
      },
    });
    for (const address of [abstract, `unix:${serving.path("a.sock")}`]) {
      const client = serving.client(address);
      await client.run("x", INPUT);
      const accessible = client.run("x", INPUT, { network: "Accessible" });
      await expect(accessible).rejects.toMatchObject({ code: "PermissionDenied", status: "PERMISSION_DENIED" });
    }
    expect(runs).toBe(2);
  });

  test("a path socket alone shares its network on request", async () => {
    await using serving = new Serving();
    const networks: unknown[] = [];
    const { address } = await serving.server({
      insecureNoAuth: true,
      run: async (_image, input, { network }) => {
        networks.push(network);
        return input;
      },
    });
    await serving.client(address).run("x", INPUT, { network: "Accessible" });
    expect(networks).toEqual(["Accessible"]);
  });
});

describe("mTLS", () => {
  const authority = testAuthority("authority");
  const otherAuthority = testAuthority("other");

  function files(
    serving: Serving,
    name: string,
    certificate: ReturnType<typeof testAuthority>,
    ca = authority,
  ): { caFile: string; certFile: string; keyFile: string } {
    return {
      caFile: serving.file(`${name}-ca.pem`, ca.cert),
      certFile: serving.file(`${name}.pem`, certificate.cert),
      keyFile: serving.file(`${name}.key`, certificate.key),
    };
  }

  test.each(["127.0.0.1:0", "dns:///localhost:0"])(
    "at %s admits callers with a certificate of the CA, and no others",
    async (where) => {
      await using serving = new Serving();
      const tls = files(serving, "server", testCertificate("server", authority));
      const { address } = await serving.server({ addresses: [where], tls });
      const good = files(serving, "client", testCertificate("client", authority));
      expect(await serving.client(address, { tls: good }).run("x", INPUT)).toEqual(INPUT);
      const unavailable = { status: "UNAVAILABLE" };
      const bad = files(serving, "bad", testCertificate("client", otherAuthority));
      await expect(serving.client(address, { tls: bad }).run("x", INPUT)).rejects.toMatchObject(unavailable);
      await expect(serving.client(address, { tls: { caFile: good.caFile } }).run("x", INPUT)).rejects.toMatchObject(
        unavailable,
      );
      await expect(serving.client(address).run("x", INPUT)).rejects.toMatchObject(unavailable);
      // The server is not the one that the client expects.
      const misled = files(serving, "misled", testCertificate("client", authority), otherAuthority);
      await expect(serving.client(address, { tls: misled }).run("x", INPUT)).rejects.toMatchObject(unavailable);
      const renamed = { ...good, serverName: "runner.example.org" };
      await expect(serving.client(address, { tls: renamed }).run("x", INPUT)).rejects.toMatchObject(unavailable);
    },
  );

  test("the next connections use new certificates, and a mismatched set is skipped", async () => {
    await using serving = new Serving();
    const tls = files(serving, "server", testCertificate("server", authority));
    const onWarning = vi.fn<(message: string) => void>();
    const { address } = await serving.server({ addresses: ["127.0.0.1:0"], tls, refreshMs: 20, onWarning });
    const clientTls = files(serving, "client", testCertificate("client", authority));
    const before = serving.client(address, { tls: clientTls, refreshMs: 20 });
    await before.run("x", INPUT);
    // Half of the change: the certificate of a new CA, but still the old key.
    const next = testCertificate("server", otherAuthority);
    serving.file("server.pem", next.cert);
    await expect.poll(() => onWarning.mock.calls).toEqual([[expect.stringContaining(tls.certFile)]]);
    await serving.client(address, { tls: clientTls }).run("x", INPUT);
    // The rest of the change.
    serving.file("server.key", next.key);
    serving.file("server-ca.pem", otherAuthority.cert);
    const nextTls = files(serving, "next", testCertificate("client", otherAuthority), otherAuthority);
    await expect.poll(() => serving.client(address, { tls: nextTls }).run("x", INPUT).catch(String)).toEqual(INPUT);
    await expect(serving.client(address, { tls: clientTls }).run("x", INPUT)).rejects.toMatchObject({
      status: "UNAVAILABLE",
    });
  });

  test("reports a mismatched set once for each problem", async () => {
    await using serving = new Serving();
    const tls = files(serving, "server", testCertificate("server", authority));
    const warnings: string[] = [];
    const watcher = new CertificateWatcher(tls, undefined, (message) => warnings.push(message));
    const refresh = (): void => {
      watcher.refresh();
      watcher.refresh();
    };
    refresh();
    expect(warnings).toEqual([]);
    const next = testCertificate("server", authority);
    serving.file("server.pem", next.cert);
    refresh();
    expect(warnings).toEqual([expect.stringContaining(tls.certFile)]);
    rmSync(tls.caFile);
    refresh();
    expect(warnings).toHaveLength(2);
    expect(warnings[1]).toContain("ENOENT");
    serving.file("server-ca.pem", authority.cert);
    serving.file("server.key", next.key);
    refresh();
    expect(warnings).toHaveLength(2);
    // A problem that was repaired is reported again if it recurs.
    rmSync(tls.caFile);
    refresh();
    expect(warnings).toHaveLength(3);
  });

  test("a server names the certificate files that no longer match", async () => {
    await using serving = new Serving();
    const tls = files(serving, "server", testCertificate("server", authority));
    const warnings: string[] = [];
    await serving.server({
      addresses: ["127.0.0.1:0"],
      tls,
      refreshMs: 20,
      onWarning: (message) => warnings.push(message),
    });
    serving.file("server-ca.pem", "damaged");
    await expect.poll(() => warnings).toEqual([expect.stringContaining(tls.caFile)]);
  });

  test("TLS without client certificates requires a token", async () => {
    await using serving = new Serving();
    const { caFile, certFile, keyFile } = files(serving, "server", testCertificate("server", authority));
    const tokenFile = serving.file("token", TOKEN);
    const options = { addresses: ["127.0.0.1:0"], tls: { certFile, keyFile } };
    expect(() => server(options)).toThrow(expect.objectContaining({ code: "AuthenticationRequired" }));
    const { address } = await serving.server({ ...options, tokenFile });
    await expect(serving.client(address, { tls: { caFile } }).run("x", INPUT)).rejects.toMatchObject(unauthenticated);
    await serving.client(address, { tls: { caFile }, tokenFile }).run("x", INPUT);
  });

  test("rejects mismatched files at the start", async () => {
    await using serving = new Serving();
    const { certFile } = files(serving, "one", testCertificate("one", authority));
    const { keyFile } = files(serving, "two", testCertificate("two", authority));
    const unusable = expect.objectContaining({ code: "CertificateUnusable" });
    expect(() => server({ addresses: ["127.0.0.1:0"], tls: { certFile, keyFile } })).toThrow(unusable);
    expect(() => server({ addresses: ["127.0.0.1:0"], tls: { certFile, keyFile: serving.path("gone") } })).toThrow(
      unusable,
    );
    const empty = serving.file("empty", "");
    expect(() => createRunnerClient({ endpoint: "localhost:1", tls: { caFile: empty } })).toThrow(unusable);
  });
});

function server(options: Partial<RunnerServerOptions>): unknown {
  return createRunnerServer({
    run: (_image, input) => Promise.resolve(input),
    addresses: [],
    maxConcurrent: 1,
    maxQueued: 0,
    ...options,
  });
}
