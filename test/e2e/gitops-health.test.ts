import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isObject, type JsonObject, objectAt, textAt } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { describe, expect, test } from "vitest";
import { buildGoProgram } from "../harness/go-program.ts";
import { objectsOf } from "../harness/helm.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";

// The health checks of deploy/gitops, with the Lua of Argo CD and the CEL of Flux.

const file = (name: string): JsonObject =>
  objectsOf(readFileSync(join(CHECKOUT, "deploy/gitops", name), "utf8"))[0] ?? {};

function evaluate(request: JsonObject): unknown {
  const { status, stdout, stderr } = spawnSync(buildGoProgram("gitops-health"), {
    input: JSON.stringify(request),
    encoding: "utf8",
  });
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout);
}

/** An object with conditions such as `Synced=True`, `Ready=False:Creating`; generation 2. */
function object(
  kind: string,
  conditions: readonly string[],
  more: JsonObject = {},
  observedGeneration = 2,
): JsonObject {
  const parsed = conditions.map((text) => {
    const [, type = "", status = "", reason = "R"] = /^(\w+)=(\w+)(?::(\w+))?$/.exec(text) ?? [];
    return { type, status, reason, message: `why ${type}`, observedGeneration };
  });
  return { kind, metadata: { name: "a", generation: 2 }, spec: {}, status: { conditions: parsed }, ...more };
}

const DELETED = { metadata: { name: "a", generation: 2, deletionTimestamp: "2026-01-01T00:00:00Z" } };

describe("Argo CD", needs("gitops-health"), () => {
  const customizations = textAt(file("argocd-health.yaml"), "data", "resource.customizations") ?? "";
  const entries = readDocuments(customizations)[0]?.value;
  const lua = textAt(isObject(entries) ? entries : {}, "*.crossplane.io/*", "health.lua") ?? "";

  test.each<[title: string, given: JsonObject, health: string]>([
    ["a composite resource", object("XApp", ["Synced=True", "Ready=True"]), "Healthy"],
    ["one with a condition of a function", object("XApp", ["Synced=True", "Ready=True", "Mine=False"]), "Healthy"],
    ["one that waits", object("XApp", ["Synced=True", "Ready=False:Creating"]), "Progressing"],
    ["one that fails", object("XApp", ["Synced=False", "Ready=True"]), "Degraded"],
    ["one that is paused", object("XApp", ["Synced=False:ReconcilePaused", "Ready=True"]), "Suspended"],
    ["one with conditions of an earlier spec", object("XApp", ["Synced=True", "Ready=True"], {}, 1), "Progressing"],
    ["a new one", { kind: "XApp", metadata: { name: "a" }, spec: {} }, "Progressing"],
    ["one that is being deleted", object("XApp", ["Synced=True", "Ready=True"], DELETED), "Progressing"],
    ["a package", object("Function", ["Installed=True", "Healthy=True", "Ready=True"]), "Healthy"],
    ["a package that is not pulled", object("Function", ["Installed=False", "Ready=False"]), "Progressing"],
    ["a package that is broken", object("Function", ["Installed=True", "Healthy=False"]), "Degraded"],
    ["a definition", object("CompositeResourceDefinition", ["Established=True", "Offered=True"]), "Healthy"],
    ["an invalid definition", object("CompositeResourceDefinition", ["Established=False"]), "Degraded"],
    ["a Composition", { kind: "Composition", metadata: { name: "a", generation: 1 }, spec: {} }, "Healthy"],
  ])("%s", (_, given, health) => {
    expect(evaluate({ lua, object: given })).toMatchObject({ status: health });
  });

  test("has the message of the condition", () => {
    expect(evaluate({ lua, object: object("XApp", ["Synced=False"]) })).toEqual({
      status: "Degraded",
      message: "why Synced",
    });
  });
});

describe("Flux", needs("gitops-health"), () => {
  const checks = objectAt(file("flux-health.yaml"), "spec")["healthCheckExprs"];
  const checkOf = (kind: string): JsonObject =>
    (Array.isArray(checks) ? checks : []).filter(isObject).find((check) => check["kind"] === kind) ?? {};

  test.each<[title: string, kind: string, given: JsonObject, current: boolean, failed: boolean]>([
    ["a composite resource", "XApp", object("XApp", ["Synced=True", "Ready=True"]), true, false],
    ["one that waits", "XApp", object("XApp", ["Synced=True", "Ready=False"]), false, false],
    ["one that fails", "XApp", object("XApp", ["Synced=False", "Ready=True"]), false, true],
    ["one without conditions", "XApp", { metadata: {}, spec: {}, status: {} }, false, false],
    ["a definition", "CompositeResourceDefinition", object("", ["Established=True"]), true, false],
    [
      "a definition that does not offer its claims",
      "CompositeResourceDefinition",
      object("", ["Established=True"], { spec: { claimNames: { kind: "App" } } }),
      false,
      false,
    ],
    [
      "an invalid definition",
      "CompositeResourceDefinition",
      object("", ["Established=False:InvalidDefinition"]),
      false,
      true,
    ],
  ])("%s", (_, kind, given, current, failed) => {
    const check = checkOf(kind);
    expect(evaluate({ cel: textAt(check, "current") ?? "", object: given })).toBe(current);
    expect(evaluate({ cel: textAt(check, "failed") ?? "", object: given })).toBe(failed);
  });
});
