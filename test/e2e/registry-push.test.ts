import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type BuiltImage, buildImage, openStore, type RegistryOptions, type Store } from "@xfn/oci-rootfs";
import { copyImage, RegistryClient, RegistryWriter } from "@xfn/oci-rootfs/registry";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { REGISTRY_PASSWORD, REGISTRY_USER, startRegistry, type TestRegistry } from "../harness/registry.ts";
import { type Fault, type FaultyRegistry, faultyRegistry } from "../harness/registry-faults.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";
import { TOKEN_PASSWORD, TOKEN_USER, tokenRegistry } from "../harness/token-server.ts";

// Pushes and copies with a real registry, and with a proxy that injects faults.

const { signal } = new AbortController();

let dir: string;
let store: Store;
let built: BuiltImage;
let count = 0;

beforeAll(async () => {
  dir = temporaryFolder();
  store = await openStore({ dir: join(dir, "store") });
  built = await buildImage({
    store,
    name: "my-fn:v1",
    layers: [
      // Random, so that it does not compress.
      { entries: [{ path: "data", content: randomBytes(3_000_000) }] },
      { entries: [{ path: "bin/run", content: "#!/bin/sh\ncat\n", mode: 0o755 }] },
    ],
    config: { entrypoint: ["/bin/run"] },
  });
});

function emptyStore(): Promise<Store> {
  count += 1;
  return openStore({ dir: join(dir, `store${count}`) });
}

