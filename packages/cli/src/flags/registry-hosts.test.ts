import { expect, test } from "vitest";
import { registryHosts } from "./registry-hosts.ts";

test("normalises hosts like image names", () => {
  expect(registryHosts(["LocalHost:5000", "10.0.0.1", "[::1]:5000"])).toEqual([
    "localhost:5000",
    "10.0.0.1",
    "[::1]:5000",
  ]);
  expect(registryHosts(undefined)).toEqual([]);
});

test.each(["http://localhost:5000", "localhost:5000/", "", "a b"])(
  "%j is not a host, which is wrong usage",
  (value) => {
    expect(() => registryHosts([value])).toThrow(expect.objectContaining({ exitCode: 2 }));
  },
);
