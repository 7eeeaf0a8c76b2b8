import { join } from "node:path";
import type { RegistryAuth } from "@xfn/runner-contract";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FakeRegistry, fakeRegistry } from "../../testing/fake-registry.ts";
import { testImage, writeLayout } from "../../testing/layout.ts";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { file, tarball } from "../../testing/tarball.ts";
import { ImageError } from "../base/errors.ts";
import type { Image, ImageOptions } from "../store/store.ts";
import { copyImage } from "../transfer/copy-image.ts";
import { openStore } from "../transfer/open-store.ts";
import { checkCredentials } from "./check-credentials.ts";
import type { Credentials } from "./credentials.ts";

let box: Sandbox;
let registry: FakeRegistry;
let tokens: FakeRegistry;
const image = testImage([tarball([file("a", "1")])]);
const BASIC = `Basic ${Buffer.from("user:pass").toString("base64")}`;

beforeEach(async () => {
  box = sandbox();
  registry = await fakeRegistry();
  tokens = await fakeRegistry();
  registry.add(image);
});
afterEach(async () => {
  await registry[Symbol.asyncDispose]();
  await tokens[Symbol.asyncDispose]();
  box[Symbol.dispose]();
});

async function pull(auth?: RegistryAuth, options: ImageOptions = {}): Promise<Image> {
  const store = await openStore({ dir: box.store });
  return store.image(`${registry.host}/fn`, {
    insecureRegistries: [registry.host],
    stallTimeoutMs: 30_000,
    retry: { attempts: 2, baseDelayMs: 1 },
    auth,
    ...options,
  });
}

/** Makes the registry require this authorization, and otherwise return this challenge. */
function demand(authorization: string, challenge: string): void {
  registry.fault = (request, response) => {
    if (request.headers.authorization === authorization) return false;
    response.writeHead(401, { "www-authenticate": challenge }).end();
    return true;
  };
}

const bearerAt = (host: string): string =>
  `Bearer realm="http://${host}/token",service="svc",scope="repository:other:push"`;

function giveToken(answer: object): void {
  tokens.fault = (_, response) => Boolean(response.end(JSON.stringify(answer)));
}

describe("basic", () => {
  test.each<[string, RegistryAuth]>([
    ["name and password", { username: "user", password: "pass" }],
    ["auth", { auth: Buffer.from("user:pass").toString("base64") }],
  ])("%s are sent when the registry requires them", async (_, auth) => {
    demand(BASIC, 'Basic realm="r"');
    expect((await pull(auth)).digest).toBe(image.manifest.digest);
    expect(registry.requests[0]?.authorization).toBeUndefined();
  });

  test("are sent to a registry on this machine that turns out to have no TLS", async () => {
    demand(BASIC, 'Basic realm="r"');
    const login = { username: "user", password: "pass" };
    expect((await pull(login, { insecureRegistries: [] })).digest).toBe(image.manifest.digest);
    registry.fault = (request, response) => {
      const isRight = request.headers.authorization === BASIC;
      response.writeHead(isRight ? 200 : 401, { "www-authenticate": 'Basic realm="r"' }).end("{}");
      return true;
    };
    const signal = new AbortController().signal;
    await checkCredentials(registry.host, login, { signal });
    const wrong = checkCredentials(registry.host, { ...login, password: "wrong" }, { signal });
    await expect(wrong).rejects.toMatchObject({
      code: "Unauthorized",
      message: expect.stringMatching(new RegExp(`^${registry.host} returned 401`)),
    });
  });

  test("wrong or no credentials are Unauthorized, and are not repeated in the message", async () => {
    demand(BASIC, 'Basic realm="r"');
    const wrong = await pull({ username: "user", password: "hunter2" }).catch((error: unknown) => error as Error);
    expect(wrong).toMatchObject({ code: "Unauthorized", retryable: false });
    expect(JSON.stringify([(wrong as Error).message, (wrong as Error).stack])).not.toContain("hunter2");
    await expect(pull()).rejects.toMatchObject({ code: "Unauthorized" });
  });
});

