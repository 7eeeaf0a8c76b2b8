import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TEST_CERTIFICATE, TEST_KEY } from "../../testing/certificate.ts";
import { fakeRegistry } from "../../testing/fake-registry.ts";
import { sha256, testImage, writeLayout } from "../../testing/layout.ts";
import { type PushPlaces, pushPlaces, SHORT_WAITS } from "../../testing/pushed-image.ts";
import { file, tarball } from "../../testing/tarball.ts";
import type { Progress } from "../base/progress.ts";
import { copyImage } from "./copy-image.ts";

let places: PushPlaces;
let box: PushPlaces["box"];
let registry: PushPlaces["registry"];
let store: PushPlaces["store"];
let image: PushPlaces["image"];
let noise: PushPlaces["noise"];
let push: PushPlaces["push"];

beforeEach(async () => {
  places = await pushPlaces();
  ({ box, registry, store, image, noise, push } = places);
});
afterEach(async () => {
  await places[Symbol.asyncDispose]();
});

const lines = (method: string): string[] =>
  registry.requests.filter(({ line }) => line.startsWith(`${method} `)).map(({ line }) => line);

function expectWhole(): void {
  for (const digest of [image.config.digest, ...image.layers.map((layer) => layer.digest)])
    expect(registry.blobs.get(digest)).toEqual(image.blobs.get(digest));
  expect(registry.manifests.get("v1")?.bytes).toEqual(image.blobs.get(image.manifest.digest));
}

describe("push", () => {
  test("transfers everything, and returns the digest", async () => {
    const pushed = await push();
    expectWhole();
    expect(pushed).toEqual({
      name: `${registry.host}/org/fn:v1`,
      digest: image.manifest.digest,
      blobs: { written: 3, present: 0, mounted: 0 },
      bytes: image.config.size + image.layers.reduce((sum, { size }) => sum + size, 0),
    });
  });

  test("the manifest comes last, so that a name never refers to missing content", async () => {
    await push();
    const writes = registry.requests.filter(({ line }) => /^(PUT|PATCH|POST)/.test(line)).map(({ line }) => line);
    expect(writes.findIndex((line) => line.includes("/manifests/"))).toBe(writes.length - 1);
  });

  test("sends only what the registry lacks", async () => {
    const { digest } = noise;
    registry.blobs.set(digest, image.blobs.get(digest) as Buffer);
    expect((await push()).blobs).toEqual({ written: 2, present: 1, mounted: 0 });
    expect(lines("PUT").some((line) => line.includes(encodeURIComponent(digest)))).toBe(false);
  });

  test("of an existing image only moves the name", async () => {
    await push();
    registry.requests.length = 0;
    const { blobs } = await push({ to: `${registry.host}/org/fn:v2` });
    expect(blobs).toEqual({ written: 0, present: 3, mounted: 0 });
    expect(registry.requests.map(({ line }) => line)).toEqual([
      `HEAD /v2/org/fn/manifests/${image.manifest.digest}`,
      "PUT /v2/org/fn/manifests/v2",
    ]);
  });

  test("treats a redirected HEAD as an existing blob, and does not follow it", async () => {
    registry.fault = (request, response) => {
      if (request.method !== "HEAD" || request.url?.includes("/blobs/") !== true) return false;
      return Boolean(response.writeHead(307, { location: "http://169.254.169.254/blob" }).end());
    };
    expect((await push()).blobs.present).toBe(3);
  });

  test("mounts from the given repository", async () => {
    const { digest } = noise;
    // In another repository of the registry.
    registry.fault = (request, response) => {
      if (request.method === "HEAD") return Boolean(response.writeHead(404).end());
      return false;
    };
    registry.blobs.set(digest, image.blobs.get(digest) as Buffer);
    expect((await push({ mountFrom: "org/base" })).blobs).toEqual({ written: 2, present: 0, mounted: 1 });
    expect(lines("POST")).toContain(
      `POST /v2/org/fn/blobs/uploads/?mount=${encodeURIComponent(digest)}&from=org%2Fbase`,
    );
  });

  test("sends blobs that it may not mount", async () => {
    registry.fault = (request, response) =>
      request.url?.includes("mount=") === true && Boolean(response.writeHead(403).end());
    expect((await push({ mountFrom: "org/base" })).blobs).toEqual({ written: 3, present: 0, mounted: 0 });
    expectWhole();
  });

  test("mounts from repositories that the store knows", async () => {
    const base = testImage([tarball([file("noise", "base")])]);
    registry.add(base);
    await store.image(`${registry.host}/org/base`, { insecureRegistries: [registry.host], ...SHORT_WAITS });
    await copyImage({ from: `store:${registry.host}/org/base`, to: "local", store });
    registry.requests.length = 0;
    registry.fault = (request, response) => request.method === "HEAD" && Boolean(response.writeHead(404).end());
    const { blobs } = await push({ from: "local" });
    expect(blobs).toEqual({ written: 0, present: 0, mounted: 2 });
  });

  test("in chunks, on request", async () => {
    await push({ chunkBytes: 50_000 });
    expectWhole();
    expect(lines("PATCH").length).toBeGreaterThan(Math.floor(noise.size / 50_000));
  });

  test("of one platform of an index, or of all", async () => {
    const other = testImage([tarball([file("o", "1")])], { platform: { architecture: "mips64" } });
    for (const [digest, bytes] of other.blobs) image.blobs.set(digest, bytes);
    const mediaType = "application/vnd.oci.image.index.v1+json";
    const manifests = [
      { ...other.manifest, platform: { os: "linux", architecture: "mips64" } },
      { ...image.manifest, platform: { os: "linux", architecture: "amd64" } },
    ];
    const index = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, manifests }));
    image.blobs.set(sha256(index), index);
    rmSync(join(box.dir, "layout"), { recursive: true });
    const annotations = { "org.opencontainers.image.ref.name": "t" };
    writeLayout(join(box.dir, "layout"), image, [
      { mediaType, digest: sha256(index), size: index.length, annotations },
    ]);

    const one = await push({ platform: { os: "linux", architecture: "mips64" } });
    expect(one.digest).toBe(other.manifest.digest);
    expect([...registry.manifests.keys()]).toEqual(["v1", other.manifest.digest]);
    const all = await push();
    expect(all.digest).toBe(sha256(index));
    expect(registry.manifests.get("v1")?.bytes).toEqual(index);
    expect(registry.manifests.has(image.manifest.digest)).toBe(true);
  });

  test("reports progress to the end of each blob", async () => {
    const events: Progress[] = [];
    await push({ onProgress: (event) => events.push(event) });
    expect(events.findLast(({ digest }) => digest === noise.digest)).toMatchObject({
      image: `${registry.host}/org/fn:v1`,
      bytes: noise.size,
      totalBytes: noise.size,
      layers: 3,
      state: "done",
    });
  });

  test("to a digest that the image does not have is rejected, and sets no name", async () => {
    const to = `${registry.host}/org/fn:v1@${sha256("other")}`;
    await expect(push({ to })).rejects.toMatchObject({ code: "DigestMismatch" });
    expect(registry.manifests.has("v1")).toBe(false);
  });
});

