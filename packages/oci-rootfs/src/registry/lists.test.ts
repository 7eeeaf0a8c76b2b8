import { afterEach, beforeEach, expect, test } from "vitest";
import { TEST_CERTIFICATE, TEST_KEY } from "../../testing/certificate.ts";
import { type FakeRegistry, fakeRegistry } from "../../testing/fake-registry.ts";
import { sha256, testImage } from "../../testing/layout.ts";
import { file, tarball } from "../../testing/tarball.ts";
import { parseReference } from "../image/image-name.ts";
import { RegistryClient } from "./client.ts";
import type { RegistryOptions } from "./options.ts";
import { RegistryWriter } from "./writer.ts";

// Tags, referrers, and registries with a private certificate authority.

let registry: FakeRegistry;
const image = testImage([tarball([file("a", "1")])]);
const INDEX = "application/vnd.oci.image.index.v1+json";
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const { signal } = new AbortController();

beforeEach(async () => {
  registry = await fakeRegistry();
  registry.add(image);
});
afterEach(async () => {
  await registry[Symbol.asyncDispose]();
});

function client(options: RegistryOptions = {}): RegistryClient {
  const defaults = {
    insecureRegistries: [registry.host],
    stallTimeoutMs: 30_000,
    retry: { attempts: 2, baseDelayMs: 1 },
  };
  return new RegistryClient(parseReference(`${registry.host}/fn`), { ...defaults, ...options });
}

test("tags are read page by page", async () => {
  registry.fault = (request, response) => {
    const { searchParams } = new URL(request.url ?? "", "http://any");
    if (searchParams.get("last") === null) {
      response.setHeader("link", '</v2/fn/tags/list?n=2&last=b>; rel="next"');
      return Boolean(response.end('{"name":"fn","tags":["a","b"]}'));
    }
    return Boolean(response.end('{"name":"fn","tags":["c"]}'));
  };
  expect(await client().tags()).toEqual(["a", "b", "c"]);
});

test("a list that never ends is rejected", async () => {
  registry.fault = (_, response) => {
    response.setHeader("link", '</v2/fn/tags/list?n=2&last=b>; rel="next"');
    return Boolean(response.end('{"tags":["a"]}'));
  };
  await expect(client().tags()).rejects.toMatchObject({ code: "TooLarge" });
});

test("a list of many large pages is rejected", async () => {
  const page = `{"tags":["a"]}${" ".repeat(4 * 1024 * 1024 - 20)}`;
  registry.fault = (_, response) => {
    response.setHeader("link", '</v2/fn/tags/list?n=2&last=b>; rel="next"');
    return Boolean(response.end(page));
  };
  await expect(client().tags()).rejects.toMatchObject({ code: "TooLarge", message: expect.stringContaining("bytes") });
  expect(registry.requests.length).toBeLessThan(10);
});

test("a link to another host is not followed", async () => {
  await using elsewhere = await fakeRegistry();
  registry.fault = (_, response) => {
    response.setHeader("link", `<http://${elsewhere.host}/v2/fn/tags/list>; rel="next"`);
    return Boolean(response.end('{"tags":["a"]}'));
  };
  expect(await client({ insecureRegistries: [registry.host, elsewhere.host] }).tags()).toEqual(["a"]);
  expect(elsewhere.requests).toEqual([]);
});

test("a repository without tags has an empty list", async () => {
  registry.fault = (_, response) => Boolean(response.end('{"name":"fn","tags":null}'));
  expect(await client().tags()).toEqual([]);
});

const referrer = (artifactType: string): object => ({
  mediaType: MANIFEST,
  digest: sha256(artifactType),
  size: 10,
  artifactType,
});
const list = (...types: string[]): Buffer =>
  Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: types.map(referrer) }));

test("referrers come from the registry's API", async () => {
  registry.fault = (request, response) =>
    request.url?.includes("/referrers/") === true &&
    Boolean(response.setHeader("content-type", INDEX).end(list("sbom", "signature")));
  expect(await client().referrers(image.manifest.digest)).toEqual([referrer("sbom"), referrer("signature")]);
});

