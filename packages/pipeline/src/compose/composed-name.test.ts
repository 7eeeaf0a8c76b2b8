import fc from "fast-check";
import { expect, test } from "vitest";
import { childName, composedName, isDerivedName } from "./composed-name.ts";

const uid = "7b0b3c2e-3f5c-4a53-9d3b-0c5b1f8f8a11";

test("the same XR and entry always give the same name, so that a retry finds the created object", () => {
  // A changed name would make every existing XR create its resources a second time: this value must never change.
  expect(composedName("my-store-", uid, "bucket")).toBe("my-store-1ebbbb87bbc8");
});

test("another XR or entry gives another name", () => {
  const names = [composedName("s-", uid, "a"), composedName("s-", uid, "b"), composedName("s-", `${uid}2`, "a")];
  expect(new Set(names).size).toBe(3);
  // The separator keeps uid and entry apart.
  expect(composedName("s-", "ab", "c")).not.toBe(composedName("s-", "a", "bc"));
});

test("a derived name is that of its XR and entry alone, in the form of both modes", () => {
  for (const name of [composedName("s-", uid, "a"), childName("s-", uid, "a")]) {
    expect(isDerivedName(name, uid, "a")).toBe(true);
    expect(isDerivedName(name, uid, "b")).toBe(false);
    expect(isDerivedName(name, `${uid}2`, "a")).toBe(false);
  }
  for (const name of ["", "a", "s-1ebbbb87bbc8"]) expect(isDerivedName(name, uid, "a")).toBe(false);
});

test("every name fits a DNS label in length, and is a DNS name if its prefix is", () => {
  const label = fc.stringMatching(/^[a-z0-9]([-.]?[a-z0-9]){0,20}$/);
  const prefix = fc.array(label, { minLength: 1, maxLength: 12 }).map((labels) => `${labels.join(".")}-`);
  fc.assert(
    fc.property(prefix, fc.string(), (start, entry) => {
      const name = composedName(start, uid, entry);
      expect(name.length).toBeLessThanOrEqual(63);
      expect(name).toMatch(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
    }),
  );
});

test("a long prefix is truncated, but not in the middle of a separator", () => {
  const long = composedName(`${"a".repeat(49)}.b-`, uid, "bucket");
  expect(long).toMatch(/^a{49}-[0-9a-f]{12}$/);
  const fits = composedName(`${"a".repeat(50)}-`, uid, "bucket");
  expect(fits).toMatch(/^a{50}-[0-9a-f]{12}$/);
});

test("childName gives the names that Crossplane 2 gives, for any prefix", () => {
  // The values are those of Crossplane's own tests (internal/names).
  const composite = "75e4a668-035f-4ce8-8c45-f4d3ac850155";
  const hash = "38ce86992a27";
  const names: [prefix: string, name: string][] = [
    ["resource", `resource-${hash}`],
    ["resource-", `resource-${hash}`],
    ["", hash],
    ["very-long-parent-name-".repeat(3), `very-long-parent-name-very-long-parent-name-very-l-${hash}`],
    [
      "very-long-parent-name-without-ending-hyphen".repeat(2),
      `very-long-parent-name-without-ending-hyphenvery-lo-${hash}`,
    ],
  ];
  for (const [prefix, name] of names) expect(childName(prefix, composite, "database")).toBe(name);
  expect(childName("parent-", composite, "storage")).toBe("parent-abcd22a110fe");
  expect(childName("parent-", "uid-123", "database")).toBe("parent-5f968d238736");
});
