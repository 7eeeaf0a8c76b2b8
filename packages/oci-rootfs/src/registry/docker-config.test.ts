import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RegistryAuth } from "@xfn/runner-contract";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import type { Credentials } from "./credentials.ts";
import { findAuth, parsePullSecret } from "./docker-auths.ts";
import { dockerCredentials } from "./docker-config.ts";

let box: Sandbox;
beforeEach(() => {
  box = sandbox();
});
afterEach(() => {
  box[Symbol.dispose]();
});

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const { signal } = new AbortController();

function ask(credentials: Credentials, registry: string, repository = "org/fn"): Promise<RegistryAuth | undefined> {
  return credentials({ registry, repository, signal });
}

function withConfig(config: object | string, env: Record<string, string> = {}): Credentials {
  const folder = join(box.dir, "docker");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.json"), typeof config === "string" ? config : JSON.stringify(config));
  return dockerCredentials({ env: { DOCKER_CONFIG: folder, ...env } });
}

/** Creates a helper on a separate PATH; `log` contains its input. */
function helper(name: string, script: string): { env: Record<string, string>; log: string } {
  const bin = join(box.dir, "bin");
  mkdirSync(bin, { recursive: true });
  const log = join(box.dir, `${name}.log`);
  writeFileSync(
    join(bin, `docker-credential-${name}`),
    `#!/bin/sh\nread server\necho "$1 $server" >>${log}\n${script}\n`,
    {
      mode: 0o755,
    },
  );
  return { env: { PATH: `${bin}:/usr/bin:/bin` }, log };
}

