import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { blobOf, blobUrl, image, pull, refused, registry, store, usePulls } from "../../testing/fake-pulls.ts";
import { sha256, testImage } from "../../testing/layout.ts";
import { file, tarball } from "../../testing/tarball.ts";
import type { Progress } from "../base/progress.ts";

usePulls();

describe("pull", () => {
  test("an image by tag, then by digest without a request", async () => {
    const first = await pull();
    expect(first.name).toBe(`${registry.host}/fn:latest`);
    expect(first.layers).toHaveLength(2);
    const { length } = registry.requests;
    expect(await pull()).toEqual(first);
    const pinned = await store.image(`${registry.host}/fn@${image.manifest.digest}`, {
      insecureRegistries: [registry.host],
    });
    expect(pinned.layers).toEqual(first.layers);
    expect(registry.requests).toHaveLength(length);
  });

  test("Always requests only the manifest of an unchanged image", async () => {
    await pull();
    registry.requests.length = 0;
    await pull({ pullPolicy: "Always" });
    expect(registry.requests.map(({ line }) => line)).toEqual(["GET /v2/fn/manifests/latest"]);
  });

  test("Always sees a moved tag, and IfNotPresent does not", async () => {
    await pull();
    const next = testImage([tarball([file("c", "3")])]);
    registry.add(next);
    expect((await pull()).digest).toBe(image.manifest.digest);
    expect((await pull({ pullPolicy: "Always" })).digest).toBe(next.manifest.digest);
    expect((await pull()).digest).toBe(next.manifest.digest);
  });

  test("Never sends no request", async () => {
    await expect(pull({ pullPolicy: "Never" })).rejects.toMatchObject({ code: "NotFound" });
    expect(registry.requests).toEqual([]);
  });

  test("only missing layers are pulled", async () => {
    await pull();
    registry.requests.length = 0;
    const more = testImage([
      tarball([file("a", "1".repeat(3000))]),
      tarball([file("b", "2")]),
      tarball([file("c", "3")]),
    ]);
    registry.add(more);
    await pull({ pullPolicy: "Always" });
    const blobs = registry.requests.filter(({ line }) => line.includes("/blobs/")).map(({ line }) => line.slice(-71));
    expect(blobs.sort()).toEqual([more.config.digest, more.layers[2]?.digest as string].sort());
  });

  test("concurrent pulls of one image download it once", async () => {
    const images = await Promise.all(Array.from({ length: 10 }, () => pull()));
    expect(new Set(images.map(({ digest }) => digest)).size).toBe(1);
    for (const digest of [image.config.digest, ...image.layers.map((layer) => layer.digest)])
      expect(registry.requests.filter(({ line }) => line.endsWith(digest))).toHaveLength(1);
  });

  test("the manifest for this machine is selected from an index", async () => {
    const other = testImage([tarball([file("o", "1")])], { platform: { architecture: "mips64" } });
    registry.add(other, "other");
    const index = indexOf([
      { ...other.manifest, platform: { os: "linux", architecture: "mips64" } },
      { ...image.manifest, platform: { os: "linux", architecture: process.arch === "x64" ? "amd64" : process.arch } },
    ]);
    expect((await pull()).digest).toBe(image.manifest.digest);
    expect((await pull({ platform: { os: "linux", architecture: "mips64" } })).digest).toBe(other.manifest.digest);
    expect((await pull({ pullPolicy: "Always" })).digest).toBe(image.manifest.digest);
    expect(store.list()).toEqual([{ name: `${registry.host}/fn:latest`, digest: index, built: false }]);
  });

  test("progress ends with every layer's full size", async () => {
    const events: Progress[] = [];
    await pull({ onProgress: (event) => events.push(event) });
    for (const [layer, { digest, size }] of image.layers.entries()) {
      expect(events.findLast((event) => event.layer === layer)).toEqual({
        image: `${registry.host}/fn:latest`,
        digest,
        layer,
        layers: 2,
        bytes: size,
        totalBytes: size,
        state: "done",
      });
    }
  });
});

