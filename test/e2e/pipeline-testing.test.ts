import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beside, converge, render } from "@xfn/pipeline/testing";
import type { Runner } from "@xfn/runner";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import firewall from "../../examples/testing/functions/firewall/function.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { buildExampleImages, pretendCheckout } from "../harness/pretend-checkout.ts";
import { runnerOf } from "../harness/shell-function.ts";
import { Workspace } from "../harness/workspace.ts";

// A user's test whose functions run in real containers. With handlers: examples/testing.

const file = beside(pathToFileURL(join(CHECKOUT, "examples", "testing", "any.test.ts")));
const orders = {
  composite: file("xr.yaml"),
  composition: file("composition.yaml"),
  definition: file("definition.yaml"),
  observed: file("observed.yaml"),
};

describe("@xfn/pipeline/testing with containers", needs("crun"), () => {
  let workspace: Workspace;
  let runner: Runner;

  beforeAll(async () => {
    workspace = await Workspace.create();
    await pretendCheckout(workspace);
    await buildExampleImages(workspace, "testing");
    runner = await runnerOf(workspace);
  });

  afterAll(async () => {
    await runner.close();
    await workspace[Symbol.asyncDispose]();
  });

  test("a function's container and its handler come to the same", async () => {
    const contained = await render({ ...orders, runner });
    expect(contained).toComposeResource("firewall-office");
    expect(String(contained)).toBe(String(await render({ ...orders, functions: { firewall } })));
  });

  const pipeline = (...steps: string[]): string => `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: pipeline }
spec:
  compositeTypeRef: { apiVersion: platform.example.org/v1alpha1, kind: XSQLDatabase }
  mode: Pipeline
  pipeline:
${steps.map((step) => `  - ${step}\n`).join("")}`;
  const NAMED = "{ step: named, functionRef: { name: function-firewall } }";
  const functionOf = (spec: object): object => ({
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Function",
    metadata: { name: "function-firewall" },
    spec,
  });
  // A step itself names the whole reference of a package.
  const IMAGE = "registry.example/acme/firewall:v1";

  test("packages run in containers: those of Functions, and those that steps name", async () => {
    const built = await workspace.xfn(["build", "examples/testing/functions/firewall", "-t", IMAGE, "--no-check"]);
    expect(built.code, built.stderr).toBe(0);
    const composition = pipeline(NAMED, `{ step: direct, functionRef: { package: "${IMAGE}" } }`);
    const input = { ...orders, composition, runner, functionPackages: functionOf({ package: IMAGE }) };
    for (const result of [await render(input), await converge(input)]) {
      expect(result).toComposeResource("firewall-office");
      expect(result.trace.steps.map(({ status }) => status)).toEqual(["Succeeded", "Succeeded"]);
    }
  });

  test("a handler replaces the package of its step", async () => {
    const input = { ...orders, composition: pipeline(NAMED), functionPackages: functionOf({ package: "oci:missing" }) };
    const packages = { named: () => ({}) };
    expect((await render({ ...input, packages })).names).toEqual([]);
    await expect(render({ ...input, runner })).rejects.toMatchObject({ step: "named", code: "RunFailed" });
  });

  test("an image that there is not is an error that names step and image", async () => {
    const composition = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: missing }
spec:
  compositeTypeRef: { apiVersion: platform.example.org/v1alpha1, kind: XSQLDatabase }
  functions:
  - { name: firewall, type: Container, container: { image: "oci:missing" } }
`;
    await expect(render({ ...orders, composition, runner })).rejects.toMatchObject({
      code: "RunFailed",
      step: "firewall",
      image: "oci:missing",
    });
  });
});