function sha256(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function skopeo(...args: string[]): string {
  return execFileSync("skopeo", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

const FAST = { retry: { attempts: 4, baseDelayMs: 1 }, stallTimeoutMs: 30_000 };

describe("Debian's registry", needs("docker-registry", "skopeo", "umoci"), () => {
  let registry: TestRegistry;
  let insecure: RegistryOptions;
  beforeAll(async () => {
    registry = await startRegistry();
    insecure = { insecureRegistries: [registry.host] };
  });
  afterAll(async () => {
    await registry.stop();
  });

  test.each([
    ["at once", undefined],
    ["in pieces", 500_000],
  ])("accepts an image %s, which skopeo inspects and copies, and umoci unpacks", async (how, chunkBytes) => {
    const to = `${registry.host}/org/${how.replace(" ", "-")}:v1`;
    const pushed = await copyImage({ ...insecure, from: "my-fn:v1", to, store, chunkBytes });
    expect(pushed).toMatchObject({ digest: built.digest, name: to });
    const inspected = JSON.parse(skopeo("inspect", "--tls-verify=false", `docker://${to}`)) as object;
    expect(inspected).toMatchObject({ Digest: built.digest, Layers: built.layers.map(({ digest }) => digest) });
    const layout = join(dir, `skopeo-${count++}`);
    skopeo("copy", "-q", "--src-tls-verify=false", `docker://${to}`, `oci:${layout}:v1`);
    execFileSync("umoci", ["unpack", "--rootless", "--image", `${layout}:v1`, join(dir, `bundle-${count++}`)], {
      stdio: "pipe",
    });
  });

  test("receives only the changed layer of a rebuilt image", async () => {
    await using proxy = await faultyRegistry(registry.host);
    const options = { insecureRegistries: [proxy.host], store };
    await copyImage({ ...options, from: "my-fn:v1", to: `${proxy.host}/org/rebuilt:v1` });
    const base = await store.image("my-fn:v1");
    const next = await buildImage({
      store,
      name: "my-fn:v2",
      base,
      layers: [{ entries: [{ path: "bin/run", content: "#!/bin/sh\ncat -\n", mode: 0o755 }] }],
    });
    const before = proxy.sentBytes();
    const pushed = await copyImage({ ...options, from: "my-fn:v2", to: `${proxy.host}/org/rebuilt:v2` });
    expect(pushed.blobs).toEqual({ written: 2, present: 2, mounted: 0 });
    const own = next.layers.at(-1)?.size ?? 0;
    expect(proxy.sentBytes() - before).toBeLessThan(own + 5000);
  });

  test("mounts layers from another repository", async () => {
    await copyImage({ ...insecure, from: "my-fn:v1", to: `${registry.host}/org/original:v1`, store });
    const copied = await copyImage({
      ...insecure,
      from: `${registry.host}/org/original:v1`,
      to: `${registry.host}/team/copy:v1`,
    });
    expect(copied).toMatchObject({ digest: built.digest, blobs: { written: 0, present: 0, mounted: 3 }, bytes: 0 });
    skopeo("inspect", "--tls-verify=false", `docker://${registry.host}/team/copy:v1`);
  });

  test("accepts an index with its manifests, each of which can be pulled", async () => {
    const layout = join(dir, "index");
    const platforms = [
      { os: "linux", architecture: "amd64" },
      { os: "linux", architecture: "arm64" },
    ];
    const images = [];
    for (const platform of platforms) {
      const { digest } = await buildImage({
        store,
        name: `oci:${layout}:${platform.architecture}`,
        layers: [{ entries: [{ path: "arch", content: platform.architecture }] }],
        config: { entrypoint: ["/run"] },
        platform,
      });
      images.push({ digest, platform });
      await copyImage({
        ...insecure,
        from: `oci:${layout}:${platform.architecture}`,
        to: `${registry.host}/org/multi:${platform.architecture}`,
      });
    }
    const client = new RegistryClient({ registry: registry.host, repository: "org/multi" }, insecure);
    const writer = new RegistryWriter({ registry: registry.host, repository: "org/multi" }, insecure);
    const manifests = await Promise.all(
      images.map(async ({ digest, platform }) => {
        const { bytes } = await client.manifest({ digest }, signal);
        return { mediaType: "application/vnd.oci.image.manifest.v1+json", digest, size: bytes.length, platform };
      }),
    );
    const mediaType = "application/vnd.oci.image.index.v1+json";
    const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, manifests }));
    const descriptor = { mediaType, digest: sha256(bytes), size: bytes.length };
    await writer.manifest(descriptor, bytes, "v1", signal);
    expect((await client.tags()).sort()).toEqual(["amd64", "arm64", "v1"]);

    const copied = await copyImage({
      ...insecure,
      from: `${registry.host}/org/multi:v1`,
      to: `${registry.host}/org/again:v1`,
    });
    expect(copied.digest).toBe(descriptor.digest);
    for (const { digest, platform } of images) {
      const pulled = await (await emptyStore()).image(`${registry.host}/org/again:v1`, { ...insecure, platform });
      expect(pulled.digest).toBe(digest);
    }
    await Promise.all([client.close(), writer.close()]);
  });

  test("lists referrers by the tag schema, because it has no referrers API", async () => {
    await copyImage({ ...insecure, from: "my-fn:v1", to: `${registry.host}/org/signed:v1`, store });
    const client = new RegistryClient({ registry: registry.host, repository: "org/signed" }, insecure);
    const writer = new RegistryWriter({ registry: registry.host, repository: "org/signed" }, insecure);
    const { bytes: subjectBytes } = await client.manifest({ digest: built.digest }, signal);
    const empty = Buffer.from("{}");
    const config = { mediaType: "application/vnd.oci.empty.v1+json", digest: sha256(empty), size: 2 };
    await writer.blob({ descriptor: config, signal, open: async () => Readable.from([empty]) });
    const mediaType = "application/vnd.oci.image.manifest.v1+json";
    const bytes = Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType,
        artifactType: "application/vnd.example.signature",
        config,
        layers: [config],
        subject: { mediaType, digest: built.digest, size: subjectBytes.length },
      }),
    );
    const descriptor = { mediaType, digest: sha256(bytes), size: bytes.length };
    await writer.manifest(descriptor, bytes, undefined, signal);
    const expected = [{ ...descriptor, artifactType: "application/vnd.example.signature" }];
    expect(await client.referrers(built.digest)).toEqual(expected);
    await Promise.all([client.close(), writer.close()]);
  });

  describe("behind a proxy that breaks connections", () => {
    let proxy: FaultyRegistry;
    let faulty: RegistryOptions;
    beforeAll(async () => {
      proxy = await faultyRegistry(registry.host);
      faulty = { ...FAST, insecureRegistries: [proxy.host] };
      await copyImage({ ...insecure, from: "my-fn:v1", to: `${registry.host}/org/broken:v1`, store });
    });
    afterAll(async () => {
      await proxy[Symbol.asyncDispose]();
    });

    test.each<[string, (size: number) => Fault]>([
      ["a reset before the answer", () => ({ kind: "reset" })],
      ["an answer 503", () => ({ kind: "answer", status: 503 })],
      [
        "an answer 429 that says when to come back",
        () => ({ kind: "answer", status: 429, headers: { "retry-after": "1" } }),
      ],
      ["a reset in the middle", (size) => ({ kind: "cut", bytes: Math.floor(size / 2) })],
    ])("a pull survives %s of each blob and manifest", async (_, fault) => {
      proxy.fault = ({ path, earlier, headers }) =>
        earlier === 0 && headers.range === undefined ? fault(path.includes("/blobs/") ? 200 : 100) : undefined;
      const image = await (await emptyStore()).image(`${proxy.host}/org/broken:v1`, faulty);
      expect(image.digest).toBe(built.digest);
    });

    test("the rest of a broken layer is pulled by range", async () => {
      const large = built.layers[0] as { digest: string; size: number };
      const ranges: (string | undefined)[] = [];
      proxy.fault = ({ path, headers }) => {
        if (!path.endsWith(large.digest)) return undefined;
        ranges.push(headers.range);
        return ranges.length < 3 ? { kind: "cut", bytes: 1_000_000 } : undefined;
      };
      const image = await (await emptyStore()).image(`${proxy.host}/org/broken:v1`, faulty);
      expect(image.digest).toBe(built.digest);
      const starts = ranges.map((range) => Number(/\d+/.exec(range ?? "0")?.[0]));
      expect(starts).toHaveLength(3);
      expect(starts[0]).toBe(0);
      expect(starts[1]).toBeGreaterThan(0);
      expect(starts[2]).toBeGreaterThan(starts[1] as number);
    });

    test("one bit flipped in a resumed layer is found", async () => {
      const large = built.layers[0] as { digest: string; size: number };
      proxy.fault = ({ path, headers }) => {
        if (!path.endsWith(large.digest)) return undefined;
        return headers.range === undefined ? { kind: "cut", bytes: 1_000_000 } : { kind: "flip", at: 1000 };
      };
      const empty = await emptyStore();
      await expect(empty.image(`${proxy.host}/org/broken:v1`, faulty)).rejects.toMatchObject({
        code: "DigestMismatch",
      });
      proxy.fault = () => undefined;
      expect((await empty.image(`${proxy.host}/org/broken:v1`, faulty)).digest).toBe(built.digest);
    });

    test.each<[string, number | undefined]>([
      ["at once", undefined],
      ["in pieces", 500_000],
    ])("a push %s survives a fault at its every request", async (_, chunkBytes) => {
      const to = `${proxy.host}/org/pushed-${chunkBytes ?? "whole"}`;
      // Each request of a push without faults, once with each fault.
      const kinds: Fault[] = [{ kind: "reset" }, { kind: "answer", status: 503 }, { kind: "lose-answer" }];
      let position = 0;
      let at = 0;
      let kind: Fault | undefined;
      for (at = 0; at < 30; at += 3) {
        kind = kinds[(at / 3) % kinds.length] as Fault;
        position = 0;
        proxy.fault = () => (position++ === at ? kind : undefined);
        const pushed = await copyImage({ ...faulty, from: "my-fn:v1", to: `${to}/${at}:v1`, store, chunkBytes });
        expect(pushed.digest).toBe(built.digest);
      }
      proxy.fault = () => undefined;
      const pulled = await (await emptyStore()).image(`${to}/0:v1`, faulty);
      expect(pulled.digest).toBe(built.digest);
    });
  });
});

