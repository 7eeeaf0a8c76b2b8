import fc from "fast-check";
import { expect, test } from "vitest";
import { composedName } from "./names.ts";

const uid = "7b0b3c2e-3f5c-4a53-9d3b-0c5b1f8f8a11";

test("the same XR and entry always give the same name, so that a retry finds what was created", () => {
  // A changed name would make every existing XR create its resources a second time: this value must never change.
  expect(composedName("my-store-", uid, "bucket")).toBe("my-store-1ebbbb87bbc8");
});

test("another XR or entry gives another name", () => {
  const names = [composedName("s-", uid, "a"), composedName("s-", uid, "b"), composedName("s-", `${uid}2`, "a")];
  expect(new Set(names).size).toBe(3);
  // The separator keeps uid and entry apart.
  expect(composedName("s-", "ab", "c")).not.toBe(composedName("s-", "a", "bc"));
});

test("every name fits a DNS label in length, and is a DNS name if its prefix is", () => {
  const prefix = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?-$/);
  fc.assert(
    fc.property(prefix, fc.string(), (start, entry) => {
      const name = composedName(start, uid, entry);
      expect(name.length).toBeLessThanOrEqual(63);
      expect(name).toMatch(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
    }),
  );
});
