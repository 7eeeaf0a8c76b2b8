import { readFile } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { addHostBases } from "../harness/host-bases.ts";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { type RunningServer, startRunnerServer } from "../harness/runner-server.ts";
import { Workspace } from "../harness/workspace.ts";

// Compositions with mode: Pipeline, their functions as servers in containers.

const FUNCTION = `import { compose } from "@xfn/functionio/sdk";
let calls = 0;
export default compose(({ xr, config, desired, observed, results, context }) => {
  console.error("called for " + (config?.note ?? config?.entry ?? "nothing"));
  if (config?.fail) throw new Error("broken");
  desired.apply(config.entry, { apiVersion: "v1", kind: "ConfigMap", data: { size: String(xr["spec"].size), call: \`number \${++calls}\` } });
  context.set("example.org/" + config.entry, observed.names().length);
  results.normal("composed " + config.entry);
});
`;
const XR = "apiVersion: example.org/v1\nkind: XThing\nmetadata: {name: thing}\nspec: {size: 3}\n";
const FUNCTIONS = `apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {name: function-thing}
spec: {package: thing:v1}
`;

function composition(...steps: string[]): string {
  return `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: things}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
  mode: Pipeline
  pipeline:
${steps.map((step) => `  - ${step}\n`).join("")}`;
}

const config = (entry: string): string => `{apiVersion: example.org/v1, kind: Config, entry: ${entry}}`;
const PACKAGE = `{step: package, functionRef: {name: function-thing}, input: ${config("first")}}`;
const CONTAINER = `{step: container, container: {image: thing:v1}, config: ${config("second")}}`;

