import { expect, test } from "vitest";
import { keyValues, platformList } from "./flag-values.ts";

test("accepts repeated platforms, and platforms with commas", () => {
  const platforms = [
    { os: "linux", architecture: "amd64" },
    { os: "linux", architecture: "arm", variant: "v7" },
  ];
  expect(platformList(["linux/amd64,linux/arm/v7"])).toEqual(platforms);
  expect(platformList(["linux/amd64", "linux/arm/v7"])).toEqual(platforms);
  expect(platformList(undefined)).toEqual([]);
});

test.each(["arm64", "linux/", "", "linux/amd64,", "linux/arm/v7/x", "Linux/amd64", "linux/amd64,linux/amd64"])(
  "%j is not a list of platforms",
  (text) => {
    expect(() => platformList([text])).toThrow(expect.objectContaining({ code: "Usage" }));
  },
);

test("splits pairs at the first =, and the last value of a key wins", () => {
  expect(keyValues("--label", ["a=b=c", "d=", "a=e"])).toEqual({ a: "e", d: "" });
  expect(Object.keys(keyValues("--label", ["__proto__=x"]))).toEqual(["__proto__"]);
});

test.each(["a", "=b", ""])("%j is not a pair", (text) => {
  expect(() => keyValues("--label", [text])).toThrow(expect.objectContaining({ code: "Usage" }));
});
