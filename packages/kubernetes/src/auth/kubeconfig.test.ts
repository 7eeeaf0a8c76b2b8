import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { inClusterAccess } from "./in-cluster.ts";
import { type KubeconfigOptions, loadKubeconfig } from "./kubeconfig.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kubeconfig-"));
});
afterEach(() => rm(folder, { recursive: true }));

const base64 = (text: string): string => Buffer.from(text).toString("base64");

async function load(user: object, cluster: object = {}, options: KubeconfigOptions = {}) {
  const path = join(folder, "config");
  await writeFile(
    path,
    JSON.stringify({
      "current-context": "here",
      contexts: [
        { name: "here", context: { cluster: "c", user: "u", namespace: "team" } },
        { name: "there", context: { cluster: "other", user: "u" } },
      ],
      clusters: [
        { name: "c", cluster: { server: "https://one.example:6443/", ...cluster } },
        { name: "other", cluster: { server: "https://two.example/k8s/c-1" } },
      ],
      users: [{ name: "u", user }],
    }),
  );
  return loadKubeconfig({ path, env: {}, ...options });
}

test("a context provides the server, the namespace and a token", async () => {
  const access = await load({ token: "secret" });
  expect(access.server).toBe("https://one.example:6443");
  expect(access.namespace).toBe("team");
  expect(await access.headers()).toEqual({ authorization: "Bearer secret" });
  expect(await access.refresh()).toBe(false);
  expect((await load({ token: "secret" }, {}, { context: "there" })).server).toBe("https://two.example/k8s/c-1");
});

test("certificates are read from the kubeconfig or from files, for each connection", async () => {
  await writeFile(join(folder, "ca.pem"), "first");
  const access = await load(
    { "client-certificate-data": base64("cert"), "client-key-data": base64("key") },
    { "certificate-authority": "ca.pem", "tls-server-name": "inner" },
  );
  expect(await access.tls()).toMatchObject({ ca: "first", cert: "cert", key: "key", serverName: "inner" });
  await writeFile(join(folder, "ca.pem"), "second");
  expect(await access.tls()).toMatchObject({ ca: "second", insecureSkipVerify: false });
  await rm(join(folder, "ca.pem"));
  await expect(access.tls()).rejects.toMatchObject({ code: "Unreadable" });
});

test("a user name, a password and impersonation become headers", async () => {
  const impersonated = { as: "ada", "as-groups": ["dev", "ops"], "as-user-extra": { "example.org/team": ["shop"] } };
  const access = await load({ username: "a", password: "b:c", ...impersonated });
  expect(await access.headers()).toEqual({
    authorization: `Basic ${base64("a:b:c")}`,
    "impersonate-user": "ada",
    "impersonate-group": ["dev", "ops"],
    "impersonate-extra-example.org%2fteam": ["shop"],
  });
});

test("a token file is read again when the server rejects the token", async () => {
  await writeFile(join(folder, "token"), "old\n");
  const access = await load({ tokenFile: "token" });
  expect(await access.headers()).toEqual({ authorization: "Bearer old" });
  expect(await access.refresh()).toBe(false);
  await writeFile(join(folder, "token"), "new\n");
  expect(await access.refresh()).toBe(true);
  expect(await access.headers()).toEqual({ authorization: "Bearer new" });
  await rm(join(folder, "token"));
  expect(await access.refresh()).toBe(false);
});

/** A credential program in shell. It counts its calls in a file. */
async function plugin(body: string): Promise<void> {
  await writeFile(join(folder, "plugin"), `#!/bin/sh\necho x >> "$(dirname "$0")/calls"\n${body}\n`, { mode: 0o755 });
}
const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "./plugin", interactiveMode: "Never" };

test("credentials of a program are cached until they expire or are rejected", async () => {
  await plugin(
    `N=$(wc -l < "$(dirname "$0")/calls"); echo '{"status":{"token":"'$ARG-$N'","expirationTimestamp":"2999-01-01T00:00:00Z"}}'`,
  );
  const access = await load(
    { exec: { ...exec, env: [{ name: "ARG", value: "t" }] } },
    {},
    { env: { PATH: process.env["PATH"] } },
  );
  const both = await Promise.all([access.headers(), access.headers()]);
  expect(both).toEqual([{ authorization: "Bearer t-1" }, { authorization: "Bearer t-1" }]);
  expect(access.headers()).not.toBeInstanceOf(Promise);
  expect(await access.refresh()).toBe(true);
  expect(await access.headers()).toEqual({ authorization: "Bearer t-2" });
});

test("expired credentials of a program are fetched again, with their certificate", async () => {
  await plugin(
    `N=$(wc -l < "$(dirname "$0")/calls"); echo '{"status":{"clientCertificateData":"cert'$N'","clientKeyData":"key","expirationTimestamp":"2000-01-01T00:00:00Z"}}'`,
  );
  const access = await load({ exec }, {}, { env: { PATH: process.env["PATH"] } });
  expect(await access.tls()).toMatchObject({ cert: "cert1", key: "key" });
  expect(await access.tls()).toMatchObject({ cert: "cert2" });
});

