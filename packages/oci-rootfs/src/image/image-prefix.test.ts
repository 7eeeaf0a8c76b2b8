import { expect, test } from "vitest";
import { parseReference } from "./image-name.ts";
import { afterPrefix, parseImagePrefix } from "./image-prefix.ts";

const DIGEST = `sha256:${"0123456789abcdef".repeat(4)}`;

const rest = (prefix: string, image: string): string | undefined => {
  const parsed = parseImagePrefix(prefix);
  return parsed && afterPrefix(parsed, parseReference(image));
};

test.each([
  ["registry.example.org", "registry.example.org/acme/fn:v1", "/acme/fn:v1"],
  ["registry.example.org/", "registry.example.org/acme/fn:v1", "acme/fn:v1"],
  ["registry.example.org", "registry.example.org:5000/acme/fn", "/acme/fn"],
  ["registry.example.org/acme", "registry.example.org/acme/fn:v1", "/fn:v1"],
  ["registry.example.org/acme/", "registry.example.org/acme/fn:v1", "fn:v1"],
  ["registry.example.org/acme/fn", "registry.example.org/acme/fn", ""],
  ["registry.example.org/acme/fn", `registry.example.org/acme/fn:v1@${DIGEST}`, `:v1@${DIGEST}`],
  ["registry.example.org/acme/fn:v1", `registry.example.org/acme/fn:v1@${DIGEST}`, `@${DIGEST}`],
  ["registry.example.org/acme/fn:latest", "registry.example.org/acme/fn", ""],
  [`registry.example.org/acme/fn@${DIGEST}`, `registry.example.org/acme/fn:v1@${DIGEST}`, ""],
  ["registry.example.org/acme/provider-", "registry.example.org/acme/provider-aws:v1", "aws:v1"],
  ["docker.io/busybox", "busybox:1.37", ":1.37"],
  ["docker.io/library", "index.docker.io/busybox", "/busybox"],
  ["docker.io", "org/fn:v1", "/org/fn:v1"],
  ["org/fn", "registry-1.docker.io/org/fn:v1", ":v1"],
  ["busybox:1.37", "registry.hub.docker.com/library/busybox:1.37", ""],
  ["localhost", "localhost:5000/fn", "/fn"],
])("after %s, %s has %j", (prefix, image, expected) => {
  expect(rest(prefix, image)).toBe(expected);
});

// One image in each spelling: none evades a policy.
const SPELLINGS = [
  "registry.example.org/acme/fn:v1.0.0",
  "registry.example.org:443/acme/fn:v1.0.0",
  "registry.example.org:00443/acme/fn:v1.0.0",
  "Registry.EXAMPLE.org/acme/fn:v1.0.0",
  "REGISTRY.example.org:443/acme/fn:v1.0.0",
  // The registry itself at other ports.
  "registry.example.org:80/acme/fn:v1.0.0",
  "registry.example.org:8443/acme/fn:v1.0.0",
];
test.each([
  "registry.example.org/acme",
  "registry.example.org/acme/",
  "Registry.Example.Org/acme",
  "registry.example.org./acme",
  "https://registry.example.org/acme",
  "registry.example.org//acme",
  "registry.example.org/Acme",
  "registry.example.org",
])("%s is a prefix of an image in every spelling", (prefix) => {
  for (const image of SPELLINGS) expect([image, rest(prefix, image)]).not.toContain(undefined);
});

test("a prefix with a port is one of that port only, and 443 is the default", () => {
  for (const image of SPELLINGS.slice(0, 5)) {
    expect([image, rest("registry.example.org:443/acme", image)]).toEqual([image, "/fn:v1.0.0"]);
    expect([image, rest("registry.example.org:8443/acme", image)]).toEqual([image, undefined]);
  }
  expect(rest("registry.example.org:443", "registry.example.org:8443/acme/fn")).toBeUndefined();
  expect(rest("registry:443/acme", "registry:443/acme/fn")).toBe("/fn");
});

test.each([
  ["10.0.0.5/acme", "[::ffff:10.0.0.5]/acme/fn"],
  ["10.0.0.5/acme", "[::ffff:a00:5]:443/acme/fn"],
  ["10.0.0.5:5000/acme", "0x0a.0.0.5:5000/acme/fn"],
  ["10.0.0.5:5000/acme", "10.5:5000/acme/fn"],
  ["[::1]:5000/acme", "[0:0:0:0:0:0:0:1]:5000/acme/fn"],
  ["[2001:DB8::1]/acme", "[2001:db8:0::1]:443/acme/fn"],
])("%s is a prefix of %s, which is another spelling of the address", (prefix, image) => {
  expect(rest(prefix, image)).toBe("/fn");
});

test.each([
  ["registry.example.org", "registry.example.org.evil.com/acme/fn"],
  ["registry.example.org", "registry.example.organic/acme/fn"],
  ["registry.example.org", "evil.com/registry.example.org/fn"],
  ["registry.example.org/acme", "registry.example.org/acmevil/fn"],
  ["registry.example.org/acme", "registry.example.org/acme-evil/fn"],
  ["registry.example.org/acme", "registry.example.org/other/acme/fn"],
  ["registry.example.org/acme/", "registry.example.org/acme:v1"],
  ["registry.example.org/acme/fn", "registry.example.org/acme/fn2"],
  ["registry.example.org/acme/fn:v1", "registry.example.org/acme/fn:v1.0.0"],
  ["registry.example.org/acme/fn:v1", "registry.example.org/acme/fn"],
  ["registry.example.org/acme/fn:v1", "registry.example.org/acme/fn/other:v1"],
  [`registry.example.org/acme/fn@${DIGEST}`, "registry.example.org/acme/fn:v1"],
  ["docker.io/busybox", "evil/busybox"],
  ["library", "registry.example.org/library/fn"],
  ["", "registry.example.org/acme/fn"],
  ["", "busybox"],
])("%j is not a prefix of %s", (prefix, image) => {
  expect(rest(prefix, image)).toBeUndefined();
});

test("of two prefixes of an image, the longer one is more specific", () => {
  const lengths = [
    "docker.io",
    "registry.example.org/acme",
    "registry.example.org/acme/fn",
    "registry.example.org/acme/fn:v1",
  ];
  const parsed = lengths.map((text) => parseImagePrefix(text)?.length ?? 0);
  expect(parsed).toEqual(parsed.toSorted((a, b) => a - b));
});