describe("a registry that fails while being pushed to", () => {
  test.each(["HEAD", "POST", "PUT"])("once, at %s, is retried", async (method) => {
    const failed = new Set<string>();
    registry.fault = (request, response) => {
      const key = `${request.method}`;
      if (request.method !== method || failed.has(key)) return false;
      failed.add(key);
      return Boolean(response.writeHead(503).end());
    };
    await push();
    expectWhole();
  });

  test("by resets in the middle of a blob gets the whole blob again", async () => {
    let resets = 0;
    registry.fault = (request) => {
      if (request.method !== "PUT" || request.url?.includes("/uploads/") !== true || resets === 2) return false;
      resets += 1;
      request.once("data", () => request.socket.destroy());
      return true;
    };
    await push();
    expectWhole();
  });

  test("by losing its response after the blob does not get the blob again", async () => {
    let lost = false;
    registry.fault = async (request) => {
      if (lost || request.method !== "PUT" || request.url?.includes(encodeURIComponent(noise.digest)) !== true)
        return false;
      lost = true;
      registry.blobs.set(noise.digest, Buffer.concat(await request.toArray()));
      request.socket.destroy();
      return true;
    };
    await push();
    expectWhole();
    expect(lines("PUT").filter((line) => line.includes(encodeURIComponent(noise.digest)))).toHaveLength(1);
  });

  test("between two chunks is asked for the upload's status, and gets the rest", async () => {
    let patches = 0;
    registry.fault = (request, response) => {
      if (request.method !== "PATCH") return false;
      patches += 1;
      return patches === 2 && Boolean(response.writeHead(503).end());
    };
    await push({ chunkBytes: 50_000 });
    expectWhole();
    expect(lines("GET").some((line) => line.includes("/uploads/"))).toBe(true);
  });

  test("permanently is an error with its code, and the name stays unchanged", async () => {
    registry.fault = (request, response) =>
      request.method === "PUT" &&
      request.url?.includes("/uploads/") === true &&
      Boolean(response.writeHead(413).end('{"errors":[{"code":"SIZE_INVALID","message":"too large"}]}'));
    await expect(push()).rejects.toMatchObject({
      code: "RegistryRefused",
      retryable: false,
      registryCode: "SIZE_INVALID",
    });
    expect(registry.manifests.size).toBe(0);
  });

  test("by never reading is a timeout", async () => {
    registry.fault = (request) => {
      if (request.method !== "PUT") return false;
      request.pause();
      return true;
    };
    const big = Buffer.alloc(64 * 1024 * 1024, 1);
    const bulky = testImage([big], { pack: (bytes) => bytes, layerType: "application/vnd.oci.image.layer.v1.tar" });
    rmSync(join(box.dir, "layout"), { recursive: true });
    writeLayout(join(box.dir, "layout"), bulky);
    const pushing = push({ stallTimeoutMs: 300, retry: { attempts: 1 } });
    await expect(pushing).rejects.toMatchObject({ code: "RegistryUnavailable", retryable: true });
  });

  test("at one blob aborts the others", async () => {
    registry.fault = (request, response) => {
      if (request.method !== "PUT") return false;
      if (request.url?.includes(encodeURIComponent(noise.digest)) !== true) return true; // never answered
      return Boolean(response.writeHead(403).end());
    };
    await expect(push({ stallTimeoutMs: 3_600_000 })).rejects.toMatchObject({ code: "Unauthorized" });
  });

  test("by storing another digest is an error", async () => {
    registry.fault = (request, response) => {
      if (request.method === "PUT") response.setHeader("docker-content-digest", sha256("other"));
      const { writeHead } = response;
      response.writeHead = ((status: number, headers?: Record<string, string>) => {
        delete headers?.["docker-content-digest"];
        return writeHead.call(response, status, headers);
      }) as typeof writeHead;
      return false;
    };
    await expect(push()).rejects.toMatchObject({ code: "RegistryRefused" });
  });

  test.each([
    ["another host", (host: string) => host.replace("127.0.0.1", "localhost")],
    ["a link-local address", () => "169.254.169.254"],
  ])("by sending uploads to %s gets neither content nor credentials", async (_, target) => {
    await using elsewhere = await fakeRegistry();
    registry.fault = (request, response) => {
      if (request.method !== "POST") return false;
      return Boolean(response.writeHead(202, { location: `http://${target(elsewhere.host)}/upload` }).end());
    };
    await expect(push()).rejects.toMatchObject({ code: "UnsafeAddress" });
    expect(elsewhere.requests).toEqual([]);
  });

  test("by returning http behind a TLS proxy is accessed by https", async () => {
    await using secure = await fakeRegistry({ tls: { key: TEST_KEY, cert: TEST_CERTIFICATE } });
    secure.fault = (request, response) => {
      if (request.method !== "POST") return false;
      const { writeHead } = response;
      response.writeHead = ((status: number, headers?: Record<string, string>) =>
        writeHead.call(response, status, {
          ...headers,
          location: `http://${secure.host}${headers?.["location"]}`,
        })) as typeof writeHead;
      return false;
    };
    await push({ to: `${secure.host}/org/fn:v1`, certificateAuthorities: [TEST_CERTIFICATE] });
    expect(secure.manifests.get("v1")?.bytes).toEqual(image.blobs.get(image.manifest.digest));
  });

  test("by redirecting an upload is rejected", async () => {
    await using elsewhere = await fakeRegistry();
    registry.fault = (request, response) =>
      request.method === "PUT" && Boolean(response.writeHead(307, { location: `http://${elsewhere.host}/x` }).end());
    await expect(push({ insecureRegistries: [registry.host, elsewhere.host] })).rejects.toMatchObject({
      code: "RegistryRefused",
    });
    expect(elsewhere.requests).toEqual([]);
  });

  test("is aborted without a partial result", async () => {
    const controller = new AbortController();
    registry.fault = (request) => {
      if (request.method === "PUT") controller.abort();
      return request.method === "PUT";
    };
    await expect(push({ signal: controller.signal })).rejects.toMatchObject({ code: "Aborted" });
    expect(registry.manifests.size).toBe(0);
  });
});
