import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FakeRegistry, fakeRegistry } from "../../testing/fake-registry.ts";
import { testImage } from "../../testing/layout.ts";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { file, tarball } from "../../testing/tarball.ts";
import type { Image, ImageOptions } from "../store/store.ts";
import { openStore } from "../transfer/open-store.ts";
import type { Credentials } from "./credentials.ts";
import { parseMirror } from "./mirrors.ts";

let box: Sandbox;
let registry: FakeRegistry;
let mirror: FakeRegistry;
const image = testImage([tarball([file("a", "1")]), tarball([file("b", "2")])]);
const BASIC = (name: string): string => `Basic ${Buffer.from(`${name}:secret`).toString("base64")}`;

beforeEach(async () => {
  box = sandbox();
  registry = await fakeRegistry();
  mirror = await fakeRegistry();
  registry.add(image);
});
afterEach(async () => {
  await registry[Symbol.asyncDispose]();
  await mirror[Symbol.asyncDispose]();
  box[Symbol.dispose]();
});

async function pull(options: ImageOptions = {}): Promise<Image> {
  const store = await openStore({ dir: box.store });
  return store.image(`${registry.host}/fn`, {
    insecureRegistries: [registry.host, mirror.host],
    mirrors: { [registry.host]: [mirror.host] },
    stallTimeoutMs: 30_000,
    retry: { attempts: 2, baseDelayMs: 1 },
    ...options,
  });
}

describe("a mirror", () => {
  test("is used instead of the registry", async () => {
    mirror.add(image);
    expect((await pull()).name).toBe(`${registry.host}/fn:latest`);
    expect(registry.requests).toEqual([]);
  });

  test("may have a path before the repositories", async () => {
    mirror.add(image);
    await pull({ mirrors: { [registry.host]: [`${mirror.host}/hub`] } });
    expect(mirror.requests[0]?.line).toBe("GET /v2/hub/fn/manifests/latest");
  });

  test("of another registry is not used", async () => {
    await pull({ mirrors: { "docker.io": [mirror.host] } });
    expect(mirror.requests).toEqual([]);
  });

  test.each([404, 403, 503])("that returns %d falls back to the registry", async (status) => {
    mirror.fault = (_, response) => Boolean(response.writeHead(status).end());
    expect((await pull()).digest).toBe(image.manifest.digest);
  });

  test("that is down is tried once, not for each layer", async () => {
    mirror.fault = (request) => {
      request.socket.destroy();
      return true;
    };
    expect((await pull()).digest).toBe(image.manifest.digest);
    expect(mirror.requests).toHaveLength(1);
  });

  test("that fails in a layer falls back to the registry for the rest", async () => {
    mirror.add(image);
    const { digest } = image.layers[0] as { digest: string };
    const bytes = image.blobs.get(digest) as Buffer;
    mirror.fault = (request, response) => {
      if (!request.url?.endsWith(digest)) return false;
      if (request.headers.range !== undefined) return Boolean(response.writeHead(404).end());
      response.writeHead(200, { "content-length": bytes.length });
      response.write(bytes.subarray(0, 10), () => setTimeout(() => response.destroy(), 20));
      return true;
    };
    expect((await pull()).digest).toBe(image.manifest.digest);
    expect(registry.requests.filter(({ range }) => range === "bytes=10-")).toHaveLength(1);
  });

  test("with wrong content for a digest falls back to the registry", async () => {
    mirror.manifests.set(image.manifest.digest, { bytes: Buffer.from("{}"), mediaType: image.manifest.mediaType });
    const store = await openStore({ dir: box.store });
    const pulled = await store.image(`${registry.host}/fn@${image.manifest.digest}`, {
      insecureRegistries: [registry.host, mirror.host],
      mirrors: { [registry.host]: [mirror.host] },
    });
    expect(pulled.digest).toBe(image.manifest.digest);
  });

  test("is in the error, with its message, if the registry fails too", async () => {
    mirror.fault = (_, response) => Boolean(response.writeHead(403).end());
    registry.manifests.clear();
    const error = await pull().catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({ code: "NotFound", registryCode: "MANIFEST_UNKNOWN" });
    expect((error as Error).message).toContain(`mirror ${mirror.host}`);
  });

  test("does not get the registry's credentials, nor vice versa", async () => {
    const credentials: Credentials = async ({ registry: host }) => ({ username: host, password: "secret" });
    for (const server of [registry, mirror]) {
      server.fault = (request, response) => {
        if (request.headers.authorization !== undefined)
          return server === mirror && Boolean(response.writeHead(404).end());
        return Boolean(response.writeHead(401, { "www-authenticate": "Basic" }).end());
      };
    }
    await pull({ credentials });
    const sent = (server: FakeRegistry): Set<string | undefined> =>
      new Set(server.requests.map(({ authorization }) => authorization));
    expect(sent(mirror)).toEqual(new Set([undefined, BASIC(mirror.host)]));
    expect(sent(registry)).toEqual(new Set([undefined, BASIC(registry.host)]));
  });

  test("does not get the credentials of the call, which are for the registry", async () => {
    mirror.fault = (_, response) => Boolean(response.writeHead(401, { "www-authenticate": "Basic" }).end());
    await pull({ auth: { username: "ada", password: "secret" } });
    expect(mirror.requests.map(({ authorization }) => authorization)).toEqual(mirror.requests.map(() => undefined));
  });

  test.each(["mirror", "http://mirror.example", "mirror.example/UPPER", "mirror.example:x", "", "a.b/c:tag", "a.b/@x"])(
    "%j is none",
    (text) => {
      expect(() => parseMirror(text)).toThrow(expect.objectContaining({ code: "InvalidReference" }));
    },
  );

  test("is a host with an optional path", () => {
    expect(parseMirror("Mirror.example:5000/hub/")).toEqual({ host: "mirror.example:5000", prefix: "hub" });
    expect(parseMirror("localhost")).toEqual({ host: "localhost", prefix: "" });
  });
});
