import { describe, expect, test } from "vitest";
import { normalImage, parseImagePattern } from "./image-patterns.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;
const OTHER = `sha256:${"1".repeat(64)}`;

function allows(pattern: string, image: string, registry?: string): boolean {
  return parseImagePattern(pattern, registry)(normalImage(image, registry));
}

describe("a repository", () => {
  test.each([
    "registry.example.org/team",
    "registry.example.org/team:v1",
    `registry.example.org/team@${DIGEST}`,
    "registry.example.org/team/fn",
    "registry.example.org/team/a/b:v1",
    "REGISTRY.example.org/team/fn",
  ])("allows %s", (image) => {
    expect(allows("registry.example.org/team", image)).toBe(true);
    expect(allows("Registry.Example.org/team/", image)).toBe(true);
  });

  test.each([
    "registry.example.org/teams",
    "registry.example.org/team-b/fn",
    "registry.example.org/x/team",
    "registry.example.org:5000/team",
    "registry.example.org.evil.net/team",
    "evil.net/registry.example.org/team",
    "team",
    "oci:/registry.example.org/team",
  ])("does not allow %s", (image) => {
    expect(allows("registry.example.org/team", image)).toBe(false);
  });
});

describe("one image of Docker Hub", () => {
  const spellings = ["busybox", "library/busybox", "docker.io/busybox", "index.docker.io/library/busybox:latest"];
  test.each(spellings)("matches the pattern %s in every spelling", (pattern) => {
    for (const image of [...spellings, "registry-1.docker.io/busybox"])
      expect(allows(pattern.replace(":latest", ""), image)).toBe(true);
    for (const image of ["docker.io/evil/busybox", "evil/busybox", "localhost/busybox"])
      expect(allows(pattern, image)).toBe(false);
  });

  test("belongs to another registry if that is the default", () => {
    expect(allows("busybox", "busybox", "registry.example.org")).toBe(true);
    expect(allows("busybox", "docker.io/library/busybox", "registry.example.org")).toBe(false);
    expect(allows("docker.io/library/busybox", "busybox", "registry.example.org")).toBe(false);
  });
});

test.each([
  ["registry.example.org:443/team", "registry.example.org/team/fn"],
  ["registry.example.org/team", "registry.example.org:443/team/fn"],
  ["*.EXAMPLE.org:443/team", "registry.example.org/team/fn"],
  ["10.0.0.5:5000/team", "[::ffff:10.0.0.5]:05000/team/fn"],
  ["[::1]:5000/team", "[0:0::1]:5000/team/fn"],
])("the registry of %s has one spelling in patterns and images", (pattern, image) => {
  expect(allows(pattern, image)).toBe(true);
  // Operators must allow each port separately.
  expect(allows(pattern, "registry.example.org:8443/team/fn")).toBe(false);
});

test("one star matches within a path segment, two match across", () => {
  expect(allows("ghcr.io/team-*", "ghcr.io/team-a")).toBe(true);
  expect(allows("ghcr.io/*/fn-*", "ghcr.io/a/fn-b")).toBe(true);
  expect(allows("ghcr.io/*/fn-*", "ghcr.io/a/b/fn-c")).toBe(false);
  expect(allows("ghcr.io/**/fn-*", "ghcr.io/a/b/fn-c")).toBe(true);
  expect(allows("*.example.org/fn", "a.example.org/fn")).toBe(true);
  expect(allows("*.example.org/fn", "evil.net/example.org/fn")).toBe(false);
  expect(allows("*", "anything/at:all")).toBe(true);
  // A dot matches only a dot.
  expect(allows("ghcr.io/a.b", "ghcr.io/axb")).toBe(false);
});

test("a tag matches that tag only, and never a digest", () => {
  expect(allows("ghcr.io/a/fn:v1", "ghcr.io/a/fn:v1")).toBe(true);
  expect(allows("ghcr.io/a/fn:v1.*", "ghcr.io/a/fn:v1.2")).toBe(true);
  expect(allows("ghcr.io/a/fn:latest", "ghcr.io/a/fn")).toBe(true);
  for (const image of ["ghcr.io/a/fn", "ghcr.io/a/fn:v2", "ghcr.io/a/fn/b:v1", `ghcr.io/a/fn:v1@${DIGEST}`]) {
    expect(allows("ghcr.io/a/fn:v1", image), image).toBe(false);
  }
});

test("a digest matches that digest only", () => {
  const pattern = `ghcr.io/a/fn@${DIGEST}`;
  expect(allows(pattern, pattern)).toBe(true);
  expect(allows(pattern, `ghcr.io/a/fn:v1@${DIGEST}`)).toBe(true);
  for (const image of ["ghcr.io/a/fn", `ghcr.io/a/fn@${OTHER}`, `ghcr.io/b/fn@${DIGEST}`]) {
    expect(allows(pattern, image), image).toBe(false);
  }
});

test("only patterns of layouts match layouts, by directory", () => {
  expect(allows("oci:/srv/images", "oci:/srv/images/a:v1")).toBe(true);
  expect(allows("oci:/srv/images", "oci:/srv/images")).toBe(true);
  for (const image of ["oci:/srv/images/../secret", "oci:/srv/images-2/a", "oci:/srv", "oci://srv/../etc"]) {
    expect(allows("oci:/srv/images", image), image).toBe(false);
  }
  expect(allows("**", "oci:/srv/images/a")).toBe(false);
  // The checked path is the path that is opened.
  expect(normalImage("oci:/srv/images/../x/./y", undefined).name).toBe("oci:/srv/x/y");
});

test("a pattern of official images matches no image of another owner", () => {
  for (const image of ["busybox", "docker.io/busybox", "docker.io/library/busybox"])
    expect(allows("docker.io/busy*", image), image).toBe(true);
  for (const image of ["busyx/evil", "docker.io/busyx/evil", "docker.io/evil/busybox", "ghcr.io/library/busybox"])
    expect(allows("docker.io/busy*", image), image).toBe(false);
});

test.each(["A B", "ghcr.io/a//b", "ghcr.io/a@sha256:short", "", "oci:relative", "x@y@z", "/a"])(
  "%j is not a pattern",
  (pattern) => {
    expect(() => parseImagePattern(pattern, undefined)).toThrow(/must be|is oci:/);
  },
);

test.each(["oci:relative", "oci:", "UPPER", "a@b", ""])("rejects %j, which is not an image", (image) => {
  expect(() => normalImage(image, undefined)).toThrow(expect.objectContaining({ code: "InvalidRequest" }));
});