function indexOf(manifests: object[], tag = "latest"): string {
  const mediaType = "application/vnd.oci.image.index.v1+json";
  const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, manifests }));
  registry.manifests.set(tag, { bytes, mediaType });
  registry.manifests.set(sha256(bytes), { bytes, mediaType });
  return sha256(bytes);
}

describe("wrong content", () => {
  test("one bit flipped in a layer", async () => {
    const bytes = Buffer.from(image.blobs.get(blobOf(0)) as Buffer);
    bytes[20] = (bytes[20] as number) ^ 1;
    registry.fault = (request, response) => request.url === blobUrl(0) && Boolean(response.end(bytes));
    expect(await refused("DigestMismatch")).toMatchObject({ digest: blobOf(0), layer: 0 });
  });

  test("a layer longer than its size", async () => {
    const bytes = Buffer.concat([image.blobs.get(blobOf(0)) as Buffer, Buffer.alloc(1)]);
    registry.fault = (request, response) => request.url === blobUrl(0) && Boolean(response.end(bytes));
    await refused("SizeMismatch");
  });

  test("an endless layer is read up to its size", async () => {
    let sent = 0;
    registry.fault = (request, response) => {
      if (request.url !== blobUrl(0)) return false;
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) sent += 65_536;
      };
      response.on("drain", more);
      more();
      return true;
    };
    await refused("SizeMismatch");
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });

  test("a layer shorter than its size", async () => {
    const bytes = (image.blobs.get(blobOf(0)) as Buffer).subarray(0, 10);
    registry.fault = (request, response) => request.url === blobUrl(0) && Boolean(response.end(bytes));
    await refused("SizeMismatch");
  });

  test("a connection that ends in a layer is retryable", async () => {
    registry.fault = (request, response) => {
      if (request.url !== blobUrl(0)) return false;
      response.writeHead(200, { "content-length": 1000 });
      response.write("x", () => response.destroy());
      return true;
    };
    expect(await refused("RegistryUnavailable")).toMatchObject({ retryable: true });
  });

  test("a manifest with a wrong digest", async () => {
    const other = testImage([tarball([file("z", "1")])]);
    const reference = `${registry.host}/fn@${image.manifest.digest}`;
    registry.manifests.set(image.manifest.digest, {
      bytes: other.blobs.get(other.manifest.digest) as Buffer,
      mediaType: other.manifest.mediaType,
    });
    await expect(store.image(reference, { insecureRegistries: [registry.host] })).rejects.toMatchObject({
      code: "DigestMismatch",
    });
  });

  test("a manifest with a wrong digest of another algorithm", async () => {
    const bytes = image.blobs.get(image.manifest.digest) as Buffer;
    const digest = `sha512:${createHash("sha512").update(bytes).digest("hex")}`;
    const { mediaType } = image.manifest;
    registry.manifests.set(digest, { bytes, mediaType });
    const reference = `${registry.host}/fn@${digest}`;
    expect((await store.image(reference, { insecureRegistries: [registry.host] })).layers).toHaveLength(2);
    const other = testImage([tarball([file("z", "1")])]);
    const wrong = `${registry.host}/fn@sha512:${"0".repeat(128)}`;
    registry.manifests.set(`sha512:${"0".repeat(128)}`, {
      bytes: other.blobs.get(other.manifest.digest) as Buffer,
      mediaType,
    });
    const pulling = store.image(wrong, { insecureRegistries: [registry.host] });
    await expect(pulling).rejects.toMatchObject({ code: "DigestMismatch" });
  });

  test("a manifest with another digest in the registry's header", async () => {
    registry.fault = (request, response) => {
      if (request.url?.includes("/manifests/")) response.setHeader("docker-content-digest", `sha256:${"0".repeat(64)}`);
      return false;
    };
    await refused("DigestMismatch");
  });

  test("a manifest of an index with a wrong digest", async () => {
    indexOf([{ ...image.manifest, digest: sha256("other"), platform: { os: "linux", architecture: "amd64" } }]);
    registry.manifests.set(sha256("other"), {
      bytes: image.blobs.get(image.manifest.digest) as Buffer,
      mediaType: image.manifest.mediaType,
    });
    await refused("DigestMismatch", { platform: { os: "linux", architecture: "amd64" } });
  });

  test("a config with a wrong digest", async () => {
    const config = Buffer.from(image.blobs.get(image.config.digest) as Buffer);
    config[5] = (config[5] as number) ^ 1;
    registry.fault = (request, response) =>
      request.url?.endsWith(image.config.digest) === true && Boolean(response.end(config));
    await refused("DigestMismatch");
  });

  test.each([
    ["a digest that is a path", { digest: "sha256:../../x" }, "Unsupported"],
    ["an unknown algorithm", { digest: `md5:${"0".repeat(32)}` }, "Unsupported"],
    ["no size", { size: -1 }, "InvalidManifest"],
    ["a size beyond reason", { size: 2 ** 50 }, "TooLarge"],
    ["a media type that is not that of a layer", { mediaType: "application/octet-stream" }, "Unsupported"],
  ] as const)("a layer with %s", async (_, change, code) => {
    serveManifest((manifest) => ({ ...manifest, layers: [{ ...manifest.layers[0], ...change }, manifest.layers[1]] }));
    await refused(code);
  });

  test.each([
    ["no list of layers", { layers: undefined }, "InvalidManifest"],
    ["layers and manifests", { manifests: [] }, "InvalidManifest"],
    [
      "an artifact's config",
      { config: { mediaType: "application/vnd.oci.empty.v1+json", digest: sha256("{}"), size: 2 } },
      "Unsupported",
    ],
    ["schema 1", { mediaType: "application/vnd.docker.distribution.manifest.v1+prettyjws" }, "Unsupported"],
    ["more layers than its config", { layers: [] }, "InvalidManifest"],
  ] as const)("a manifest with %s", async (_, change, code) => {
    serveManifest((manifest) => ({ ...manifest, ...change }));
    await refused(code);
  });

  test("a manifest that is not JSON", async () => {
    registry.manifests.set("latest", { bytes: Buffer.from("<html>"), mediaType: image.manifest.mediaType });
    await refused("InvalidManifest");
  });

  test("a manifest over 4 MiB", async () => {
    serveManifest((manifest) => ({ ...manifest, annotations: { a: "x".repeat(4 * 1024 * 1024) } }));
    await refused("TooLarge");
  });

  test("an index within an index", async () => {
    const inner = indexOf([{ ...image.manifest, platform: { os: "linux", architecture: "amd64" } }], "inner");
    const { bytes } = registry.manifests.get(inner) as { bytes: Buffer };
    const entry = { digest: inner, size: bytes.length, platform: { os: "linux", architecture: "amd64" } };
    indexOf([{ ...entry, mediaType: "application/vnd.oci.image.index.v1+json" }]);
    await refused("InvalidManifest", { platform: { os: "linux", architecture: "amd64" } });
    // The same, declared as a manifest.
    indexOf([{ ...image.manifest, platform: { os: "linux", architecture: "amd64" } }], "inner");
    indexOf([{ ...entry, mediaType: "application/vnd.oci.image.manifest.v1+json" }]);
    await expect(pull({ pullPolicy: "Always", platform: { os: "linux", architecture: "amd64" } })).rejects.toThrow(
      /index within an index/,
    );
  });

  test("an index without this platform names the available ones", async () => {
    indexOf([
      { ...image.manifest, platform: { os: "linux", architecture: "s390x" } },
      { ...image.manifest, platform: { os: "linux", architecture: "arm", variant: "v7" } },
      { ...image.manifest, platform: { os: "unknown", architecture: "unknown" } },
    ]);
    const error = await refused("WrongPlatform");
    expect(error.message).toContain("linux/arm/v7, linux/s390x");
  });

  test("an image for another platform", async () => {
    const other = testImage([tarball([file("o", "1")])], { platform: { architecture: "mips64" } });
    registry.add(other);
    expect((await refused("WrongPlatform")).message).toContain("linux/mips64");
  });
});

function serveManifest(change: (manifest: { layers: object[] }) => object): void {
  const manifest = JSON.parse((image.blobs.get(image.manifest.digest) as Buffer).toString()) as { layers: object[] };
  registry.manifests.set("latest", {
    bytes: Buffer.from(JSON.stringify(change(manifest))),
    mediaType: image.manifest.mediaType,
  });
}
