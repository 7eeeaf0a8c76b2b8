import { expect, test } from "vitest";
import { isDigest, parseTag, parseVersion } from "./version.ts";

test.each([
  ["v1.2.3", "1.2.3"],
  ["1.2.3-rc.1+x", "1.2.3-rc.1"],
  ["v1", undefined],
  ["v1.2", undefined],
  ["v01.2.3", undefined],
  ["latest", undefined],
  ["v1.2.3_1", undefined],
  [`v1.2.3-${"a".repeat(200)}`, undefined],
  ["99999999999999999999.0.0", undefined],
])("the tag %s names the version %s", (tag, version) => {
  expect(parseTag(tag)?.format()).toBe(version);
});

test("an incomplete version has zeros", () => {
  expect(parseVersion("v2")?.format()).toBe("2.0.0");
});

test.each([
  [`sha256:${"a".repeat(64)}`, true],
  [`sha512:${"0".repeat(128)}`, true],
  [`sha256:${"A".repeat(64)}`, false],
  [`sha256:${"a".repeat(63)}`, false],
  ["v1.2.3", false],
])("whether %s is a digest: %s", (text, is) => {
  expect(isDigest(text)).toBe(is);
});
