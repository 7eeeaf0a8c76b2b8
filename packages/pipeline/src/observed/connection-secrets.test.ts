import { expect, test } from "vitest";
import { connectionSecretOf, secretDetails } from "./connection-secrets.ts";

const queue = (writeConnectionSecretToRef: unknown, namespace?: string) => ({
  apiVersion: "res.example.org/v1",
  kind: "Queue",
  metadata: { name: "q", ...(namespace !== undefined && { namespace }) },
  spec: { writeConnectionSecretToRef } as never,
});

test("the Secret is in the namespace that the reference names, else in that of the resource", () => {
  expect(connectionSecretOf(queue({ name: "s", namespace: "a" }, "b"))).toBe("a/s");
  expect(connectionSecretOf(queue({ name: "s" }, "b"))).toBe("b/s");
  expect(connectionSecretOf(queue({ name: "s" }))).toBe("/s");
});

test("a reference whose name or namespace is not text names no Secret", () => {
  for (const reference of [{ name: 1 }, { name: "s", namespace: 7 }, { namespace: "a" }, "s", null, []])
    expect(connectionSecretOf(queue(reference, "b"))).toBeUndefined();
});

test("details are the Secret's text values by key; stringData overrides data", () => {
  const base64 = (text: string | Buffer): string => Buffer.from(text).toString("base64");
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    data: { b: base64("two"), a: base64("one"), binary: base64(Buffer.from([0xff, 0xfe])), no: 7 },
    stringData: { b: "three" },
  };
  expect(secretDetails(secret)).toEqual([
    { name: "a", value: "one" },
    { name: "b", value: "three" },
  ]);
});
