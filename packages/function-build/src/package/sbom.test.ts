import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Image } from "@xfn/oci-rootfs";
import { beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { bundle } from "../bundle/bundle.ts";
import { sbom } from "./sbom.ts";

let dir: string;

beforeEach(() => {
  dir = temporaryFolder();
});

const HASH = createHash("sha512").update("left-pad").digest();
const PACKAGES = [
  { name: "@acme/tools", version: "2.0.0", ofSdk: false },
  { name: "left-pad", version: "1.3.0", ofSdk: false },
];

function lock(changes: object = {}): void {
  const packages = {
    "": { name: "fn" },
    "node_modules/left-pad": {
      version: "1.3.0",
      resolved: "https://registry.example/left-pad/-/left-pad-1.3.0.tgz",
      integrity: `sha1-xxxx sha512-${HASH.toString("base64")}`,
      license: "(MIT OR Apache-2.0)",
    },
    "node_modules/@acme/tools": { version: "1.0.0" },
    "node_modules/left-pad/node_modules/@acme/tools": { version: "2.0.0", license: "SEE LICENSE IN LICENSE" },
    ...changes,
  };
  writeFileSync(join(dir, "package-lock.json"), JSON.stringify({ lockfileVersion: 3, packages }));
}

interface Spdx {
  readonly packages: readonly Record<string, unknown>[];
  readonly relationships: readonly Record<string, string>[];
  readonly [field: string]: unknown;
}

function read(text: string): Spdx {
  const document = JSON.parse(text) as Spdx;
  checkSpdx(document);
  return document;
}

/** The fields that the JSON schema of SPDX 2.3 requires, and the forms that it and the specification give them. */
function checkSpdx(document: Spdx): void {
  expect(document).toMatchObject({
    SPDXID: "SPDXRef-DOCUMENT",
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    name: expect.stringMatching(/./),
    documentNamespace: expect.stringMatching(/^https:\/\/[^#]+$/),
    creationInfo: {
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      creators: [expect.stringMatching(/^Tool: /)],
    },
  });
  const ids = ["SPDXRef-DOCUMENT", ...document.packages.map(({ SPDXID }) => String(SPDXID))];
  expect(new Set(ids).size).toBe(ids.length);
  for (const one of document.packages) {
    expect(one).toMatchObject({
      SPDXID: expect.stringMatching(/^SPDXRef-[A-Za-z0-9.-]+$/),
      name: expect.stringMatching(/./),
      downloadLocation: expect.stringMatching(/^NOASSERTION$|^https?:\/\//),
      filesAnalyzed: false,
    });
    for (const checksum of (one["checksums"] as object[] | undefined) ?? [])
      expect(checksum).toEqual({ algorithm: "SHA512", checksumValue: expect.stringMatching(/^[0-9a-f]{128}$/) });
    for (const reference of (one["externalRefs"] as object[] | undefined) ?? [])
      expect(reference).toEqual({
        referenceCategory: "PACKAGE-MANAGER",
        referenceType: "purl",
        referenceLocator: expect.stringMatching(/^pkg:npm\/(%40[a-z-]+\/)?[a-z-]+@[0-9a-z.-]+$/),
      });
  }
  for (const relationship of document.relationships) {
    expect(Object.keys(relationship).toSorted()).toEqual(["relatedSpdxElement", "relationshipType", "spdxElementId"]);
    expect(ids).toContain(relationship["spdxElementId"]);
    expect(ids).toContain(relationship["relatedSpdxElement"]);
  }
}

describe("an SBOM", () => {
  test("is an SPDX 2.3 document with the data of the lock file", () => {
    lock();
    const { packages, relationships } = read(sbom({ dir, name: "mine", packages: PACKAGES }));
    expect(packages).toMatchObject([
      { name: "mine" },
      {
        name: "@acme/tools",
        versionInfo: "2.0.0",
        downloadLocation: "NOASSERTION",
        externalRefs: [{ referenceLocator: "pkg:npm/%40acme/tools@2.0.0" }],
      },
      {
        name: "left-pad",
        versionInfo: "1.3.0",
        downloadLocation: "https://registry.example/left-pad/-/left-pad-1.3.0.tgz",
        licenseDeclared: "(MIT OR Apache-2.0)",
        checksums: [{ checksumValue: HASH.toString("hex") }],
      },
    ]);
    expect(packages[1]).not.toHaveProperty("licenseDeclared");
    expect(relationships.map(({ relationshipType }) => relationshipType)).toEqual([
      "DESCRIBES",
      "CONTAINS",
      "CONTAINS",
    ]);
  });

  test("has a namespace that depends on its packages only", () => {
    lock();
    const text = sbom({ dir, name: "mine", packages: PACKAGES });
    expect(sbom({ dir, name: "mine", packages: PACKAGES })).toBe(text);
    const other = read(sbom({ dir, name: "mine", packages: PACKAGES.slice(1) }));
    expect(other["documentNamespace"]).not.toBe(read(text)["documentNamespace"]);
  });

  test("names the base, but no path of this machine", () => {
    const base = { name: "oci:/home/ada/base", digest: "sha256:abc" } as Image;
    const text = sbom({ dir, name: "mine", packages: [], base });
    expect(read(text).packages[1]).toMatchObject({ name: "base", versionInfo: "sha256:abc" });
    expect(text).not.toContain("/home/ada");
  });

  test("contains no credentials of a registry", () => {
    lock({ "node_modules/left-pad": { version: "1.3.0", resolved: "https://ada:secret@registry.example/x.tgz" } });
    expect(sbom({ dir, name: "mine", packages: PACKAGES })).not.toContain("secret");
  });

  test("uses the lock file of a parent workspace", () => {
    lock();
    const folder = join(dir, "functions", "mine");
    mkdirSync(folder, { recursive: true });
    expect(read(sbom({ dir: folder, name: "mine", packages: PACKAGES })).packages).toHaveLength(3);
  });

  test("lists workspaces, and packages without a version", () => {
    lock({ "packages/tools": { version: "1.0.0" }, "packages/other": { name: "@acme/other", license: "MIT" } });
    const packages = [
      { name: "tools", version: "1.0.0", ofSdk: false },
      { name: "@acme/other", version: "0", ofSdk: false },
    ];
    expect(read(sbom({ dir, name: "mine", packages })).packages[2]).toMatchObject({ licenseDeclared: "MIT" });
  });

  test("of xfn's own SDK needs no lock file", () => {
    const packages = [{ name: "@xfn/functionio", version: "0.1.0", ofSdk: true }];
    expect(read(sbom({ dir, name: "mine", packages })).packages).toHaveLength(2);
  });

  test.each([
    ["a missing package", JSON.stringify({ packages: {} }), /not in .*package-lock/],
    ["the form of npm 6", JSON.stringify({ dependencies: {} }), /npm 6/],
    ["invalid JSON", "{", /package-lock\.json/],
  ])("of a lock file with %s is refused", (_, text, message) => {
    writeFileSync(join(dir, "package-lock.json"), text);
    const call = (): unknown => sbom({ dir, name: "mine", packages: PACKAGES });
    expect(call).toThrow(expect.objectContaining({ code: "Input", message: expect.stringMatching(message) }));
  });

  test("without a lock file is refused, and the message says how to make one", () => {
    expect(() => sbom({ dir, name: "mine", packages: PACKAGES })).toThrow(/npm install --package-lock-only/);
  });
});

test("lists the packages in a bundle, but not those that tree shaking removed", async () => {
  const write = (path: string, text: string): void => {
    mkdirSync(join(dir, path, ".."), { recursive: true });
    writeFileSync(join(dir, path), text);
  };
  for (const name of ["left-pad", "@acme/tools", "unused"]) {
    write(`node_modules/${name}/package.json`, JSON.stringify({ name, version: "1.0.0", sideEffects: false }));
    write(`node_modules/${name}/index.js`, "export const value = 1;\n");
  }
  write(
    "function.ts",
    `import { compose } from "@xfn/functionio/sdk";
import { value } from "left-pad";
import { value as other } from "@acme/tools";
import { value as unused } from "unused";
export default compose(({ results }) => results.normal(String(value + other)));
`,
  );
  const { packages } = await bundle(dir, "function.ts");
  expect(packages).toMatchObject([
    { name: "@acme/tools", version: "1.0.0", ofSdk: false },
    { name: "@bufbuild/protobuf", ofSdk: true },
    { name: "@xfn/composition", ofSdk: true },
    { name: "@xfn/errors", ofSdk: true },
    { name: "@xfn/function-grpc", ofSdk: true },
    { name: "@xfn/functionio", ofSdk: true },
    { name: "@xfn/json", ofSdk: true },
    { name: "@xfn/protobuf", ofSdk: true },
    { name: "js-yaml", ofSdk: true },
    { name: "left-pad", version: "1.0.0", ofSdk: false },
  ]);
});