describe("bearer", () => {
  test.each(["token", "access_token"])("a token in the field %s is used, for this repository only", async (field) => {
    demand("Bearer t0ken", bearerAt(tokens.host));
    giveToken({ [field]: "t0ken" });
    expect((await pull({ username: "user", password: "pass" })).digest).toBe(image.manifest.digest);
    expect(tokens.requests).toEqual([
      { line: "GET /token?service=svc&scope=repository%3Afn%3Apull", authorization: BASIC },
    ]);
  });

  test("anonymous", async () => {
    demand("Bearer t0ken", bearerAt(tokens.host));
    giveToken({ token: "t0ken" });
    await pull();
    expect(tokens.requests[0]?.authorization).toBeUndefined();
  });

  test("an identity token is exchanged by POST", async () => {
    demand("Bearer t0ken", bearerAt(tokens.host));
    let body = "";
    tokens.fault = async (request, response) => {
      for await (const chunk of request) body += String(chunk);
      return Boolean(response.end('{"access_token":"t0ken"}'));
    };
    await pull({ identityToken: "refresh" });
    expect(tokens.requests[0]?.line).toBe("POST /token");
    expect(Object.fromEntries(new URLSearchParams(body))).toMatchObject({
      grant_type: "refresh_token",
      refresh_token: "refresh",
      service: "svc",
    });
  });

  test("a registry token is sent unchanged", async () => {
    demand("Bearer mine", bearerAt(tokens.host));
    await pull({ registryToken: "mine" });
    expect(tokens.requests).toEqual([]);
  });

  test("a token that expires during a pull is renewed", async () => {
    let valid = "one";
    registry.fault = (request, response) => {
      if (request.headers.authorization === `Bearer ${valid}`) {
        valid = "two";
        return false;
      }
      response.writeHead(401, { "www-authenticate": bearerAt(tokens.host) }).end();
      return true;
    };
    tokens.fault = (_, response) => Boolean(response.end(JSON.stringify({ token: valid })));
    valid = "one";
    registry.fault = (
      (fault) => (request, response) =>
        request.url?.includes("manifests") || valid === "two" ? fault(request, response) : false
    )(registry.fault);
    expect((await pull()).digest).toBe(image.manifest.digest);
  });

  test.each([
    ["no token", {}],
    ["a token that is not a string", { token: 1 }],
    ["a token with a line break", { token: "a\r\nx-evil: 1" }],
  ])("%s is Unauthorized", async (_, answer) => {
    demand("Bearer t0ken", bearerAt(tokens.host));
    giveToken(answer);
    await expect(pull()).rejects.toMatchObject({ code: "Unauthorized" });
  });

  test("an endless token response is rejected", async () => {
    demand("Bearer t0ken", bearerAt(tokens.host));
    tokens.fault = (_, response) => Boolean(response.end(Buffer.alloc(2 * 1024 * 1024, "x")));
    await expect(pull()).rejects.toMatchObject({ code: "TooLarge" });
  });

  test("a token server's redirect is not followed, so that it cannot leak credentials", async () => {
    const elsewhere = await fakeRegistry();
    try {
      demand("Bearer t0ken", bearerAt(tokens.host));
      tokens.fault = (_, response) => Boolean(response.writeHead(302, { location: `http://${elsewhere.host}/` }).end());
      // Even to an allowed host.
      const insecureRegistries = [registry.host, elsewhere.host];
      const pulling = pull({ username: "user", password: "pass" }, { insecureRegistries });
      await expect(pulling).rejects.toMatchObject({ name: "ImageError" });
      expect(elsewhere.requests).toEqual([]);
    } finally {
      await elsewhere[Symbol.asyncDispose]();
    }
  });

  test("a foreign realm gets no credentials unless it is trusted", async () => {
    const foreign = tokens.host.replace("127.0.0.1", "localhost");
    demand("Bearer t0ken", bearerAt(foreign));
    giveToken({ token: "t0ken" });
    await pull({ username: "user", password: "pass" });
    expect(tokens.requests[0]?.authorization).toBeUndefined();
    await pull({ username: "user", password: "pass" }, { trustedRealms: [foreign], pullPolicy: "Always" });
    expect(tokens.requests[1]?.authorization).toBe(BASIC);
  });

  test("a realm at a link-local address is rejected", async () => {
    demand("Bearer t0ken", bearerAt("169.254.169.254"));
    await expect(pull({ username: "user", password: "pass" })).rejects.toMatchObject({ code: "UnsafeAddress" });
  });

  test("a realm that is not an http URL is rejected", async () => {
    demand("Bearer t0ken", 'Bearer realm="file:///etc/passwd"');
    await expect(pull()).rejects.toMatchObject({ code: "Unauthorized" });
  });
});

describe("credentials", () => {
  const BASIC_CHALLENGE = 'Basic realm="r"';

  test("are looked up only when the registry requires them, once for a pull, by registry and repository", async () => {
    const asked: object[] = [];
    const credentials: Credentials = async ({ registry: host, repository }) => {
      asked.push({ host, repository });
      return { username: "user", password: "pass" };
    };
    await pull(undefined, { credentials });
    expect(asked).toEqual([]);
    demand(BASIC, BASIC_CHALLENGE);
    await pull(undefined, { credentials, pullPolicy: "Always" });
    expect(asked).toEqual([{ host: registry.host, repository: "fn" }]);
  });

  test("of the call take precedence", async () => {
    demand(BASIC, BASIC_CHALLENGE);
    const credentials: Credentials = () => Promise.reject(new Error("asked"));
    expect((await pull({ username: "user", password: "pass" }, { credentials })).digest).toBe(image.manifest.digest);
  });

  test("of the call do not hide others if they are empty", async () => {
    demand(BASIC, BASIC_CHALLENGE);
    const credentials: Credentials = async () => ({ username: "user", password: "pass" });
    expect((await pull({ username: "" }, { credentials })).digest).toBe(image.manifest.digest);
  });

  test("that cannot be read do not affect public images, and are reported for others", async () => {
    const broken = new ImageError("InvalidCredentials", "the keychain is locked");
    const credentials: Credentials = () => Promise.reject(broken);
    demand("Bearer t0ken", bearerAt(tokens.host));
    giveToken({ token: "t0ken" });
    expect((await pull(undefined, { credentials })).digest).toBe(image.manifest.digest);
    demand(BASIC, BASIC_CHALLENGE);
    const refused = pull(undefined, { credentials, pullPolicy: "Always" });
    await expect(refused).rejects.toMatchObject({ code: "Unauthorized" });
    await expect(refused).rejects.toThrow(/the keychain is locked/);
  });
});

