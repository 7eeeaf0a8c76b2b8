import { readDocuments } from "@xfn/functionio/document";
import { describe, expect, test } from "vitest";
import { checkConnectionKeys } from "./connection-keys.ts";
import { parseComposition } from "./parse-composition.ts";

function check(keys: string[], ...resources: string[]): string[] {
  return findings(
    keys,
    `  resources: [${resources.map((details, index) => `{name: r${index}, base: {kind: K}, connectionDetails: [${details}]}`).join(", ")}]`,
  );
}

function findings(keys: string[], spec: string): string[] {
  const [document] = readDocuments(`apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: c}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XDatabase}
${spec}`);
  if (document === undefined) throw new Error("no document");
  const all = checkConnectionKeys(parseComposition(document), keys, document);
  return all.map(({ severity, path, code, line }) => `${severity} ${path} ${code} line ${line}`);
}

describe("checkConnectionKeys", () => {
  test("is content when each key is exposed exactly once, whatever way (seed 004)", () => {
    const first = "{name: username, fromConnectionSecretKey: admin}, {fromConnectionSecretKey: password}";
    const second = "{name: endpoint, fromFieldPath: status.host}, {name: port, value: '5432'}";
    expect(check(["username", "password", "endpoint", "port"], first, second)).toEqual([]);
  });

  test("a key that nobody exposes is an error", () => {
    expect(check(["username", "password"], "{fromConnectionSecretKey: username}")).toEqual([
      "error spec.resources Required line 6",
    ]);
  });

  test("with functions it is a warning: they may expose it", () => {
    const spec = "  functions: [{name: f, type: Container, container: {image: i}}]";
    expect(findings(["username"], spec)).toEqual(["warning spec.resources Required line 4"]);
  });

  test("a key that two expose is an error", () => {
    expect(check(["a"], "{fromConnectionSecretKey: a}", "{name: a, value: x}")).toEqual([
      "error spec.resources[1].connectionDetails[0] Duplicate line 6",
    ]);
  });

  test("a detail that is no key is a warning: it is not published", () => {
    expect(check(["a"], "{fromConnectionSecretKey: a}, {fromConnectionSecretKey: b}")).toEqual([
      "warning spec.resources[0].connectionDetails[1] Ignored line 6",
    ]);
  });

  test("a definition without keys, and mode Pipeline, leave nothing to check", () => {
    expect(check([], "{fromConnectionSecretKey: a}")).toEqual([]);
    const pipeline = "  mode: Pipeline\n  pipeline: [{step: s, functionRef: {name: f}}]";
    expect(findings(["a"], pipeline)).toEqual([]);
  });

  test("seed 004's to is named as it was written", () => {
    const to = "  to: [{base: {kind: K}, connectionDetails: [{fromConnectionSecretKey: b}]}]";
    expect(findings(["a"], to)).toEqual([
      "error spec.to Required line 6",
      "warning spec.to[0].connectionDetails[0] Ignored line 6",
    ]);
  });
});
