import { expect, test } from "vitest";
import { chooseManifest, type Descriptor } from "./manifest.ts";
import { OCI_INDEX, OCI_MANIFEST } from "./media-types.ts";
import { parsePlatform, printPlatform, satisfies } from "./platform.ts";

test.each([
  ["linux/amd64", "linux/amd64", true],
  ["linux/arm64/v8", "linux/arm64", true],
  ["linux/arm64", "linux/arm64/v8", true],
  ["linux/arm/v6", "linux/arm/v7", true],
  ["linux/arm/v7", "linux/arm/v6", false],
  ["linux/amd64/v3", "linux/amd64/v2", false],
  ["windows/amd64", "linux/amd64", false],
  ["linux/386", "linux/amd64", false],
])("an image for %s runs on %s: %s", (offered, wanted, yes) => {
  expect(satisfies(parsePlatform(offered), parsePlatform(wanted))).toBe(yes);
});

test("a platform is printed as it is parsed", () => {
  for (const text of ["linux/amd64", "linux/arm/v7"]) expect(printPlatform(parsePlatform(text))).toBe(text);
});

test("the exact variant wins in any order", () => {
  const entry = (platform: string): Descriptor => ({
    mediaType: OCI_MANIFEST,
    digest: `sha256:${platform}`,
    size: 1,
    platform: parsePlatform(platform),
  });
  const manifests = ["linux/arm/v6", "linux/arm/v7", "linux/amd64"].map(entry);
  for (const order of [manifests, manifests.toReversed()]) {
    const index = { mediaType: OCI_INDEX, manifests: order };
    expect(chooseManifest(index, parsePlatform("linux/arm/v7")).digest).toBe("sha256:linux/arm/v7");
  }
});