describe("the docker config file", () => {
  test("has credentials by registry", async () => {
    const credentials = withConfig({
      auths: {
        "r.example": { auth: base64("ada:open:sesame") },
        "r.example:5000": { username: "bob", password: "p" },
        "tokens.example": { identitytoken: "refresh" },
        "bearer.example": { registrytoken: "t" },
        "empty.example": {},
        "padded.example": { auth: base64("ada:x\0\0") },
      },
    });
    expect(await ask(credentials, "r.example")).toEqual({ username: "ada", password: "open:sesame" });
    expect(await ask(credentials, "r.example:5000")).toEqual({ username: "bob", password: "p" });
    expect(await ask(credentials, "tokens.example")).toEqual({ identityToken: "refresh" });
    expect(await ask(credentials, "bearer.example")).toEqual({ registryToken: "t" });
    expect(await ask(credentials, "padded.example")).toEqual({ username: "ada", password: "x" });
    expect(await ask(credentials, "empty.example")).toBeUndefined();
  });

  test.each(["other.example", "r.example.evil", "sub.r.example", "r.example:5000", "r.exampl", "evil-r.example"])(
    "credentials for r.example are not used for %s",
    async (registry) => {
      const credentials = withConfig({ auths: { "r.example": { auth: base64("a:b") } } });
      expect(await ask(credentials, registry)).toBeUndefined();
    },
  );

  test.each([
    "https://index.docker.io/v1/",
    "https://index.docker.io/v2/",
    "index.docker.io",
    "docker.io",
    "registry-1.docker.io",
  ])("%s is Docker Hub", async (key) => {
    const credentials = withConfig({ auths: { [key]: { auth: base64("a:b") } } });
    expect(await ask(credentials, "docker.io")).toEqual({ username: "a", password: "b" });
    expect(await ask(credentials, "index.docker.io.evil")).toBeUndefined();
  });

  test.each(["https://r.example", "https://r.example/v2/", "R.example", "http://r.example/v1/"])(
    "r.example may be written %s",
    async (key) => {
      expect(await ask(withConfig({ auths: { [key]: { auth: base64("a:b") } } }), "r.example")).toBeDefined();
    },
  );

  test("the longest matching path wins", async () => {
    const entry = (name: string): object => ({ auth: base64(`${name}:p`) });
    const credentials = withConfig({
      auths: {
        "r.example": entry("host"),
        "r.example/org": entry("org"),
        "r.example/org/fn": entry("fn"),
        "r.example/or": entry("or"),
      },
    });
    const name = async (repository: string): Promise<string | undefined> =>
      (await ask(credentials, "r.example", repository))?.username;
    expect(await name("org/fn")).toBe("fn");
    expect(await name("org/fn2")).toBe("org");
    expect(await name("orgs/fn")).toBe("host");
  });

  test.each([
    ["*.example.com", "a.example.com", true],
    ["*.example.com", "a.b.example.com", false],
    ["*.example.com", "example.com", false],
    ["*.example.com:5000", "a.example.com:5000", true],
    ["*.example.com", "a.example.com:5000", false],
    ["*", "a.example.com", false],
    ["*.com", "example.com", false],
    ["*.*.com", "a.example.com", false],
  ])("the pattern %s for %s: %s", async (key, registry, fits) => {
    const credentials = withConfig({ auths: { [key]: { auth: base64("a:b") } } });
    expect((await ask(credentials, registry)) !== undefined).toBe(fits);
  });

  test("has no credentials if it does not exist, for any user", async () => {
    for (const env of [{ DOCKER_CONFIG: join(box.dir, "nowhere") }, { HOME: box.dir }, { HOME: "relative" }])
      expect(await ask(dockerCredentials({ env }), "r.example")).toBeUndefined();
  });

  test("is in the home directory by default", async () => {
    mkdirSync(join(box.dir, ".docker"));
    writeFileSync(
      join(box.dir, ".docker/config.json"),
      JSON.stringify({ auths: { "r.example": { auth: base64("a:b") } } }),
    );
    expect(await ask(dockerCredentials({ env: { HOME: box.dir } }), "r.example")).toBeDefined();
  });

  test.each([
    ["no JSON", '{"auths": {"r.example": {"auth": "c2VjcmV0'],
    ["a list", "[]"],
    ["too large", `{"a":"${"x".repeat(2 * 1024 * 1024)}"}`],
  ])("that is %s is an error without its content", async (_, text) => {
    const error = await ask(withConfig(text), "r.example").catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({ code: "InvalidCredentials", retryable: false });
    expect((error as Error).message).not.toContain("c2VjcmV0");
  });

  test("a key with the name of an object property is an ordinary registry", async () => {
    const credentials = withConfig('{"auths": {"__proto__": {"auth": "YTpi"}, "constructor": {"auth": "YTpi"}}}');
    expect(await ask(credentials, "r.example")).toBeUndefined();
    expect(({} as Record<string, unknown>)["auth"]).toBeUndefined();
  });
});

