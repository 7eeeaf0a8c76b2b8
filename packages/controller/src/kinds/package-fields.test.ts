import { PACKAGE_REFERENCE } from "@xfn/composition";
import { tryParseImageName } from "@xfn/oci-rootfs/image-name";
import fc from "fast-check";
import { expect, test } from "vitest";
import { packageReference } from "./package-fields.ts";

test("a package that the API server accepts is one that the controller can read", () => {
  const part = fc.constantFrom(
    "a",
    "A",
    "acme",
    "a.b",
    "a_b",
    "a..b",
    "-",
    "localhost",
    "ghcr.io",
    "r:5000",
    "[::1]",
    "",
  );
  const tail = fc.constantFrom(
    "",
    ":v1",
    ":",
    ":v 1",
    "@sha256:0123",
    `@sha256:${"0".repeat(64)}`,
    `:v@sha512:${"f".repeat(128)}`,
  );
  let accepted = 0;
  fc.assert(
    fc.property(fc.array(part, { maxLength: 4 }), tail, (parts, end) => {
      const text = `${parts.join("/")}${end}`;
      if (text === "" || PACKAGE_REFERENCE.problemOf(text) !== undefined) return;
      accepted++;
      expect(tryParseImageName(text)).toMatchObject({ kind: "registry", qualified: true });
    }),
    { numRuns: 2_000 },
  );
  expect(accepted).toBeGreaterThan(0);
});

test("the CRDs have the rule of the API, and further ones", () => {
  const further = { rule: "self == oldSelf", message: "m" };
  expect(packageReference("The package.", further).openApi).toMatchObject({
    maxLength: 1024,
    "x-kubernetes-validations": [{ message: expect.stringContaining("tag or digest") }, further],
  });
});
