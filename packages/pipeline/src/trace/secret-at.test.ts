import { expect, test } from "vitest";
import { secretFields } from "./secret-at.ts";

const isSecret = secretFields({
  kind: "Secret",
  data: { any: "aGVsbG8=" },
  spec: { password: "hunter2", size: 3, env: [{ name: "DB_TOKEN", value: "t" }], nested: { clientSecret: "s" } },
});

test.each([
  [["data", "any"], true],
  [["data"], true],
  [["spec", "password"], true],
  [["spec", "env", 0, "value"], true],
  [["spec", "nested"], true],
  [["spec", "password", "below"], true],
  [["spec", "size"], false],
  [["spec", "env", 0, "name"], false],
  [["spec", "env", 9, "value"], false],
  [["spec", "missing"], false],
  [["spec", "constructor"], false],
])("%j is a secret: %j", (at, expected) => {
  expect(isSecret(at)).toBe(expected);
});
