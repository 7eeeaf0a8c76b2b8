import { inspect } from "node:util";
import type { ConnectionDetail } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { ConnectionDetails, extractConnectionDetails } from "./connection-details.ts";

const resource: JsonObject = {
  metadata: { name: "pg-1" },
  spec: { port: 5432, host: "db.example.org", hosts: ["a", "b"], empty: "", nothing: null, config: { z: 1, a: "<&>" } },
};
const secret = new Map([
  ["username", "admin"],
  ["password", "hunter2"],
  ["blank", ""],
]);
const extract = (...details: ConnectionDetail[]): Record<string, string> =>
  Object.fromEntries(extractConnectionDetails({ details, resource, secret }));

describe("extractConnectionDetails", () => {
  test("reads the composed resource's secret, under the same or another name", () => {
    expect(extract({ fromConnectionSecretKey: "username" })).toEqual({ username: "admin" });
    expect(extract({ name: "user", fromConnectionSecretKey: "username" })).toEqual({ user: "admin" });
    expect(extract({ type: "FromConnectionSecretKey", fromConnectionSecretKey: "blank" })).toEqual({ blank: "" });
  });

  test("reads fields, and prints values other than strings as Go's JSON", () => {
    expect(extract({ name: "n", fromFieldPath: "spec.host" })).toEqual({ n: "db.example.org" });
    expect(extract({ name: "n", fromFieldPath: "spec.port" })).toEqual({ n: "5432" });
    expect(extract({ name: "n", fromFieldPath: "spec.empty" })).toEqual({ n: "" });
    expect(extract({ name: "n", fromFieldPath: "spec.nothing" })).toEqual({ n: "null" });
    expect(extract({ name: "n", fromFieldPath: "spec.hosts" })).toEqual({ n: '["a","b"]' });
    expect(extract({ name: "n", fromFieldPath: "spec.config" })).toEqual({ n: '{"a":"\\u003c\\u0026\\u003e","z":1}' });
  });

  test("uses values unchanged, and infers FromValue first", () => {
    expect(extract({ name: "n", value: "v" })).toEqual({ n: "v" });
    expect(extract({ name: "n", value: "v", fromConnectionSecretKey: "username" })).toEqual({ n: "v" });
    expect(extract({ name: "n", fromFieldPath: "spec.host", fromConnectionSecretKey: "username" })).toEqual({
      n: "admin",
    });
  });

  test("skips missing keys and fields", () => {
    expect(extract({ fromConnectionSecretKey: "missing" })).toEqual({});
    expect(extract({ name: "n", fromFieldPath: "status.endpoint" })).toEqual({});
    expect(extract({ name: "n", fromFieldPath: "spec..x" })).toEqual({});
    expect(extract({ name: "n", fromFieldPath: "spec.hosts[99999999]" })).toEqual({});
    expect(extract({ name: "n", type: "Nope" as "FromValue", value: "v" })).toEqual({});
    const details: ConnectionDetail[] = [{ name: "n", fromFieldPath: "spec.host" }];
    expect(extractConnectionDetails({ details, resource: undefined, secret }).size).toBe(0);
  });

  test("null counts as not set", () => {
    const detail = { name: null, type: null, value: null, fromConnectionSecretKey: "username" };
    expect(extract(detail as unknown as ConnectionDetail)).toEqual({ username: "admin" });
  });

  test("of two details with one name, the later wins", () => {
    expect(extract({ name: "n", value: "1" }, { name: "n", value: "2" })).toEqual({ n: "2" });
  });

  test.each<[ConnectionDetail, string]>([
    [{ value: "hunter2" }, "MissingName"],
    [{ fromFieldPath: "spec.host" }, "MissingName"],
    [{ name: "", value: "hunter2" }, "MissingName"],
    [{}, "MissingName"],
    [{ name: "n" }, "MissingField"],
    [{ name: "n", type: "FromValue" }, "MissingField"],
    [{ name: "n", type: "FromFieldPath", value: "hunter2" }, "MissingField"],
  ])("%j is an error that quotes no value: %s", (detail, code) => {
    expect(() => extract({ name: "ok", value: "" }, detail)).toThrow(
      expect.objectContaining({ code, index: 1, message: expect.not.stringContaining("hunter2") }),
    );
  });
});

describe("ConnectionDetails", () => {
  const details = new ConnectionDetails([
    ["password", "hunter2"],
    ["host", "db"],
  ]);

  test("returns values by name and by iteration, sorted", () => {
    expect(details.get("password")).toBe("hunter2");
    expect(details.names).toEqual(["host", "password"]);
    expect([...details]).toEqual([
      ["host", "db"],
      ["password", "hunter2"],
    ]);
    expect(details.size).toBe(2);
  });

  test("secret: values appear neither in JSON nor when inspected", () => {
    expect(JSON.stringify({ details })).toBe('{"details":{"names":["host","password"]}}');
    expect(inspect(details, { depth: 9, showHidden: true })).not.toContain("hunter2");
  });
});
