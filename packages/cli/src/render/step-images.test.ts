import { chmodSync, closeSync, mkdirSync, openSync, readSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { SILENT } from "../../testing/run-xfn.ts";
import { buildFolderImage } from "../build/folder-image.ts";
import { type RenderInputs, readInputs } from "./render-inputs.ts";
import type { RenderOptions } from "./render-options.ts";
import { type ResolvedImages, resolveImages } from "./step-images.ts";

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

/** @param folders gets the folders that are built. Absent: none is */
async function read(options: Partial<RenderOptions> = {}, folders?: string[]): Promise<RenderInputs> {
  const [xr, composition, functions] = ["xr.yaml", "composition.yaml", "functions.yaml"].map((name) => join(dir, name));
  const files = { xr: xr ?? "", composition: composition ?? "", functions: functions ?? "" };
  const { signal } = new AbortController();
  const build = async (folder: string): Promise<string> => {
    folders?.push(folder);
    return await buildFolderImage(folder, { cacheDir: join(dir, "store"), output: SILENT, signal });
  };
  const calls = { onWarning: () => undefined, build: folders && build };
  return await readInputs(files, { timeout: 1000, ...options }, calls);
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

test("folders and layouts are relative to the Composition's file", async () => {
  const images = ["oci:build/image", "./my-function", "registry.example.org/a:v1"];
  const functions = images.map(
    (image, index) => `  - {name: f${index}, type: Container, container: {image: "${image}"}}\n`,
  );
  writeFileSync(
    join(dir, "composition.yaml"),
    COMPOSITION.replace(/ {2}mode: .*/s, `  functions:\n${functions.join("")}`),
  );
  const { spec } = (await read()).composition;
  expect(spec.functions.flatMap((step) => ("container" in step ? [step.container.image] : []))).toEqual([
    `oci:${join(dir, "build/image")}`,
    join(dir, "my-function"),
    "registry.example.org/a:v1",
  ]);
});

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
      const { composition, functions, built } = await read({ pull: "Always" }, folders);
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
        { container: { image: "registry.example.org/a:v1", imagePullPolicy: "Always" } },
      ]);
      expect(functions).toEqual([{ name: "function-a", image: otherImage }]);
    },
  );

  test("the folder of a Function that runs already, or that no step names, is not built", async () => {
    const running = await read({ functionAnnotations: ["render.crossplane.io/runtime=Development"] });
    const { pipeline = [] } = running.composition.spec;
    const [named] = pipeline;
    const resolve = async ({ functions }: RenderInputs, steps: typeof pipeline): Promise<ResolvedImages> => {
      const composition = { ...running.composition, spec: { ...running.composition.spec, pipeline: steps } };
      const build = (): Promise<string> => Promise.reject(new Error("it is built"));
      const sources = { composition, path: "composition.yaml", functions, overrides: new Map() };
      return await resolveImages(sources, {}, build);
    };
    expect(
      (
        await resolve(
          running,
          [named].flatMap((step) => step ?? []),
        )
      ).built.size,
    ).toBe(0);
    expect((await resolve(await read(), pipeline.slice(3))).built.size).toBe(0);
  });

  test("a step that names a folder is refused with --runner", async () => {
    await expect(read({ runner: "localhost:1" }, [])).rejects.toMatchObject({
      code: "Usage",
      message: expect.stringContaining('step "package"'),
    });
  });
});
