import { expect, test } from "vitest";
import { mirrorsOf, parseMirror } from "./mirrors.ts";

test("a registry has its mirrors however its name is spelled", () => {
  const mirrors = {
    "Registry.example.org:443": ["mirror.example.org/a"],
    "registry.example.org": ["mirror.example.org:443/b"],
    "registry.example.org:5000": ["mirror.example.org/c"],
    "index.docker.io": ["mirror.example.org/hub"],
  };
  expect(mirrorsOf(mirrors, "registry.example.org")).toEqual([
    { host: "mirror.example.org", prefix: "a" },
    { host: "mirror.example.org", prefix: "b" },
  ]);
  expect(mirrorsOf(mirrors, "docker.io")).toEqual([{ host: "mirror.example.org", prefix: "hub" }]);
  expect(mirrorsOf(mirrors, "other.example.org")).toEqual([]);
});

test.each(["mirror", "https://mirror.example.org", "mirror.example.org./a", "user@mirror.example.org"])(
  "%s is not a mirror",
  (text) => {
    expect(() => parseMirror(text)).toThrow(expect.objectContaining({ code: "InvalidReference" }));
  },
);
