import { expect, test } from "vitest";
import { type LockedPackage, lockEntry, readLock } from "./lock.ts";

const PACKAGE: LockedPackage = {
  kind: "Configuration",
  name: "acme-c-0123456789ab",
  source: "r.example/acme/c",
  version: "v1.0.0",
  dependencies: [{ kind: "Provider", package: "r.example/acme/p", constraint: ">=v1.0.0" }],
};

test("an entry has Crossplane's fields, and is read back", () => {
  expect(lockEntry(PACKAGE)).toEqual({
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Configuration",
    name: "acme-c-0123456789ab",
    source: "r.example/acme/c",
    version: "v1.0.0",
    dependencies: [
      { apiVersion: "pkg.crossplane.io/v1", kind: "Provider", package: "r.example/acme/p", constraints: ">=v1.0.0" },
    ],
  });
  expect(readLock([lockEntry(PACKAGE)])).toEqual([PACKAGE]);
});

test("an entry of an older Crossplane has types", () => {
  const { apiVersion: _, kind, dependencies: __, ...entry } = lockEntry(PACKAGE);
  const dependencies = [{ type: "Provider", package: "r.example/acme/p", constraints: ">=v1.0.0" }];
  expect(readLock([{ ...entry, type: kind ?? null, dependencies }])).toEqual([PACKAGE]);
});

test("invalid entries are left out", () => {
  expect(readLock(undefined)).toEqual([]);
  expect(readLock([null, { kind: "Provider" }, { ...lockEntry(PACKAGE), kind: "Lock" }])).toEqual([]);
  const entry = { ...lockEntry(PACKAGE), version: 7, dependencies: [7, { kind: "Provider" }] };
  expect(readLock([entry])).toEqual([{ ...PACKAGE, version: "", dependencies: [] }]);
});
