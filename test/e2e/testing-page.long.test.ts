import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fencedBlocks } from "../harness/fenced-blocks.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { buildExampleImages, exampleImages, pretendCheckout, runCommand } from "../harness/pretend-checkout.ts";
import { Workspace } from "../harness/workspace.ts";

// The code of docs/tasks/testing.md, as a test in a copy of examples/testing.

const FUNCTION = "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-firewall}";
const PIPELINE = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: pipeline}
spec:
  compositeTypeRef: {apiVersion: platform.example.org/v1alpha1, kind: XSQLDatabase}
  mode: Pipeline
  pipeline:
  - {step: firewall, functionRef: {name: function-firewall}}
`;

describe("docs/tasks/testing.md", needs("crun"), () => {
  let workspace: Workspace;

  beforeAll(async () => {
    workspace = await Workspace.create();
    await pretendCheckout(workspace);
    await buildExampleImages(workspace, "testing");
    await cp(workspace.path("examples/testing"), workspace.path("databases"), { recursive: true });
  });
  afterAll(async () => {
    await workspace[Symbol.asyncDispose]();
  });

  test("its code runs as written", async () => {
    const image = exampleImages().find(({ folder }) => folder.startsWith("testing/"))?.image;
    await workspace.write("databases/pipeline.yaml", PIPELINE);
    await workspace.write("databases/functions.yaml", `${FUNCTION}\nspec: {package: "${image}"}\n`);
    const record = "./xfn render databases/xr.yaml databases/composition.yaml --record databases/recording";
    const page = await readFile(join(CHECKOUT, "docs", "tasks", "testing.md"), "utf8");
    const code = fencedBlocks(page).filter(({ language }) => language === "ts");
    expect(code.length).toBeGreaterThan(3);
    expect(page).toContain(`$ ${record}\n`);
    expect(await runCommand(workspace, record)).toMatchObject({ code: 0 });
    await workspace.write("databases/page.test.ts", code.map(({ text }) => text).join("\n"));
    const { code: exitCode, stdout, stderr } = await runCommand(workspace, "npm test -- --root databases page");
    expect({ exitCode, stderr }, stdout).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/Tests +6 passed \(6\)/);
  });
});