describe("credential helpers", () => {
  const GIVE = `printf '{"ServerURL":"%s","Username":"ada","Secret":"open sesame"}' "$server"`;

  test("credsStore is called for every registry, with its name", async () => {
    const { env, log } = helper("store", GIVE);
    const credentials = withConfig({ credsStore: "store", auths: { "r.example": {} } }, env);
    expect(await ask(credentials, "r.example:5000")).toEqual({ username: "ada", password: "open sesame" });
    expect(await ask(credentials, "docker.io")).toEqual({ username: "ada", password: "open sesame" });
    expect(readFileSync(log, "utf8")).toBe("get r.example:5000\nget https://index.docker.io/v1/\n");
  });

  test("credHelpers take precedence, for their registry only", async () => {
    const { env } = helper("store", GIVE);
    helper("special", `echo '{"Username":"<token>","Secret":"refresh"}'`);
    const credentials = withConfig({ credsStore: "store", credHelpers: { "r.example": "special" } }, env);
    expect(await ask(credentials, "r.example")).toEqual({ identityToken: "refresh" });
    expect(await ask(credentials, "s.example")).toEqual({ username: "ada", password: "open sesame" });
  });

  test("without credentials from the helper, those of the file are used", async () => {
    const { env } = helper("store", "echo 'credentials not found in native keychain'; exit 1");
    const credentials = withConfig({ credsStore: "store", auths: { "r.example": { auth: base64("a:b") } } }, env);
    expect(await ask(credentials, "r.example")).toEqual({ username: "a", password: "b" });
    expect(await ask(credentials, "s.example")).toBeUndefined();
  });

  test.each([
    ["fails", "echo 'keychain is locked'; exit 3", "keychain is locked"],
    ["answers no JSON", "echo s3cret", "not a JSON object"],
    ["answers something else", 'echo \'{"Secret":"s3cret"}\'', "no Username"],
    ["never stops writing", "exec cat /dev/zero", "more than"],
    ["hangs", "sleep 3600 & wait", "no response after"],
  ])("a helper that %s is an error without the secret", async (_, script, words) => {
    const { env } = helper("bad", script);
    const folder = join(box.dir, "docker");
    withConfig({ credsStore: "bad" });
    const helperTimeoutMs = words === "no response after" ? 300 : 60_000;
    const credentials = dockerCredentials({ env: { ...env, DOCKER_CONFIG: folder }, helperTimeoutMs });
    const error = await ask(credentials, "r.example").catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({ code: "InvalidCredentials" });
    expect((error as Error).message).toContain(words);
    expect((error as Error).message).not.toContain("s3cret");
  });

  test("a helper that hangs is killed with its children", async () => {
    const started = join(box.dir, "child");
    const { env } = helper("bad", `sleep 3600 & echo $! >${started}.new && mv ${started}.new ${started}; wait`);
    const folder = join(box.dir, "docker");
    withConfig({ credsStore: "bad" });
    // On a busy machine the helper may need longer until it has a child.
    for (let helperTimeoutMs = 300; !existsSync(started); helperTimeoutMs *= 4) {
      const credentials = dockerCredentials({ env: { ...env, DOCKER_CONFIG: folder }, helperTimeoutMs });
      await expect(ask(credentials, "r.example")).rejects.toMatchObject({ code: "InvalidCredentials" });
    }
    const status = `/proc/${readFileSync(started, "utf8").trim()}/status`;
    const runs = (): boolean => existsSync(status) && !/^State:\s+Z/m.test(readFileSync(status, "utf8"));
    await expect.poll(runs).toBe(false);
  });

  test("an abort kills a helper", async () => {
    const { env } = helper("bad", "sleep 3600");
    const credentials = withConfig({ credsStore: "bad" }, env);
    const asking = credentials({ registry: "r.example", repository: "fn", signal: AbortSignal.timeout(100) });
    await expect(asking).rejects.toMatchObject({ code: "Aborted" });
  });

  test.each(["../../bin/sh", "a b", "/bin/sh", "-x", "a\u0000b", "$(id)"])(
    "%j is not the name of a helper",
    async (name) => {
      await expect(ask(withConfig({ credsStore: name }), "r.example")).rejects.toMatchObject({
        code: "InvalidCredentials",
      });
    },
  );

  test("the error of a missing helper names it", async () => {
    const credentials = withConfig({ credsStore: "nonesuch" }, { PATH: box.dir });
    await expect(ask(credentials, "r.example")).rejects.toThrow(/docker-credential-nonesuch/);
  });
});

describe("pull secrets", () => {
  test("never start a program", () => {
    const { env, log } = helper("store", 'echo \'{"Username":"u","Secret":"s"}\'');
    const before = process.env["PATH"];
    process.env["PATH"] = env["PATH"];
    try {
      const auths = parsePullSecret('{"credsStore":"store","credHelpers":{"r.example":"store"}}');
      expect(findAuth(auths ?? new Map(), "r.example/image")).toBeUndefined();
      expect(existsSync(log)).toBe(false);
    } finally {
      process.env["PATH"] = before;
    }
  });
});