describe("a token", () => {
  test("is requested once if several layers are rejected at once", async () => {
    const many = testImage(Array.from({ length: 6 }, (_, i) => tarball([file(`f${i}`, `${i}`)])));
    registry.add(many);
    // Manifests are public, blobs are not.
    registry.fault = (request, response) => {
      if (request.url?.includes("/manifests/") === true || request.headers.authorization === "Bearer t0ken")
        return false;
      if (request.url?.includes(many.config.digest) === true) return false;
      response.writeHead(401, { "www-authenticate": bearerAt(tokens.host) }).end();
      return true;
    };
    giveToken({ token: "t0ken" });
    await pull();
    expect(tokens.requests).toHaveLength(1);
  });

  test("is not requested again if only an older one was rejected", async () => {
    const two = testImage([tarball([file("a", "1")]), tarball([file("b", "2")])]);
    registry.add(two);
    let gotToken = (): void => {};
    const token = new Promise<void>((resolve) => {
      gotToken = resolve;
    });
    registry.fault = async (request, response) => {
      if (request.headers.authorization === "Bearer t0ken") {
        gotToken();
        return false;
      }
      if (two.layers.every(({ digest }) => request.url?.includes(digest) !== true)) return false;
      // The second rejection arrives when the first request has its token.
      if (request.url?.includes(two.layers[1]?.digest ?? "") === true) await token;
      response.writeHead(401, { "www-authenticate": bearerAt(tokens.host) }).end();
      return true;
    };
    giveToken({ token: "t0ken" });
    await pull();
    expect(tokens.requests).toHaveLength(1);
  });

  test("is renewed before it expires", async () => {
    demand("Bearer t0ken", bearerAt(tokens.host));
    giveToken({ token: "t0ken", expires_in: 0.001 });
    await pull();
    const refusals = registry.requests.filter(({ authorization }) => authorization === undefined);
    expect(refusals).toHaveLength(1);
    expect(tokens.requests.length).toBeGreaterThan(1);
  });

  test("is used until it expires", async () => {
    demand("Bearer t0ken", bearerAt(tokens.host));
    giveToken({ token: "t0ken", expires_in: 300 });
    await pull();
    expect(tokens.requests).toHaveLength(1);
  });

  test("that is rejected again is an error, not a loop", async () => {
    demand("Bearer another", bearerAt(tokens.host));
    giveToken({ token: "t0ken" });
    await expect(pull()).rejects.toMatchObject({ code: "Unauthorized" });
    expect(tokens.requests).toHaveLength(1);
  });

  test("for a push has scopes to write this repository, and to read the one to mount from", async () => {
    const layout = writeLayout(join(box.dir, "layout"), image);
    registry.manifests.clear();
    registry.blobs.clear();
    demand("Bearer t0ken", bearerAt(tokens.host));
    giveToken({ token: "t0ken" });
    const insecureRegistries = [registry.host];
    await copyImage({ from: layout, to: `${registry.host}/fn`, mountFrom: "base", insecureRegistries });
    const scopes = tokens.requests.map(({ line }) => new URL(line.slice(4), "http://any").searchParams.getAll("scope"));
    expect(scopes).toContainEqual(["repository:fn:pull,push"]);
    expect(scopes).toContainEqual(["repository:fn:pull,push", "repository:base:pull"]);
  });

  test("that expires during an upload is renewed, and the blob is sent again", async () => {
    const layout = writeLayout(join(box.dir, "layout"), image);
    registry.blobs.clear();
    registry.manifests.clear();
    let valid = 1;
    registry.fault = (request, response) => {
      if (request.method === "PUT" && valid === 1) valid = 2;
      if (request.headers.authorization === `Bearer ${valid}`) return false;
      request.resume();
      response.writeHead(401, { "www-authenticate": bearerAt(tokens.host) }).end();
      return true;
    };
    tokens.fault = (_, response) => Boolean(response.end(JSON.stringify({ token: String(valid) })));
    const insecureRegistries = [registry.host];
    const retry = { attempts: 3, baseDelayMs: 1 };
    await copyImage({ from: layout, to: `${registry.host}/fn`, insecureRegistries, retry });
    expect(registry.manifests.get("latest")?.bytes).toEqual(image.blobs.get(image.manifest.digest));
  });
});