describe("mode: Pipeline", needs("crun"), () => {
  let workspace: Workspace;
  let state: Before;

  beforeAll(async () => {
    workspace = await Workspace.create();
    await addHostBases(workspace, "node");
    await workspace.write("thing/function.ts", FUNCTION);
    await workspace.write("xr.yaml", XR);
    await workspace.write("functions.yaml", FUNCTIONS);
    const { code, stderr } = await workspace.xfn(["build", "thing", "-t", "thing:v1", "--no-check"]);
    expect(code, stderr).toBe(0);
    state = await before(workspace.root);
  });
  afterEach(async () => {
    expect(await leftovers(state)).toEqual([]);
  });
  afterAll(async () => {
    await workspace[Symbol.asyncDispose]();
  });

  async function render(steps: readonly string[], ...args: string[]): ReturnType<Workspace["xfn"]> {
    await workspace.write("composition.yaml", composition(...steps));
    return await workspace.xfn(["render", "xr.yaml", "composition.yaml", "functions.yaml", ...args]);
  }

  test("runs a package and a FunctionIO container in one pipeline, and prints events and context", async () => {
    const { code, stdout, stderr } = await render([PACKAGE, CONTAINER], "-r", "-c", "--trace");
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("crossplane.io/composition-resource-name: first");
    expect(stdout).toContain("crossplane.io/composition-resource-name: second");
    expect(stdout).toContain("message: 'Pipeline step \"package\": composed first'");
    expect(stdout).toContain("fields:\n  example.org/first: 0\n  example.org/second: 0\nkind: Context");
    expect(stderr).toContain("1. package function-thing");
    expect(stderr).toContain("1 call; context example.org/first");
  });

  test("shows what functions write to stderr on request: in order, per step, escaped and without secrets", async () => {
    const xr = XR.replace("size: 3", "size: 3, adminPassword: hunter2-is-secret");
    await workspace.write("secret.yaml", xr);
    const second = PACKAGE.replace("step: package", "step: second").replace(
      "entry: first",
      "entry: first, note: hunter2-is-secret",
    );
    await workspace.write("composition.yaml", composition(PACKAGE, CONTAINER, second));
    const shown = await workspace.xfn([
      "render",
      "secret.yaml",
      "composition.yaml",
      "functions.yaml",
      "--function-stderr",
    ]);
    expect(shown.code, shown.stderr).toBe(0);
    const lines = (step: string, text: string): string =>
      `step "${step}": the function's stderr:\n  | called for ${text}\n`;
    // A server logs that it serves after it listens, so its first call may have the line.
    const stderr = shown.stderr.replace(/^ {2}\| xfn: serving the function .*\n/m, "");
    expect(stderr).toContain(lines("package", "first") + lines("container", "second"));
    expect(shown.stderr).toMatch(/step "second": the function's stderr:\n {2}\| called for (?!hunter2)/);
    expect(shown.stderr).not.toContain("hunter2");
    expect((await render([PACKAGE])).stderr).not.toContain("called for");
    expect((await render([PACKAGE], "--trace")).stderr).toContain("  | called for first");
    const broken = `{step: broken, functionRef: {name: function-thing}, input: {apiVersion: a/v1, kind: C, fail: true}}`;
    await render([PACKAGE, broken], "--trace-file", "trace.json");
    const trace = JSON.parse(await readFile(workspace.path("trace.json"), "utf8")) as { steps: { stderr?: string }[] };
    expect(trace.steps[0]?.stderr).toBe("called for first\n");
    expect(trace.steps[1]?.stderr).toMatch(/called for nothing\n/);
  });

  test("steps share the server of a function, and with --fresh-functions no call sees what another left", async () => {
    const second = `{step: second, functionRef: {name: function-thing}, input: ${config("second")}}`;
    const calls = ({ stdout }: { stdout: string }): string[] => stdout.match(/(?<=call: )number \d/g) ?? [];
    expect(calls(await render([PACKAGE, second]))).toEqual(["number 1", "number 2"]);
    expect(calls(await render([PACKAGE, second], "--fresh-functions"))).toEqual(["number 1", "number 1"]);
  });

  test("builds the folder of a package, and calls it as a server", async () => {
    const folder = `{step: folder, functionRef: {package: ./thing}, input: ${config("folder")}}`;
    const { code, stdout, stderr } = await render([PACKAGE, folder], "--pull", "Always");
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("crossplane.io/composition-resource-name: folder");
  });

  test("steps of both kinds are skipped by when, end at their timeout, and are checked with schema: Strict", async () => {
    const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: xthings.example.org}
spec:
  group: example.org
  names: {kind: XThing, plural: xthings}
  scope: Cluster
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}]
`;
    await workspace.write("crds/thing.yaml", crd);
    const skipped = PACKAGE.replace("{step", "{when: '\"first\" in desired.resources', step");
    const runs = CONTAINER.replace(
      "{step",
      "{when: 'size(desired.resources) == 0', timeout: 30s, schema: Strict, step",
    );
    const guarded = await render([skipped, runs], "--trace", "--crds", "crds");
    expect(guarded.code, guarded.stderr).toBe(0);
    expect(guarded.stdout).toContain("crossplane.io/composition-resource-name: second");
    expect(guarded.stdout).not.toContain("crossplane.io/composition-resource-name: first");
    expect(guarded.stderr).toContain("1. package function-thing: skipped: its when is false");
    expect(guarded.stderr).toContain('when "first" in desired.resources');
    const slow = await render([PACKAGE.replace("{step", "{timeout: 1ms, step")]);
    expect(slow).toMatchObject({ code: 1, stdout: "" });
    expect(slow.stderr).toContain('step "package": it took longer than its timeout of 0.001 s');
    const wrong = await render([PACKAGE.replace("{step", "{when: size(observed), step")]);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toMatch(/composition\.yaml:8:\d+: spec\.pipeline\[0\]\.when: /);
  });

  test("needs no FUNCTIONS for a package that the step itself names", async () => {
    const reference = "registry.example/acme/function-thing:v1";
    expect(await workspace.xfn(["build", "thing", "-t", reference, "--no-check"])).toMatchObject({ code: 0 });
    const named = `{step: named, functionRef: {package: "${reference}"}, input: ${config("named")}}`;
    await workspace.write("composition.yaml", composition(named));
    const { code, stdout, stderr } = await workspace.xfn(["render", "xr.yaml", "composition.yaml"]);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("crossplane.io/composition-resource-name: named");
    await workspace.write("composition.yaml", composition(PACKAGE));
    const unknown = await workspace.xfn(["render", "xr.yaml", "composition.yaml"]);
    expect(unknown).toMatchObject({ code: 1, stdout: "" });
    expect(unknown.stderr).toContain("or name the package in functionRef.package");
  });

  test("--fresh-functions is refused for a function that runs already", async () => {
    const flags = ["--fresh-functions", "-a", "render.crossplane.io/runtime=Development"];
    const { code, stderr } = await render([PACKAGE], ...flags);
    expect(code).toBe(2);
    expect(stderr).toContain("--fresh-functions cannot be used with Function function-thing");
  });

  test("takes one input from stdin, such as a context file, and refuses a second", async () => {
    await workspace.write("composition.yaml", composition(PACKAGE));
    const args = [
      "render",
      "xr.yaml",
      "composition.yaml",
      "functions.yaml",
      "-c",
      "--context-files",
      "example.org/in=-",
    ];
    const { code, stdout, stderr } = await workspace.xfn(args, { input: "[from, stdin]" });
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("  example.org/in:\n  - from\n  - stdin\n");
    const twice = await workspace.xfn([...args, "--required-resources", "-"], { input: "[]" });
    expect(twice).toMatchObject({ code: 2, stdout: "" });
    expect(twice.stderr).toContain("--required-resources and --context-files are stdin (-)");
  });

  test("deletes what no step desires", async () => {
    const annotations = "{crossplane.io/composition-resource-name: old}";
    const observed = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: old, annotations: ${annotations}}\n`;
    await workspace.write("observed.yaml", observed);
    const { code, stderr } = await render([PACKAGE], "-o", "observed.yaml");
    expect(code, stderr).toBe(0);
    expect(stderr).toContain("would be deleted: old");
  });

  test("after a fatal result prints the XR, exit code 1; nothing is left", async () => {
    const broken = `{step: broken, functionRef: {name: function-thing}, input: {apiVersion: a/v1, kind: C, fail: true}}`;
    const { code, stdout, stderr } = await render([PACKAGE, broken], "-r");
    expect(code).toBe(1);
    expect(stderr).toMatch(/function's stderr:\n {2}\| called for nothing\n/);
    expect(stdout).toContain("reason: ReconcileError");
    expect(stdout).toContain('pipeline step "broken" returned a fatal result');
    expect(stdout).not.toContain("kind: ConfigMap");
  });

  test("an image that is not there is an error that names the step, and ends the other servers", async () => {
    const missing = `{step: missing, functionRef: {package: "localhost:1/nothing:v1"}}`;
    const { code, stdout, stderr } = await render([PACKAGE, missing], "--pull", "Never");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain('step "missing"');
  });

  describe("with --runner", () => {
    const socket = (): string => `unix:${workspace.path("runner.sock")}`;
    const startRunner = (): Promise<RunningServer> => startRunnerServer(workspace, ["--address", socket()]);

    test("packages and containers run there, with the same result; a server stays for the next render", async () => {
      await using runner = await startRunner();
      const here = await render([PACKAGE, CONTAINER], "-r", "-c");
      expect(here.code, here.stderr).toBe(0);
      const there = await render([PACKAGE, CONTAINER], "-r", "-c", "--runner", socket());
      expect(there.code, there.stderr).toBe(0);
      expect(there.stdout).toBe(here.stdout);
      const next = await render([PACKAGE, CONTAINER], "--runner", socket());
      expect(next.stdout).toContain("call: number 2");
      const metrics = await (await fetch(`${runner.http}/metrics`)).text();
      expect(metrics).toContain('xfn_runner_server_starts_total{outcome="started"} 1\n');
    });

    test("a fatal result shows what the function wrote to stderr in this call", async () => {
      await using _runner = await startRunner();
      expect((await render([PACKAGE], "--runner", socket())).code).toBe(0);
      const broken = `{step: b, functionRef: {name: function-thing}, input: {apiVersion: a/v1, kind: C, fail: true}}`;
      const { code, stdout, stderr } = await render([broken], "--runner", socket());
      expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining("| called for nothing\n") });
      expect(stdout).toContain('pipeline step "b" returned a fatal result');
      expect(stderr).not.toContain("called for first");
    });

    test("flags and annotations that the runner cannot follow are refused", async () => {
      const fresh = await render([PACKAGE], "--runner", socket(), "--fresh-functions");
      expect(fresh).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("start the runner with") });
      const env = await render([PACKAGE], "--runner", socket(), "-a", "render.crossplane.io/runtime-docker-env=A=b");
      expect(env).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("environment variables") });
    });
  });
});
