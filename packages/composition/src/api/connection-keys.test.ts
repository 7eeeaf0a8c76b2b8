import { readDocuments } from "@xfn/json/document";
import { describe, expect, test } from "vitest";
import { checkConnectionKeys } from "./connection-keys.ts";
import { parseComposition } from "./parse-composition.ts";

function check(keys: string[], ...resources: string[]): string[] {
  return findings(
    keys,
    `  resources: [${resources.map((details, index) => `{name: r${index}, base: {kind: K}, connectionDetails: [${details}]}`).join(", ")}]`,
  );
}

function findings(keys: string[], spec: string, exposed?: string[]): string[] {
  const [document] = readDocuments(`apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: c}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XDatabase}
${spec}`);
  if (document === undefined) throw new Error("no document");
  const all = checkConnectionKeys(parseComposition(document), keys, document, exposed);
  return all.map(({ severity, path, code, line }) => `${severity} ${path} ${code} line ${line}`);
}

describe("checkConnectionKeys", () => {
  test("accepts keys that are each exposed exactly once, by any type of detail", () => {
    const first = "{name: username, fromConnectionSecretKey: admin}, {fromConnectionSecretKey: password}";
    const second = "{name: endpoint, fromFieldPath: status.host}, {name: port, value: '5432'}";
    expect(check(["username", "password", "endpoint", "port"], first, second)).toEqual([]);
  });

  test("a key that no resource exposes is an error", () => {
    expect(check(["username", "password"], "{fromConnectionSecretKey: username}")).toEqual([
      "error spec.resources Required line 6",
    ]);
  });

  test("with functions, which may expose the key, it is checked after a run", () => {
    const spec = "  functions: [{name: f, type: Container, container: {image: i}}]";
    expect(findings(["username"], spec)).toEqual([]);
    expect(findings(["username"], spec, ["username"])).toEqual([]);
    expect(findings(["username"], spec, [])).toEqual(["warning spec.resources Required line 4"]);
  });

  test("a detail of a function without a key is a warning, because it is not published", () => {
    const spec = "  functions: [{name: f, type: Container, container: {image: i}}]";
    expect(findings(["a"], spec, ["a", "b"])).toEqual(["warning spec.functions Ignored line 6"]);
  });

  test("a key that two resources expose is an error", () => {
    expect(check(["a"], "{fromConnectionSecretKey: a}", "{name: a, value: x}")).toEqual([
      "error spec.resources[1].connectionDetails[0] Duplicate line 6",
    ]);
  });

  test("a detail without a key is a warning, because it is not published", () => {
    expect(check(["a"], "{fromConnectionSecretKey: a}, {fromConnectionSecretKey: b}")).toEqual([
      "warning spec.resources[0].connectionDetails[1] Ignored line 6",
    ]);
  });

  test("nothing is checked without keys, or with mode Pipeline", () => {
    expect(check([], "{fromConnectionSecretKey: a}")).toEqual([]);
    const pipeline = "  mode: Pipeline\n  pipeline: [{step: s, functionRef: {name: f}}]";
    expect(findings(["a"], pipeline)).toEqual([]);
  });

  test("paths name the field to if the author wrote it", () => {
    const to = "  to: [{base: {kind: K}, connectionDetails: [{fromConnectionSecretKey: b}]}]";
    expect(findings(["a"], to)).toEqual([
      "error spec.to Required line 6",
      "warning spec.to[0].connectionDetails[0] Ignored line 6",
    ]);
  });
});
