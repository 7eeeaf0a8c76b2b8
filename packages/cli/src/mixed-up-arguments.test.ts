import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { main } from "./program.ts";

const FILES = {
  "xr.yaml": "{apiVersion: example.org/v1, kind: XThing, metadata: {name: thing}, spec: {}}",
  "claim.yaml": "{apiVersion: example.org/v1, kind: Thing, metadata: {name: thing, namespace: team}, spec: {}}",
  "xrd.yaml": `{apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition, metadata: {name: xthings.example.org},
    spec: {group: example.org, names: {kind: XThing, plural: xthings}, claimNames: {kind: Thing, plural: things}, versions: [
    {name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}]}}`,
  "composition.yaml": `{apiVersion: apiextensions.crossplane.io/v1, kind: Composition, metadata: {name: things},
    spec: {compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}, resources: [
    {name: a, base: {apiVersion: v1, kind: ConfigMap}}]}}`,
  "pipeline.yaml": `{apiVersion: apiextensions.crossplane.io/v1, kind: Composition, metadata: {name: things},
    spec: {compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}, mode: Pipeline, pipeline: [
    {step: a, functionRef: {name: function-a}}]}}`,
} as const;

let dir = "";

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "xfn-arguments-test-"));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(dir, name), text);
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

async function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const printed = { stdout: "", stderr: "" };
  const output = {
    product: async (text: string | Uint8Array) => {
      printed.stdout += String(text);
      await Promise.resolve();
    },
    note: (line: string) => {
      printed.stderr += `${line}\n`;
    },
    status: () => undefined,
    interactive: false,
    columns: 80,
  };
  const code = await main(
    args.map((arg) => (Object.hasOwn(FILES, arg) ? join(dir, arg) : arg)),
    output,
  );
  return { code, ...printed };
}

test("validate names swapped arguments", async () => {
  const { code, stdout, stderr } = await run("validate", "xr.yaml", "xrd.yaml");
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(`Did you mean: xfn validate ${join(dir, "xrd.yaml")} ${join(dir, "xr.yaml")}`);
});

test("render names swapped arguments", async () => {
  const { code, stderr } = await run("render", "composition.yaml", "xr.yaml");
  expect(code).toBe(2);
  expect(stderr).toContain(`Did you mean: xfn render ${join(dir, "xr.yaml")} ${join(dir, "composition.yaml")}`);
});

test("render names a claim, and the way to its composite resource", async () => {
  const { stderr } = await run("render", "claim.yaml", "composition.yaml");
  expect(stderr).toContain("If Thing is a claim, render its composite resource");
  const withDefinition = await run("render", "claim.yaml", "composition.yaml", "--xrd", "xrd.yaml");
  expect(withDefinition.code).toBe(2);
  expect(withDefinition.stderr).toContain("Thing is a claim of XThing");
  expect(withDefinition.stderr).toContain("Change its kind to XThing and remove metadata.namespace");
});

test.each([
  ["resource", ["xrd.yaml", "pipeline.yaml"]],
  ["extension", ["xrd.yaml,pipeline.yaml", "xr.yaml"]],
])("validate never reports a Composition of mode Pipeline as valid, as a %s", async (_, args) => {
  const paths = args.map((arg) =>
    arg
      .split(",")
      .map((name) => join(dir, name))
      .join(","),
  );
  const { code, stdout } = await run("validate", ...paths);
  expect(code).toBe(1);
  expect(stdout).toContain("does not run mode: Pipeline");
});