describe("a registry with basic authentication", needs("docker-registry"), () => {
  let registry: TestRegistry;
  beforeAll(async () => {
    registry = await startRegistry({ auth: true });
  });
  afterAll(async () => {
    await registry.stop();
  });

  test("accepts a push only by its user", async () => {
    const to = `${registry.host}/org/fn:v1`;
    const options = { from: "my-fn:v1", to, store, insecureRegistries: [registry.host] };
    await expect(copyImage(options)).rejects.toMatchObject({ code: "Unauthorized", image: to });
    const wrong = { username: REGISTRY_USER, password: "wrong" };
    await expect(copyImage({ ...options, toAuth: wrong })).rejects.toMatchObject({ code: "Unauthorized" });
    const right = { username: REGISTRY_USER, password: REGISTRY_PASSWORD };
    expect((await copyImage({ ...options, toAuth: right })).digest).toBe(built.digest);
  });
});

describe("a registry with tokens", needs("docker-registry"), () => {
  let registry: TestRegistry;
  beforeAll(async () => {
    registry = await startRegistry();
  });
  afterAll(async () => {
    await registry.stop();
  });
  const toAuth = { username: TOKEN_USER, password: TOKEN_PASSWORD };

  test("requires one token with write scope for the whole push", async () => {
    await using proxy = await tokenRegistry(registry.host);
    const options = { from: "my-fn:v1", store, insecureRegistries: [proxy.host] };
    await copyImage({ ...options, to: `${proxy.host}/org/fn:v1`, toAuth });
    expect(proxy.asked.map(({ scopes }) => scopes)).toEqual([["repository:org/fn:pull,push"]]);
  });

  test("allows anonymous pulls, but no pushes", async () => {
    await using proxy = await tokenRegistry(registry.host);
    const options = { from: "my-fn:v1", store, insecureRegistries: [proxy.host], ...FAST };
    await expect(copyImage({ ...options, to: `${proxy.host}/other/fn:v1` })).rejects.toMatchObject({
      code: "Unauthorized",
    });
    await copyImage({ ...options, to: `${proxy.host}/other/fn:v1`, toAuth });
    const image = await (await emptyStore()).image(`${proxy.host}/other/fn:v1`, { insecureRegistries: [proxy.host] });
    expect(image.digest).toBe(built.digest);
  });

  test("works with tokens that expire after six requests", async () => {
    await using proxy = await tokenRegistry(registry.host, { uses: 6 });
    const options = { insecureRegistries: [proxy.host], retry: { attempts: 10, baseDelayMs: 1 } };
    await copyImage({ ...options, from: "my-fn:v1", store, to: `${proxy.host}/short/fn:v1`, toAuth });
    const image = await (await emptyStore()).image(`${proxy.host}/short/fn:v1`, options);
    expect(image.digest).toBe(built.digest);
    expect(proxy.asked.length).toBeGreaterThanOrEqual(3);
  });
});
