import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ImageError } from "../base/errors.ts";
import {
  formatLayoutName,
  hasLocationPrefix,
  parseImageLocation,
  parseImageName,
  parseReference,
  parseRegistry,
  resolveImageName,
  storeNames,
  tryParseImageName,
} from "./image-name.ts";

const DIGEST = `sha256:${"0123456789abcdef".repeat(4)}`;

describe("parseReference", () => {
  test.each([
    ["busybox", "docker.io/library/busybox:latest"],
    ["busybox:1.37", "docker.io/library/busybox:1.37"],
    ["org/fn", "docker.io/org/fn:latest"],
    ["docker.io/busybox", "docker.io/library/busybox:latest"],
    ["index.docker.io/library/busybox", "docker.io/library/busybox:latest"],
    ["ghcr.io/org/fn:v1", "ghcr.io/org/fn:v1"],
    ["localhost/fn", "localhost/fn:latest"],
    ["localhost:5000/fn", "localhost:5000/fn:latest"],
    ["127.0.0.1:5000/a/b/c:t", "127.0.0.1:5000/a/b/c:t"],
    ["[::1]:5000/fn", "[::1]:5000/fn:latest"],
    ["Registry.Example/fn", "registry.example/fn:latest"],
    ["registry.example:443/fn", "registry.example/fn:latest"],
    ["registry.example:0443/fn", "registry.example/fn:latest"],
    ["registry.example:05000/fn", "registry.example:5000/fn:latest"],
    ["registry.hub.docker.com/library/busybox", "docker.io/library/busybox:latest"],
    ["index.docker.io:443/busybox", "docker.io/library/busybox:latest"],
    ["[0:0::1]:5000/fn", "[::1]:5000/fn:latest"],
    ["[::FFFF:127.0.0.1]:5000/fn", "127.0.0.1:5000/fn:latest"],
    ["127.1:5000/fn", "127.0.0.1:5000/fn:latest"],
    ["registry:443/fn", "registry:443/fn:latest"],
    [`ghcr.io/org/fn@${DIGEST}`, `ghcr.io/org/fn@${DIGEST}`],
    [`ghcr.io/org/fn:v1@${DIGEST}`, `ghcr.io/org/fn:v1@${DIGEST}`],
  ])("%s is %s", (text, name) => {
    expect(parseReference(text).toString()).toBe(name);
  });

  test("a name without a registry belongs to the default registry, unchanged", () => {
    const reference = parseReference("fn", { defaultRegistry: "xpkg.example" });
    expect(reference).toMatchObject({ registry: "xpkg.example", repository: "fn", tag: "latest", qualified: false });
    expect(reference.localName).toBe("fn:latest");
  });

  test.each([
    "",
    ":v1",
    "Upper",
    "a//b",
    "/a",
    "a/",
    "a:",
    "a:b c",
    "a@sha256:abc",
    "a@sha256:../../x",
    `a@md5:${"0".repeat(32)}`,
    "../x",
    "a/../b",
    "host:0/a",
    "host:99999/a",
    "-bad.example/a",
    `a:${"t".repeat(129)}`,
    "a".repeat(256),
    "a".repeat(100_000),
    "http://ghcr.io/a",
    "registry.example./a",
    "user@registry.example/a",
    "user:secret@registry.example/a",
    "registry%2eexample/a",
    "registry.example%3a443/a",
    "[::1%25eth0]:5000/a",
    "999.1.1.1/a",
    "a\n",
  ])("rejects %j", (text) => {
    expect(() => parseReference(text)).toThrow(expect.objectContaining({ code: "InvalidReference" }));
  });

  test("rejects a default registry that would not parse as one in the full name", () => {
    expect(() => parseReference("fn", { defaultRegistry: "registry" })).toThrow(ImageError);
  });

  // Without a registry, the first component may look like a host. The last label of a host is not a number.
  const component = fc.stringMatching(/^[a-z0-9]{1,8}([._-][a-z]{1,4})?$/);
  const registry = fc.oneof(
    fc.constant(""),
    fc.domain(),
    fc.constantFrom("localhost", "localhost:5000", "127.0.0.1:80"),
  );
  const tag = fc.option(fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,20}$/), { nil: "" });
  const valid = fc
    .tuple(registry, fc.array(component, { minLength: 1, maxLength: 4 }), tag, fc.boolean())
    .map(([host, path, name, pinned]) => {
      const prefix = host === "" ? "" : `${host}/`;
      return `${prefix}${path.join("/")}${name === "" ? "" : `:${name}`}${pinned ? `@${DIGEST}` : ""}`;
    });

  test("parsing the full name gives the same reference", () => {
    fc.assert(
      fc.property(valid, (text) => {
        const once = parseReference(text);
        const again = parseReference(once.toString());
        expect(again.toString()).toBe(once.toString());
        const ignored = { qualified: 0, localName: 0, isTagImplied: 0, toString: 0 };
        expect({ ...again, ...ignored }).toEqual({ ...once, ...ignored });
      }),
    );
  });

  test("any text is parsed or rejected as InvalidReference, and no result escapes from a path", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-z.:/@-]{0,40}$/)), (text) => {
        try {
          const { registry: host, repository } = parseReference(text);
          expect(`${host}/${repository}`.split("/")).not.toContain("..");
          expect(repository).not.toMatch(/\/\/|^\/|\/$|[\s?#%\\]/);
        } catch (error) {
          expect(error).toMatchObject({ code: "InvalidReference" });
        }
      }),
    );
  });
});