test("a program gets its API version and, on request, the cluster", async () => {
  await plugin(`printf '{"status":{"token":"%s"}}' "$(echo "$KUBERNETES_EXEC_INFO" | base64 -w0)"`);
  const access = await load(
    { exec: { ...exec, provideClusterInfo: true } },
    {},
    { env: { PATH: process.env["PATH"] } },
  );
  const { authorization = "" } = await access.headers();
  expect(JSON.parse(Buffer.from(String(authorization).slice("Bearer ".length), "base64").toString())).toEqual({
    apiVersion: "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    spec: { interactive: false, cluster: { server: "https://one.example:6443/" } },
  });
});

test("the error of a failed program contains its output and the install hint", async () => {
  await plugin("echo no such account >&2; exit 3");
  const access = await load(
    { exec: { ...exec, installHint: "get it there" } },
    {},
    { env: { PATH: process.env["PATH"] } },
  );
  await expect(access.headers()).rejects.toMatchObject({
    code: "Credentials",
    message: expect.stringMatching(/plugin.*no such account\nget it there/) as unknown,
  });
  await plugin("echo '{}'");
  await expect(access.headers()).rejects.toMatchObject({ code: "Credentials" });
});

test("an auth-provider is delegated to the official client", async () => {
  await writeFile(join(folder, "token"), "provided");
  const access = await load({ "auth-provider": { name: "any", config: { tokenFile: join(folder, "token") } } });
  expect(await access.headers()).toEqual({ authorization: "Bearer provided" });
});

test("the first of several files that sets a value wins, and missing files are skipped", async () => {
  const one = join(folder, "one");
  const two = join(folder, "two");
  await writeFile(one, "current-context: x\nusers:\n- {name: u, user: {token: first}}\n");
  await writeFile(
    two,
    "current-context: y\nusers:\n- {name: u, user: {token: second}}\nclusters:\n- {name: c, cluster: {server: 'https://s.example'}}\ncontexts:\n- {name: x, context: {cluster: c, user: u}}\n",
  );
  const access = await loadKubeconfig({ env: { KUBECONFIG: [one, join(folder, "none"), two].join(":") } });
  expect(access.server).toBe("https://s.example");
  expect(await access.headers()).toEqual({ authorization: "Bearer first" });
});

test("a missing file and an invalid file have different error codes", async () => {
  const code = async (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      () => "none",
      (error: { code?: string }) => error.code,
    );
  expect(await code(loadKubeconfig({ path: join(folder, "none"), env: {} }))).toBe("Unreadable");
  await expect(loadKubeconfig({ path: join(folder, "none"), env: {} })).rejects.toThrow("there is no such file");
  expect(await code(loadKubeconfig({ env: { HOME: folder } }))).toBe("NotFound");
  expect(await code(load({}, {}, { context: "nowhere" }))).toBe("Invalid");
  expect(await code(load({}, { server: "one.example:6443" }))).toBe("Invalid");
  expect(await code(load({}, { server: "ftp://one.example" }))).toBe("Invalid");
  for (const text of ["", "[]", "a: [", "contexts: 1"]) {
    await writeFile(join(folder, "bad"), text);
    expect(await code(loadKubeconfig({ path: join(folder, "bad"), env: {} }))).toBe("Invalid");
  }
});

test("the environment's proxy is used", async () => {
  const env = { HTTPS_PROXY: "http://p:3128" };
  expect((await load({}, { server: "https://api.example" }, { env })).proxy).toBe("http://p:3128");
});

test("the kubeconfig's proxy overrides the environment's", async () => {
  const access = await load({}, { "proxy-url": "http://own" }, { env: { HTTPS_PROXY: "http://p" } });
  expect(access.proxy).toBe("http://own");
});

test("a pod uses its service account, whose files may change", async () => {
  await mkdir(join(folder, "sa"));
  for (const [name, text] of [
    ["token", "t1"],
    ["ca.crt", "ca"],
    ["namespace", "team\n"],
  ] as const) {
    await writeFile(join(folder, "sa", name), text);
  }
  const access = await inClusterAccess({
    folder: join(folder, "sa"),
    env: { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" },
  });
  expect(access).toMatchObject({ server: "https://[fd00::1]:443", namespace: "team" });
  expect(await access.tls()).toEqual({ ca: "ca" });
  expect(await access.headers()).toEqual({ authorization: "Bearer t1" });
  await writeFile(join(folder, "sa", "token"), "t2");
  expect(await access.refresh()).toBe(true);
  expect(await access.headers()).toEqual({ authorization: "Bearer t2" });
});
