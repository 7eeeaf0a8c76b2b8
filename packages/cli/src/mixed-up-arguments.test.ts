import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import { type Finished, runXfn } from "../testing/run-xfn.ts";

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
  "functions.yaml": `{apiVersion: pkg.crossplane.io/v1, kind: Function, metadata: {name: function-a}, spec: {package: a.b/c:v1}}
---
{apiVersion: pkg.crossplane.io/v1, kind: Function, metadata: {name: function-b}, spec: {package: a.b/d:v1}}`,
} as const;

let dir = "";

beforeAll(() => {
  dir = temporaryFolder();
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(dir, name), text);
});

const run = (...args: string[]): Promise<Finished> =>
  runXfn(args.map((arg) => (Object.hasOwn(FILES, arg) ? join(dir, arg) : arg)));

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

test("render's suggestion keeps FUNCTIONS, and a file without Composition is named with its kinds", async () => {
  const files = ["composition.yaml", "xr.yaml", "functions.yaml"].map((name) => join(dir, name));
  const { stderr } = await run("render", ...files);
  expect(stderr).toContain(`Did you mean: xfn render ${files[1]} ${files[0]} ${files[2]}`);
  const swapped = await run("render", "xr.yaml", "functions.yaml", "composition.yaml");
  expect(swapped).toMatchObject({ code: 2, stdout: "" });
  expect(swapped.stderr).toContain("has no document of kind Composition\nits documents are of kind: Function\n");
});

test("render names a claim, and the way to its composite resource", async () => {
  const { stderr } = await run("render", "claim.yaml", "composition.yaml");
  expect(stderr).toContain("If Thing is a claim, render its composite resource");
  const withDefinition = await run("render", "claim.yaml", "composition.yaml", "--xrd", "xrd.yaml");
  expect(withDefinition.code).toBe(2);
  expect(withDefinition.stderr).toContain("Thing is a claim of XThing");
  expect(withDefinition.stderr).toContain("Change its kind to XThing and remove metadata.namespace");
});

test("validate knows Compositions of mode Pipeline", async () => {
  const { code, stdout } = await run("validate", "xrd.yaml", "pipeline.yaml");
  expect(code).toBe(0);
  expect(stdout).toContain("Composition");
  const broken = join(dir, "broken.yaml");
  writeFileSync(broken, FILES["pipeline.yaml"].replace("{name: function-a}", "{name: a, package: localhost/a}"));
  const refused = await run("validate", "xrd.yaml", broken);
  expect(refused.code).toBe(1);
  expect(refused.stdout).toContain("spec.pipeline[0].functionRef.package");
});
