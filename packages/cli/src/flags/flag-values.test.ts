import { expect, test } from "vitest";
import { keyValues, platformList } from "./flag-values.ts";

test("platforms are given one by one, or with commas", () => {
  const platforms = [
    { os: "linux", architecture: "amd64" },
    { os: "linux", architecture: "arm", variant: "v7" },
  ];
  expect(platformList(["linux/amd64,linux/arm/v7"])).toEqual(platforms);
  expect(platformList(["linux/amd64", "linux/arm/v7"])).toEqual(platforms);
  expect(platformList(undefined)).toEqual([]);
});

test.each(["arm64", "linux/", "", "linux/amd64,", "linux/arm/v7/x", "Linux/amd64", "linux/amd64,linux/amd64"])(
  "%j is no list of platforms",
  (text) => {
    expect(() => platformList([text])).toThrow(expect.objectContaining({ code: "Usage" }));
  },
);

test("pairs keep what follows the first =, and the last of a key counts", () => {
  expect(keyValues("--label", ["a=b=c", "d=", "a=e"])).toEqual({ a: "e", d: "" });
  expect(Object.keys(keyValues("--label", ["__proto__=x"]))).toEqual(["__proto__"]);
});

test.each(["a", "=b", ""])("%j is no pair", (text) => {
  expect(() => keyValues("--label", [text])).toThrow(expect.objectContaining({ code: "Usage" }));
});