describe("layout names", () => {
  test.each([
    ["oci:/images/fn", "/images/fn", undefined],
    ["oci:/images/fn:v1", "/images/fn", "v1"],
    ["oci:/images/a:b/fn", "/images/a:b/fn", undefined],
    ["oci:fn", `${process.cwd()}/fn`, undefined],
  ])("%s is the directory %s, tag %s", (text, dir, tag) => {
    const name = parseImageName(text);
    expect(name).toMatchObject({ kind: "layout", dir, ...(tag !== undefined && { tag }) });
    expect(name.toString()).toBe(formatLayoutName(dir, tag));
    expect(parseImageName(name.toString()).toString()).toBe(name.toString());
  });

  test("an empty one is rejected", () => {
    expect(() => parseImageName("oci:")).toThrow(expect.objectContaining({ code: "InvalidReference" }));
    expect(tryParseImageName("oci:")).toBeUndefined();
  });

  test.each([
    ["oci:fn:v1", "oci:/base/fn:v1"],
    ["oci:../fn", "oci:/fn"],
    ["oci:/images/fn", "oci:/images/fn"],
    ["oci:", "oci:"],
    ["busybox:1", "busybox:1"],
  ])("%s resolves to %s below /base", (text, resolved) => {
    expect(resolveImageName(text, "/base")).toBe(resolved);
  });
});

describe("locations", () => {
  test.each([
    ["store:ghcr.io/org/fn", "store"],
    ["fn:v1", "store"],
    ["ghcr.io/org/fn", "registry"],
    ["oci:/images/fn", "layout"],
  ])("%s is of the kind %s", (text, kind) => {
    expect(parseImageLocation(text).kind).toBe(kind);
    expect(hasLocationPrefix(text)).toBe(text.startsWith("oci:") || text.startsWith("store:"));
  });

  test("the store is searched for the local name first", () => {
    expect(storeNames(parseReference("fn"))).toEqual(["fn:latest", "docker.io/library/fn:latest"]);
    expect(storeNames(parseReference("ghcr.io/fn"))).toEqual(["ghcr.io/fn:latest"]);
  });
});

test("a registry is returned as references spell it", () => {
  expect(parseRegistry("Index.Docker.io")).toBe("docker.io");
  expect(parseRegistry("Registry.example:5000")).toBe("registry.example:5000");
  expect(() => parseRegistry("https://registry.example")).toThrow(ImageError);
  expect(tryParseImageName("Not A Name")).toBeUndefined();
});
