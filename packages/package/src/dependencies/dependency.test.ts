import type { JsonValue } from "@xfn/json";
import { expect, test } from "vitest";
import { packageSource, readDependencies } from "./dependency.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;

test.each<[Record<string, JsonValue>, string, string]>([
  [{ provider: "xpkg.example/acme/p", version: ">=v1.0.0" }, "Provider", "xpkg.example/acme/p"],
  [{ configuration: "xpkg.example/acme/c", version: "*" }, "Configuration", "xpkg.example/acme/c"],
  [{ function: "xpkg.example:5000/f", version: DIGEST }, "Function", "xpkg.example:5000/f"],
  [
    { apiVersion: "pkg.crossplane.io/v1", kind: "Provider", package: "xpkg.example/p", version: "v1" },
    "Provider",
    "xpkg.example/p",
  ],
  // Crossplane prefers the explicit form.
  [
    { apiVersion: "pkg.crossplane.io/v1beta1", kind: "Function", package: "a.b/c", provider: "a.b/d", version: "v1" },
    "Function",
    "a.b/c",
  ],
  [{ provider: "index.docker.io/acme/p", version: "v1" }, "Provider", "docker.io/acme/p"],
])("%j is a dependency on the %s %s", (entry, kind, source) => {
  expect(readDependencies([entry])).toEqual({
    dependencies: [{ kind, package: source, constraint: entry["version"] }],
    faults: [],
  });
});

test("a digest can have spaces around it", () => {
  const { dependencies } = readDependencies([{ provider: "a.b/c", version: ` ${DIGEST}\n` }]);
  expect(dependencies).toMatchObject([{ constraint: DIGEST }]);
});

test.each<[JsonValue, string]>([
  [{ version: "v1" }, "spec.dependsOn.1"],
  ["a.b/c", "spec.dependsOn.1"],
  [{ provider: "a.b/c", function: "a.b/d", version: "v1" }, "spec.dependsOn.1"],
  [{ provider: "a.b/c:v1", version: "v1" }, "spec.dependsOn.1.provider"],
  [{ provider: `a.b/c@${DIGEST}`, version: "v1" }, "spec.dependsOn.1.provider"],
  [{ provider: "A/B", version: "v1" }, "spec.dependsOn.1.provider"],
  [{ provider: 7, version: "v1" }, "spec.dependsOn.1.provider"],
  [{ provider: "a.b/c", version: "latest" }, "spec.dependsOn.1.version"],
  [{ provider: "a.b/c", version: "" }, "spec.dependsOn.1.version"],
  [{ provider: "a.b/c" }, "spec.dependsOn.1.version"],
  [{ provider: "a.b/c", version: "sha256:abc" }, "spec.dependsOn.1.version"],
  [{ apiVersion: "v1", kind: "Provider", package: "a.b/c", version: "v1" }, "spec.dependsOn.1.apiVersion"],
  [{ apiVersion: "pkg.crossplane.io/v1", kind: "Lock", package: "a.b/c", version: "v1" }, "spec.dependsOn.1.kind"],
])("%j is not a dependency, and the fault names %s", (entry, field) => {
  const { dependencies, faults } = readDependencies([{ provider: "a.b/fine", version: "v1" }, entry]);
  expect(dependencies).toHaveLength(1);
  expect(faults.map(({ path }) => path.join("."))).toEqual([field]);
});

test("no dependsOn is none, and another type is a fault", () => {
  expect(readDependencies(undefined)).toEqual({ dependencies: [], faults: [] });
  expect(readDependencies(null)).toEqual({ dependencies: [], faults: [] });
  expect(readDependencies({}).faults).toHaveLength(1);
  expect(readDependencies(Array.from({ length: 201 }, () => ({}))).faults).toHaveLength(1);
});

test("the source of a package has no version", () => {
  expect(packageSource("Localhost:5000/a/b")).toBe("localhost:5000/a/b");
  expect(packageSource("localhost:5000/a/b:v1")).toBeUndefined();
});
