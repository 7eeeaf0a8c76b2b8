import { writeFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { type Started, Workspace } from "../harness/workspace.ts";

// Steps that name the folder of a function, and `xfn render --watch`.

const composition = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: folders}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XFolder}
  functions:
  - {name: db, type: Container, container: {image: ./functions/db, imagePullPolicy: Always}}
`;
const XR = "apiVersion: example.org/v1\nkind: XFolder\nmetadata: {name: one}\n";

/** A function that composes a ConfigMap with this text. */
function program(text: string): string {
  const resource = `{"apiVersion":"v1","kind":"ConfigMap","data":{"text":"${text}"}}`;
  const io = `{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO","desired":{"resources":[{"name":"db","resource":${resource}}]}}`;
  return `#!/bin/sh\necho '${io}'\n`;
}

let watching: Started | undefined;

describe("a step that names a function's folder", needs("crun"), () => {
  let workspace: Workspace;
  let state: Before;
  let file: string;
  beforeEach(async () => {
    workspace = await Workspace.create();
    await workspace.write("app/composition.yaml", composition);
    await workspace.write("xr.yaml", XR);
    file = await workspace.write("app/functions/db/function", program("first"), { mode: 0o755 });
    state = await before(workspace.root);
  });
  afterEach(async () => {
    watching?.child.kill("SIGINT");
    await watching?.finished;
    watching = undefined;
    expect(await leftovers(state)).toEqual([]);
    await workspace[Symbol.asyncDispose]();
  });

  test("is built on each render, relative to the file that names it, so that an edit is never missed", async () => {
    const render = (...args: string[]): ReturnType<Workspace["xfn"]> =>
      workspace.xfn(["render", "xr.yaml", "app/composition.yaml", ...args]);
    expect(await render()).toMatchObject({ code: 0, stdout: expect.stringContaining("text: first") });
    await writeFile(file, program("second"));
    // No registry has the image, so that a pull policy must not ask one.
    const again = await render("--pull", "Always");
    expect(again).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("text: second") });
    const images = JSON.parse((await workspace.xfn(["images", "-o", "json"])).stdout) as { name: string }[];
    expect(images.filter(({ name }) => name.startsWith("folder/db:"))).toHaveLength(1);
  });

  test("can be run alone", async () => {
    const io = "apiVersion: apiextensions.crossplane.io/v1alpha1\nkind: FunctionIO\nobserved: {}\n";
    const ran = await workspace.xfn(["run", "./app/functions/db"], { input: io });
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('"text":"first"') });
  });

  test("that is not a function, or that another machine would have to build, is exit code 2", async () => {
    await workspace.write("other.yaml", composition.replace("./functions/db", "./nowhere"));
    const missing = await workspace.xfn(["render", "xr.yaml", "other.yaml"]);
    expect(missing).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("nowhere") });
    const remote = await workspace.xfn(["render", "xr.yaml", "app/composition.yaml", "--runner", "unix:/nowhere"]);
    expect(remote).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("xfn push") });
  });

  test("with --watch is built after an edit, and the difference is printed", async () => {
    watching = workspace.startXfn(["render", "xr.yaml", "app/composition.yaml", "--watch"]);
    let stdout = "";
    watching.child.stdout?.on("data", (chunk: Buffer) => {
      stdout += chunk.toString("utf8");
    });
    await expect.poll(() => watching?.stderr()).toContain("watching");
    expect(stdout).toContain("text: first");
    await writeFile(file, program("second"));
    await expect.poll(() => stdout).toMatch(/^-.*text: first\n\+.*text: second$/m);
    // A run that fails is reported, and the watch continues.
    await writeFile(file, "#!/bin/sh\nexit 3\n");
    await expect.poll(() => watching?.stderr()).toContain("exited with code 3");
    await writeFile(file, program("third"));
    await expect.poll(() => stdout).toMatch(/^-.*text: second\n\+.*text: third$/m);
    await workspace.write("xr.yaml", XR.replace("name: one", "name: two"));
    await expect.poll(() => stdout).toMatch(/^\+.*name: two$/m);
    watching.child.kill("SIGINT");
    expect(await watching.finished).toMatchObject({ code: 0 });
  });
});
