import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Image } from "@xfn/oci-rootfs";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { baseAnnotations, packageAnnotations } from "./package-annotations.ts";

let dir: string;

beforeEach(() => {
  dir = temporaryFolder();
});

const METADATA = { name: "mine", annotations: {}, content: new Uint8Array() };

function annotations(json: unknown, own: Record<string, string> = {}): Record<string, string> {
  writeFileSync(join(dir, "package.json"), JSON.stringify(json));
  return packageAnnotations(dir, { ...METADATA, annotations: own });
}

test("titles the image after its package", () => {
  expect(packageAnnotations(dir, METADATA)).toEqual({ "org.opencontainers.image.title": "mine" });
});

test("reads the rest from package.json", () => {
  const json = {
    name: "@acme/mine",
    version: "1.2.3",
    description: "Does things",
    license: "MIT",
    author: { name: "Ada" },
    homepage: "https://acme.example",
    repository: { type: "git", url: "git+https://git.example/acme/mine.git" },
  };
  expect(annotations(json)).toEqual({
    "org.opencontainers.image.title": "mine",
    "org.opencontainers.image.version": "1.2.3",
    "org.opencontainers.image.description": "Does things",
    "org.opencontainers.image.licenses": "MIT",
    "org.opencontainers.image.authors": "Ada",
    "org.opencontainers.image.url": "https://acme.example",
    "org.opencontainers.image.source": "https://git.example/acme/mine",
  });
});

test("prefers the package's own annotations to package.json", () => {
  const own = { "meta.crossplane.io/license": "Apache-2.0", "meta.crossplane.io/source": "https://git.example/x" };
  expect(annotations({ license: "MIT", repository: "acme/mine" }, own)).toMatchObject({
    "org.opencontainers.image.licenses": "Apache-2.0",
    "org.opencontainers.image.source": "https://git.example/x",
  });
});

test.each([
  { version: 1, description: null, license: {}, author: [], repository: "github:acme/mine" },
  { description: "x".repeat(5000), version: "", repository: { url: "git+ssh://git@git.example/acme" } },
  [],
  "text",
])("only text of a sensible length and web addresses are kept: %j", (json) => {
  expect(annotations(json)).toEqual({ "org.opencontainers.image.title": "mine" });
});

test("names the base by its name at a registry, never by a path of this machine", () => {
  const named = (name: string): unknown => baseAnnotations({ name, digest: "sha256:1" } as Image);
  expect(named("ghcr.io/acme/base:v1")).toEqual({
    "org.opencontainers.image.base.name": "ghcr.io/acme/base:v1",
    "org.opencontainers.image.base.digest": "sha256:1",
  });
  for (const name of ["base:v1", "oci:/home/ada/base"])
    expect(named(name)).toEqual({ "org.opencontainers.image.base.digest": "sha256:1" });
});
