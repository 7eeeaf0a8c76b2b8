import { chmodSync, closeSync, mkdirSync, openSync, readSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { SILENT } from "../../testing/run-xfn.ts";
import { type BuiltSources, buildFolderSteps, type FolderSources } from "./folder-steps.ts";
import { readInputs } from "./render-inputs.ts";
import type { RenderOptions } from "./render-options.ts";

const XR = "apiVersion: example.org/v1\nkind: XThing\nmetadata: {name: thing}\n";
const COMPOSITION = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: things}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
  mode: Pipeline
  pipeline:
  - {step: package, functionRef: {name: function-a}}
  - {step: folder-package, functionRef: {package: ./my-function}}
  - {step: folder, container: {image: ./my-function}}
  - {step: image, container: {image: registry.example.org/a:v1}}
`;
const FUNCTIONS = `apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {name: function-a}
spec: {package: ./other-function}
`;
let dir: string;

beforeEach(() => {
  dir = temporaryFolder();
  writeFileSync(join(dir, "xr.yaml"), XR);
  writeFileSync(join(dir, "composition.yaml"), COMPOSITION);
  writeFileSync(join(dir, "functions.yaml"), FUNCTIONS);
});

async function read(options: Partial<RenderOptions> = {}): Promise<FolderSources> {
  const [xr, composition, functions] = ["xr.yaml", "composition.yaml", "functions.yaml"].map((name) => join(dir, name));
  const files = { xr: xr ?? "", composition: composition ?? "", functions: functions ?? "" };
  return await readInputs(files, { timeout: 1000, ...options }, () => undefined);
}

async function build(
  sources: FolderSources,
  options: Partial<RenderOptions>,
  folders: string[] = [],
): Promise<BuiltSources> {
  const { signal } = new AbortController();
  const onFolder = (folder: string): void => void folders.push(folder);
  return await buildFolderSteps(sources, { timeout: 1000, ...options }, { output: SILENT, signal, onFolder });
}

/** A program without code: the header of this machine's Node, without segments. */
function writeProgram(folder: string): void {
  const header = Buffer.alloc(64);
  const node = openSync(process.execPath, "r");
  readSync(node, header, 0, header.length, 0);
  closeSync(node);
  header.writeUInt16LE(0, 56);
  mkdirSync(folder);
  writeFileSync(join(folder, "function"), header);
  chmodSync(join(folder, "function"), 0o755);
}

describe("mode: Pipeline", () => {
  test("--pull sets the policy of container steps", async () => {
    const given = (await read()).composition.spec.pipeline;
    const pulled = (await read({ pull: "Always" })).composition.spec.pipeline;
    expect(pulled).toEqual(
      given?.map((step) =>
        "container" in step ? { ...step, container: { ...step.container, imagePullPolicy: "Always" } } : step,
      ),
    );
    expect(pulled?.map((step) => "container" in step)).toEqual([false, false, true, true]);
  });

  // Only files of a Linux machine run in a container.
  test.runIf(process.platform === "linux")(
    "the folders of container steps, packages and Functions are built",
    async () => {
      const [folder, other] = [join(dir, "my-function"), join(dir, "other-function")];
      writeProgram(folder);
      writeProgram(other);
      const folders: string[] = [];
      const sources = await read({ pull: "Always" });
      const { composition, functions, built } = await build(sources, { cacheDir: join(dir, "store") }, folders);
      expect(folders).toEqual([other, folder]);
      const [otherImage, image] = built;
      expect([image, otherImage]).toEqual([
        expect.stringMatching(/^folder\/my-function:/),
        expect.stringMatching(/^folder\/other-function:/),
      ]);
      expect(composition.spec.pipeline).toMatchObject([
        { functionRef: { name: "function-a" } },
        { functionRef: { package: image } },
        { container: { image, imagePullPolicy: "Never" } },
        sources.composition.spec.pipeline?.[3],
      ]);
      expect(functions).toEqual([{ name: "function-a", image: otherImage }]);
    },
  );

  test("the folder of a Function that runs already, or that no step names, is not built", async () => {
    const running = await read({ functionAnnotations: ["render.crossplane.io/runtime=Development"] });
    const { pipeline = [] } = running.composition.spec;
    const [named] = pipeline;
    const only = (steps: typeof pipeline): FolderSources["composition"] => ({
      ...running.composition,
      spec: { ...running.composition.spec, pipeline: steps },
    });
    expect((await build({ ...running, composition: only([named].flatMap((step) => step ?? [])) }, {})).built.size).toBe(
      0,
    );
    const unused = { ...(await read()), composition: only(pipeline.slice(3)) };
    expect((await build(unused, {})).built.size).toBe(0);
  });

  test("a step that names a folder is refused with --runner", async () => {
    await expect(build(await read(), { runner: "localhost:1" })).rejects.toMatchObject({
      code: "Usage",
      message: expect.stringContaining('step "package"'),
    });
  });
});
