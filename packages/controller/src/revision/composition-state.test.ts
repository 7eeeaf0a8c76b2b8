import { FORM_API_VERSION } from "@xfn/composition/definition";
import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { checkContent, compositionConditions } from "./composition-state.ts";

function live(kind: string, spec: JsonObject, rest: JsonObject = {}): LiveObject {
  const metadata = { name: kind === "Composition" ? "c" : "dbs.example.org", uid: kind, resourceVersion: "1" };
  const apiVersion = kind === "Composition" ? "apiextensions.crossplane.io/v1" : FORM_API_VERSION;
  return { apiVersion, kind, metadata, spec, ...rest } as LiveObject;
}

const template = (name: string, ...details: readonly string[]): JsonObject => ({
  name,
  base: { apiVersion: "v1", kind: "A" },
  connectionDetails: details.map((key) => ({ fromConnectionSecretKey: key })),
});

const composition = (spec: JsonObject): LiveObject =>
  live("Composition", { compositeTypeRef: { apiVersion: "example.org/v1", kind: "Db" }, ...spec });

const DEFINITION = live("InfrastructureDefinition", {
  connectionDetails: ["user", "password"],
  crdSpecTemplate: { group: "example.org", version: "v1", names: { kind: "Db", plural: "dbs" } },
});

function conditions(
  object: LiveObject,
  { definitions = [], revision }: { readonly definitions?: LiveObject[]; readonly revision?: LiveObject } = {},
): string[] {
  return compositionConditions(definitions, object, checkContent(object), revision).map(
    ({ type, status, reason, message = "" }) => `${type} ${status} ${reason} ${message}`.trim(),
  );
}

test("a Composition without problems is Synced", () => {
  const complete = composition({ resources: [template("a", "user", "password")] });
  expect(conditions(complete, { definitions: [DEFINITION] })).toEqual(["Synced True ReconcileSuccess"]);
});

test.each([
  ["lacks a key", [template("a", "user")], 'no resource exposes the connection key "password"'],
  ["exposes a key twice", [template("a", "user", "password"), template("b", "user")], '"user" is exposed by'],
])("a Composition that %s of its InfrastructureDefinition is not Synced", (_, resources, cause) => {
  const broken = composition({ resources });
  const [synced = ""] = conditions(broken, { definitions: [DEFINITION] });
  expect(synced).toMatch(/^Synced False ConnectionContract /);
  expect(synced.slice(0, 200)).toContain(cause);
  expect(conditions(broken)[0]).toMatch(/^Synced True/);
  const other = live("InfrastructureDefinition", { ...(DEFINITION["spec"] as JsonObject), connectionDetails: [] });
  expect(conditions(broken, { definitions: [other] })[0]).toMatch(/^Synced True/);
});

test("names of connection details that are not unique in to are an error of the Composition itself", () => {
  const twice = composition({ to: [template("a", "user"), template("b", "user")] });
  expect(conditions(twice)[0]).toMatch(/^Synced False InvalidComposition .*to\[1\].*"user" is exposed by to\[0\]/);
});

test("a field without effect is a warning in the condition", () => {
  const container = { image: "f", resources: { requests: { cpu: "1" } } };
  const [synced] = conditions(composition({ functions: [{ name: "f", type: "Container", container }] }));
  expect(synced).toMatch(
    /^Synced True ReconcileSuccess spec\.functions\[0\]\.container\.resources\.requests has no effect/,
  );
});

test("the runtimes of the current revision are the Composition's, and those of an earlier one are not", () => {
  const broken = { type: "RuntimesHealthy", status: "False", reason: "UnhealthyRuntimes", message: "no image" };
  const object = composition({ resources: [template("a")] });
  const revision = live("CompositionRevision", {}, { status: { conditions: [broken] } });
  expect(conditions(object, { revision })[1]).toBe("RuntimesHealthy False UnhealthyRuntimes no image");
  const earlier: LiveObject = { ...object, status: { conditions: [broken] } };
  const without = live("CompositionRevision", {});
  expect(conditions(earlier, { revision: without })[1]).toBe("RuntimesHealthy True NoPackages");
  expect(conditions(object, { revision: without })).toHaveLength(1);
});