test("referrers come from the tag schema if the registry has no API", async () => {
  registry.manifests.set(image.manifest.digest.replace(":", "-"), { bytes: list("sbom"), mediaType: INDEX });
  expect(await client().referrers(image.manifest.digest)).toEqual([referrer("sbom")]);
  expect(await client().referrers(sha256("nothing refers to this"))).toEqual([]);
});

test("a manifest with a subject is added once to the tag, and its other entries stay", async () => {
  const writer = new RegistryWriter(parseReference(`${registry.host}/fn`), { insecureRegistries: [registry.host] });
  const tag = image.manifest.digest.replace(":", "-");
  registry.manifests.set(tag, { bytes: list("sbom"), mediaType: INDEX });
  const empty = { mediaType: "application/vnd.oci.empty.v1+json", digest: sha256("{}"), size: 2 };
  const bytes = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST,
      artifactType: "signature",
      config: empty,
      layers: [empty],
      subject: image.manifest,
      annotations: { by: "ada" },
    }),
  );
  const descriptor = { mediaType: MANIFEST, digest: sha256(bytes), size: bytes.length };
  await writer.manifest(descriptor, bytes, undefined, signal);
  await writer.manifest(descriptor, bytes, undefined, signal);
  await writer.close();
  const { manifests } = JSON.parse(String(registry.manifests.get(tag)?.bytes)) as { manifests: object[] };
  const added = { ...descriptor, artifactType: "signature", annotations: { by: "ada" } };
  expect(manifests).toEqual([referrer("sbom"), added]);
});

test("a registry with the referrers API gets no such tag", async () => {
  const writer = new RegistryWriter(parseReference(`${registry.host}/fn`), { insecureRegistries: [registry.host] });
  registry.fault = (request, response) => {
    if (request.method === "PUT") response.setHeader("oci-subject", image.manifest.digest);
    return false;
  };
  const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, subject: image.manifest }));
  const descriptor = { mediaType: MANIFEST, digest: sha256(bytes), size: bytes.length };
  await writer.manifest(descriptor, bytes, undefined, signal);
  await writer.close();
  expect(registry.requests).toHaveLength(1);
});

test("https accepts certificates of the configured authority, and no other", async () => {
  await using secure = await fakeRegistry({ tls: { key: TEST_KEY, cert: TEST_CERTIFICATE } });
  secure.add(image);
  const reference = parseReference(`${secure.host}/fn`);
  const trusting = new RegistryClient(reference, { certificateAuthorities: [TEST_CERTIFICATE] });
  expect((await trusting.manifest({ tag: "latest" }, undefined)).digest).toBe(image.manifest.digest);
  await trusting.close();
  const other = new RegistryClient(reference);
  const refused = other.manifest({ tag: "latest" }, undefined);
  await expect(refused).rejects.toMatchObject({ code: "RegistryUnavailable", retryable: false });
  await other.close();
  expect(secure.requests).toHaveLength(1);
});

test("a token server without https gets nothing", async () => {
  await using secure = await fakeRegistry({ tls: { key: TEST_KEY, cert: TEST_CERTIFICATE } });
  secure.fault = (_, response) =>
    Boolean(response.writeHead(401, { "www-authenticate": `Bearer realm="http://${registry.host}/token"` }).end());
  const trusting = new RegistryClient(parseReference(`${secure.host}/fn`), {
    certificateAuthorities: [TEST_CERTIFICATE],
    auth: { username: "ada", password: "secret" },
    insecureRegistries: [registry.host],
  });
  await expect(trusting.manifest({ tag: "latest" }, undefined)).rejects.toMatchObject({ code: "UnsafeAddress" });
  await trusting.close();
  expect(registry.requests).toEqual([]);
});

test("a redirect from https to http is rejected, even to an insecure registry", async () => {
  await using secure = await fakeRegistry({ tls: { key: TEST_KEY, cert: TEST_CERTIFICATE } });
  secure.fault = (_, response) => Boolean(response.writeHead(302, { location: `http://${registry.host}/x` }).end());
  const trusting = new RegistryClient(parseReference(`${secure.host}/fn`), {
    certificateAuthorities: [TEST_CERTIFICATE],
    insecureRegistries: [registry.host],
  });
  await expect(trusting.manifest({ tag: "latest" }, undefined)).rejects.toMatchObject({ code: "UnsafeAddress" });
  await trusting.close();
  expect(registry.requests).toEqual([]);
});
