import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FakeRegistry, fakeRegistry } from "../../testing/fake-registry.ts";
import { sha256, testImage } from "../../testing/layout.ts";
import { type PushPlaces, pushPlaces, SHORT_WAITS } from "../../testing/pushed-image.ts";
import { file, tarball } from "../../testing/tarball.ts";
import { type CopiedImage, copyImage } from "./copy-image.ts";

let places: PushPlaces;
let box: PushPlaces["box"];
let registry: PushPlaces["registry"];
let store: PushPlaces["store"];
let image: PushPlaces["image"];
let layout: PushPlaces["layout"];
let noise: PushPlaces["noise"];
let push: PushPlaces["push"];

beforeEach(async () => {
  places = await pushPlaces();
  ({ box, registry, store, image, layout, noise, push } = places);
});
afterEach(async () => {
  await places[Symbol.asyncDispose]();
});

describe("content with a wrong digest", () => {
  test("is not pushed, not even to a registry without verification", async () => {
    const { digest, size } = noise;
    let complete = false;
    registry.fault = (request, response) => {
      if (request.method !== "PUT" || request.url?.includes(encodeURIComponent(digest)) !== true) return false;
      request.resume().once("end", () => {
        complete = true;
        response.writeHead(201).end();
      });
      return true;
    };
    writeFileSync(join(box.dir, "layout/blobs/sha256", digest.slice(7)), Buffer.alloc(size, 7));
    await expect(push()).rejects.toMatchObject({ code: "DigestMismatch" });
    expect(complete).toBe(false);
    expect(registry.manifests.size).toBe(0);
  });

  test.each(["store:copy", "oci:LAYOUT:copy"])("is not written to %s, which stays clean", async (to) => {
    registry.add(image);
    const bytes = Buffer.from(image.blobs.get(noise.digest) as Buffer);
    bytes[100] = (bytes[100] as number) ^ 1;
    registry.blobs.set(noise.digest, bytes);
    const copying = copyImage({
      from: `${registry.host}/fn`,
      to: to.replace("LAYOUT", join(box.dir, "out")),
      store,
      insecureRegistries: [registry.host],
      ...SHORT_WAITS,
    });
    await expect(copying).rejects.toMatchObject({ code: "DigestMismatch", image: `${registry.host}/fn` });
    expect(box.leftovers()).toEqual([]);
    expect(store.list()).toEqual([]);
  });
});

