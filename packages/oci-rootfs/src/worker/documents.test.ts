import { afterEach, expect, test, vi } from "vitest";
import { parsePlatform } from "../image/platform.ts";
import { readConfig, readManifest, readReferrers, readTags } from "./read-documents.ts";

// The object is global, and each worker has its own.
const parse = vi.spyOn(JSON, "parse");
afterEach(() => {
  parse.mockClear();
});

const parsed = (): number => Math.max(0, ...parse.mock.calls.map(([text]) => String(text).length));
const bytesOf = (document: object): Buffer => Buffer.from(JSON.stringify(document));

const OCI = "application/vnd.oci.image";
const descriptor = (mediaType: string) => ({ mediaType, digest: `sha256:${"a".repeat(64)}`, size: 1 });
const platform = parsePlatform("linux/amd64");
const config = { rootfs: { type: "layers", diff_ids: [] }, config: { Cmd: ["/run"] } };
const manifest = {
  schemaVersion: 2,
  mediaType: `${OCI}.manifest.v1+json`,
  config: descriptor(`${OCI}.config.v1+json`),
  layers: [],
};
/** Expensive to parse, and more than the main thread may. */
const padding = Array.from({ length: 100_000 }, () => ({}));

test("large configs are parsed on a worker, and only what runs need comes back", async () => {
  const read = await readConfig({ bytes: bytesOf({ ...config, history: padding }), layers: 0 }, undefined);
  expect(read).toEqual(config);
  expect(parsed()).toBe(0);
});

test("large manifests are parsed on a worker, and come back without annotations", async () => {
  const layers = [{ ...descriptor(`${OCI}.layer.v1.tar`), annotations: { a: "b" } }];
  const bytes = bytesOf({ ...manifest, layers, padding });
  const read = await readManifest({ bytes, mediaType: undefined, platform }, undefined);
  expect(read).toEqual({
    manifest: { mediaType: manifest.mediaType, config: manifest.config, layers: [descriptor(`${OCI}.layer.v1.tar`)] },
  });
  expect(parsed()).toBe(0);
});

test("the worker selects the platform of a large index", async () => {
  const manifests = ["arm64", "amd64"].map((architecture, i) => ({
    ...descriptor(`${OCI}.manifest.v1+json`),
    size: i,
    platform: { os: "linux", architecture },
  }));
  const bytes = bytesOf({ schemaVersion: 2, mediaType: `${OCI}.index.v1+json`, manifests, padding });
  const read = await readManifest({ bytes, mediaType: undefined, platform }, undefined);
  expect(read).toEqual({ chosen: { ...descriptor(`${OCI}.manifest.v1+json`), size: 1 } });
  expect(parsed()).toBe(0);
});

test.each([
  ["tags", readTags, { tags: ["a", "b"] }, ["a", "b"]],
  [
    "referrers",
    readReferrers,
    { manifests: [{ ...descriptor(`${OCI}.manifest.v1+json`), artifactType: "sbom", extra: padding }] },
    [{ ...descriptor(`${OCI}.manifest.v1+json`), artifactType: "sbom" }],
  ],
] as const)("large pages of %s are parsed on a worker", async (_, read, page, expected) => {
  expect(await read(bytesOf({ ...page, padding }), undefined)).toEqual(expected);
  expect(parsed()).toBe(0);
});

const annotations = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`a${i}`, ""]));

test.each([
  ["tags", readTags, { tags: Array.from({ length: 100_001 }, () => "t") }],
  [
    "annotations of referrers",
    readReferrers,
    { manifests: [{ ...descriptor(`${OCI}.manifest.v1+json`), annotations }] },
  ],
] as const)("a page with too many strings is rejected: %s", async (_, read, page) => {
  await expect(read(bytesOf(page), undefined)).rejects.toMatchObject({ code: "TooLarge" });
});

test("errors of the worker have their code", async () => {
  const bytes = Buffer.from(`{${" ".repeat(100_000)}`);
  await expect(readConfig({ bytes, layers: 0 }, undefined)).rejects.toMatchObject({ code: "InvalidManifest" });
});

test("small documents are parsed at once", async () => {
  expect(await readConfig({ bytes: bytesOf(config), layers: 0 }, undefined)).toEqual(config);
  expect(parsed()).toBeGreaterThan(0);
});

test.each([
  ["labels", { Labels: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`l${i}`, ""])) }],
  ["a variable", { Env: [`A=${"x".repeat(2 * 1024 * 1024)}`] }],
])("a config with too many bytes or strings is rejected: %s", async (_, run) => {
  const bytes = bytesOf({ ...config, config: run });
  await expect(readConfig({ bytes, layers: 0 }, undefined)).rejects.toMatchObject({ code: "TooLarge" });
});
