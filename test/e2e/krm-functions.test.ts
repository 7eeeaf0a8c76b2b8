import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Trace } from "@xfn/pipeline/trace";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildGoProgram } from "../harness/go-program.ts";
import { buildGrpcImage } from "../harness/grpc-function.ts";
import { addHostBases } from "../harness/host-bases.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { Workspace } from "../harness/workspace.ts";

// Functions that read and write a ResourceList, in real containers: in shell, in TypeScript, and with kustomize's
// library for Go.

const xr = (size: number): string => `
apiVersion: example.org/v1
kind: XStore
metadata: {name: shop}
spec: {size: ${size}}
`;
const composition = (functions: string): string => `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: stores}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XStore}
  functions:
  - {name: settings, type: Container, io: ResourceList, container: {image: test/krm-shell}}
  - {name: size, type: Container, io: KRM, container: {image: test/krm-typescript}}
${functions}`;
const GO_STEP = `
  - name: labels
    type: Container
    io: KRM
    config: {apiVersion: v1, kind: ConfigMap, metadata: {name: labels}, data: {team: storage}}
    container: {image: test/krm-labels}
`;

let workspace: Workspace;
beforeAll(async () => {
  workspace = await Workspace.create();
  await addHostBases(workspace, "sh", "node");
  for (const name of ["krm-shell", "krm-typescript"]) {
    const { code, stderr } = await workspace.xfn([
      "build",
      join(CHECKOUT, "test/functions", name),
      "-t",
      `test/${name}`,
    ]);
    if (code !== 0) throw new Error(`cannot build ${name}: ${stderr}`);
  }
  await workspace.write("xr.yaml", xr(3));
  await workspace.write("large.yaml", xr(11));
  await workspace.write("composition.yaml", composition(""));
  await workspace.write("labelled.yaml", composition(GO_STEP));
});
afterAll(async () => {
  await workspace?.[Symbol.asyncDispose]();
});

describe("a Composition of KRM functions", needs("crun"), () => {
  test("composes what the functions return, without their annotations", async () => {
    const args = ["render", "xr.yaml", "composition.yaml", "--trace-file", "trace.json"];
    const { code, stdout, stderr } = await workspace.xfn(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "xfn: trace written to trace.json\n" });
    expect(stdout).toContain("kind: ConfigMap");
    expect(stdout).toMatch(/from: shell\n\s+size: "3"/);
    expect(stdout).not.toContain("fn.apiextensions.crossplane.io");
    const text = await readFile(workspace.path("trace.json"), "utf8");
    expect(text).not.toContain("fn.apiextensions.crossplane.io");
    const trace = JSON.parse(text) as Trace;
    expect(trace.steps).toMatchObject([
      {
        name: "settings",
        image: "test/krm-shell",
        status: "Succeeded",
        entries: [{ kind: "ConfigMap", change: "added" }],
      },
      {
        name: "size",
        image: "test/krm-typescript",
        status: "Succeeded",
        entries: [{ kind: "ConfigMap", change: "changed" }],
      },
    ]);
    const fields = trace.desired.find(({ kind }) => kind === "ConfigMap")?.fields ?? [];
    const sources = fields.map(({ path, origin }) => [path, "step" in origin ? origin.step : undefined]);
    expect(Object.fromEntries(sources)).toMatchObject({ "data.from": "settings", "data.size": "size" });
  });

  test("ends with the error of a function", async () => {
    const { code, stdout, stderr } = await workspace.xfn(["render", "large.yaml", "composition.yaml"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/size.*larger than 10/);
    expect(stdout).not.toContain("ConfigMap");
  });
});

// Compositions and answers of functions of Crossplane's design "Composition Functions" and of its first draft.
describe("the examples of Crossplane's design", needs("crun"), () => {
  const fixture = (path: string): Promise<string> => readFile(join(CHECKOUT, path), "utf8");
  const written = (name: string): Promise<string> => fixture(`test/unit/testdata/composition-functions/${name}.yaml`);
  const answer = (name: string): Promise<string> => fixture(`packages/functionio/fixtures/function-api/${name}.yaml`);
  const program = `#!/bin/sh
case $(cat) in
*'"kind":"ResourceList"'*) cat "\${0%/*}/list.yaml" ;;
*) cat "\${0%/*}/io.yaml" ;;
esac
`;
  const instance = (kind: string): string =>
    `{apiVersion: database.example.org/v1alpha1, kind: ${kind}, metadata: {name: my-db}, spec: {parameters: {storageGB: 20}}}`;

  beforeAll(async () => {
    await workspace.write("design/function", program, { mode: 0o755 });
    await workspace.write("design/io.yaml", await answer("compose-resource"));
    // Without its result, which ends the run. It has other fields of the XR, and therefore changes them.
    await workspace.write("design/list.yaml", (await answer("resource-list-answer")).split("results:")[0] ?? "");
    const { code, stderr } = await workspace.xfn(["build", "design", "-t", "xkpg.io/my-cool-function:0.1.0"]);
    if (code !== 0) throw new Error(`cannot build the function: ${stderr}`);
  });

  const render = async (composition: string, kind = "XPostgreSQLInstance"): ReturnType<Workspace["xfn"]> => {
    await workspace.write("design.yaml", composition);
    return await workspace.xfn(["render", "-", "design.yaml"], { input: instance(kind) });
  };

  test("a template composes a CloudSQLInstance with the size of the XR", async () => {
    const { code, stdout, stderr } = await render(await written("template"), "AcmeCoDatabase");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/kind: CloudSQLInstance[^]*databaseVersion: POSTGRES_9_6[^]*dataDiskSizeGb: 20/);
  });

  test("a function composes it", async () => {
    const { code, stdout, stderr } = await render(await written("function"));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/kind: CloudSQLInstance[^]*dataDiskSizeGb: 20[^]*name: cloudsqlpostgresql-conn/);
  });

  test("with all of its fields, a function composes it in both forms", needs("cgroup-limits"), async () => {
    const forms = [
      await written("function-with-all-fields"),
      (await written("function-of-first-draft")).replace(
        "    type: Container\n",
        "    type: Container\n    io: ResourceList\n",
      ),
    ];
    for (const form of forms) {
      const { code, stdout, stderr } = await render(form);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(/kind: CloudSQLInstance[^]*databaseVersion: POSTGRES_9_6/);
    }
    expect(forms[1]).toContain("io: ResourceList");
  });
});

describe("a function with kustomize's library", needs("crun", "krm-functions"), () => {
  beforeAll(async () => {
    const program = buildGoProgram("krm-labels");
    await buildGrpcImage(workspace, { name: "test/krm-labels", program, packageFile: undefined });
  }, 900_000);

  test("runs unchanged, after functions in other languages", async () => {
    const { code, stdout } = await workspace.xfn(["render", "-r", "xr.yaml", "labelled.yaml"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/kind: ConfigMap[^]*team: storage/);
    expect(stdout).toContain("message: labelled");
    expect(stdout).not.toContain("config.kubernetes.io");
  });
});