describe("copy", () => {
  test("from a registry to a name in the store, which can then be opened", async () => {
    registry.add(image);
    const copied = await copyImage({
      from: `${registry.host}/fn`,
      to: "my-fn:v1",
      store,
      insecureRegistries: [registry.host],
    });
    expect(copied).toMatchObject({ name: "my-fn:v1", digest: image.manifest.digest });
    registry.requests.length = 0;
    expect((await store.image("my-fn:v1", { pullPolicy: "Never" })).layers).toHaveLength(2);
    expect(registry.requests).toEqual([]);
  });

  test("between registries gives each its own credentials", async () => {
    await using other = await fakeRegistry();
    registry.add(image);
    const basic = (name: string): string => `Basic ${Buffer.from(`${name}:p`).toString("base64")}`;
    for (const [server, name] of [
      [registry, "from"],
      [other, "to"],
    ] as const) {
      server.fault = (request, response) => {
        if (request.headers.authorization === basic(name)) return false;
        request.resume();
        return Boolean(response.writeHead(401, { "www-authenticate": "Basic" }).end());
      };
    }
    await copyImage({
      from: `${registry.host}/fn`,
      to: `${other.host}/fn`,
      fromAuth: { username: "from", password: "p" },
      toAuth: { username: "to", password: "p" },
      insecureRegistries: [registry.host, other.host],
    });
    const sent = (server: FakeRegistry): Set<string | undefined> =>
      new Set(server.requests.map(({ authorization }) => authorization));
    expect(sent(registry)).toEqual(new Set([undefined, basic("from")]));
    expect(sent(other)).toEqual(new Set([undefined, basic("to")]));
    expect(other.manifests.get("latest")?.bytes).toEqual(image.blobs.get(image.manifest.digest));
  });

  test("from a layout to a layout", async () => {
    const to = `oci:${join(box.dir, "out")}:copy`;
    expect((await copyImage({ from: layout, to })).digest).toBe(image.manifest.digest);
    expect((await store.image(to)).digest).toBe(image.manifest.digest);
  });

  test("of a pulled index copies the stored platform, and reports it", async () => {
    const other = testImage([tarball([file("o", "1")])], { platform: { architecture: "mips64" } });
    registry.add(image);
    registry.add(other, "other");
    const platform = { os: "linux", architecture: process.arch === "x64" ? "amd64" : process.arch };
    const mediaType = "application/vnd.oci.image.index.v1+json";
    const manifests = [
      { ...other.manifest, platform: { os: "linux", architecture: "mips64" } },
      { ...image.manifest, platform },
    ];
    const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, manifests }));
    registry.manifests.set("latest", { bytes, mediaType });
    await store.image(`${registry.host}/fn`, { insecureRegistries: [registry.host] });
    const to = `oci:${join(box.dir, "out")}:copy`;
    const copied = await copyImage({ from: `store:${registry.host}/fn`, to, store });
    expect(copied).toMatchObject({ digest: image.manifest.digest, onlyPlatform: `linux/${platform.architecture}` });
  });

  test("of an index within an index is rejected", async () => {
    const mediaType = "application/vnd.oci.image.index.v1+json";
    const inner = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, manifests: [image.manifest] }));
    const disguised = "application/vnd.oci.image.manifest.v1+json";
    for (const type of [mediaType, disguised]) {
      const entry = { mediaType: type, digest: sha256(inner), size: inner.length };
      const outer = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, manifests: [entry] }));
      registry.manifests.set("latest", { bytes: outer, mediaType });
      registry.manifests.set(sha256(inner), { bytes: inner, mediaType });
      const copying = copyImage({ from: `${registry.host}/fn`, to: "x", store, insecureRegistries: [registry.host] });
      await expect(copying).rejects.toMatchObject({ code: "InvalidManifest" });
    }
  });

  const INDEX = "application/vnd.oci.image.index.v1+json";
  const serve = (document: object, mediaType: string, name = "latest"): void => {
    registry.manifests.set(name, { bytes: Buffer.from(JSON.stringify(document)), mediaType });
  };
  const copyToStore = (): Promise<CopiedImage> =>
    copyImage({ from: `${registry.host}/fn`, to: "x", store, insecureRegistries: [registry.host], ...SHORT_WAITS });

  test.each([
    ["another size", { size: 5 }, "SizeMismatch"],
    ["a size beyond reason", { size: 2 ** 40 }, "TooLarge"],
    ["another digest", { digest: sha256("other") }, "DigestMismatch"],
  ] as const)("of an index whose manifest has %s is refused", async (_, change, code) => {
    registry.add(image);
    const { bytes, mediaType } = registry.manifests.get("latest") as { bytes: Buffer; mediaType: string };
    registry.manifests.set(sha256("other"), { bytes, mediaType });
    serve({ schemaVersion: 2, mediaType: INDEX, manifests: [{ ...image.manifest, ...change }] }, INDEX);
    await expect(copyToStore()).rejects.toMatchObject({ code });
  });

  test("of an index whose manifests are too large is rejected", async () => {
    // 17 of 4 MiB, each of which is valid.
    const { layers } = image;
    const manifests = Array.from({ length: 17 }, (_, i) => {
      const base = { schemaVersion: 2, mediaType: image.manifest.mediaType, config: image.config, layers };
      const bytes = Buffer.from(JSON.stringify({ ...base, annotations: { i: `${i}`.padEnd(4_193_000, "x") } }));
      registry.manifests.set(sha256(bytes), { bytes, mediaType: image.manifest.mediaType });
      return { ...image.manifest, digest: sha256(bytes), size: bytes.length };
    });
    serve({ schemaVersion: 2, mediaType: INDEX, manifests }, INDEX);
    await expect(copyToStore()).rejects.toMatchObject({ code: "TooLarge" });
  });

  test.each([
    ["300 layers", Array.from({ length: 300 }, (_, i) => ({ mediaType: "x", digest: sha256(`${i}`), size: 1 }))],
    ["a layer of a size beyond reason", [{ mediaType: "x", digest: sha256("x"), size: 2 ** 50 }]],
  ])("of a manifest with %s is rejected", async (_, layers) => {
    const mediaType = "application/vnd.oci.image.manifest.v1+json";
    serve({ schemaVersion: 2, mediaType, config: image.config, layers }, mediaType);
    await expect(copyToStore()).rejects.toMatchObject({ code: "TooLarge" });
  });

  test("cannot leave a layout through a digest", async () => {
    const before = box.outside();
    const manifest = { schemaVersion: 2, mediaType: image.manifest.mediaType, config: image.config };
    const layers = [{ ...image.layers[0], digest: "sha256:../../../sentinel" }];
    const bytes = Buffer.from(JSON.stringify({ ...manifest, layers }));
    registry.manifests.set("latest", { bytes, mediaType: image.manifest.mediaType });
    const copying = copyImage({ from: `${registry.host}/fn`, to: "x", store, insecureRegistries: [registry.host] });
    await expect(copying).rejects.toMatchObject({ code: "Unsupported" });
    expect(box.outside()).toBe(before);
  });
});
