import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Composition, type ContainerStep, documentOf, parseComposition } from "@xfn/composition";
import type { FunctionPackage } from "@xfn/pipeline/packages";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { checkFunctions, readFunctions } from "./functions-file.ts";
import { resolveImages } from "./step-images.ts";

let dir: string;

beforeEach(() => {
  dir = temporaryFolder();
});

function file(text: string): string {
  const path = join(dir, "functions.yaml");
  writeFileSync(path, text);
  return path;
}

function functionDocument(fields: { name?: string; annotations?: string; spec?: string; apiVersion?: string }): string {
  const {
    name = "first",
    annotations = "{}",
    spec = "{package: registry.example.org/first:v2}",
    apiVersion = "pkg.crossplane.io/v1",
  } = fields;
  return `---\napiVersion: ${apiVersion}\nkind: Function\nmetadata: {name: ${name}, annotations: ${annotations}}\nspec: ${spec}\n`;
}

function compositionOf(images: Readonly<Record<string, string>>): Composition {
  const functions = Object.entries(images).map(([name, image]) => ({ name, type: "Container", container: { image } }));
  return parseComposition(
    documentOf({
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "Composition",
      metadata: { name: "things" },
      spec: { compositeTypeRef: { apiVersion: "example.org/v1", kind: "XThing" }, functions },
    }),
  );
}

function containersOf({ spec }: Composition): ContainerStep["container"][] {
  return spec.functions.flatMap((step) => ("container" in step ? [step.container] : []));
}

async function replaced(
  given: Composition,
  functions: readonly FunctionPackage[],
  { pull, onWarning = () => undefined }: { pull?: "Never" | undefined; onWarning?: (message: string) => void },
): Promise<Composition> {
  const overrides = checkFunctions(functions, given, {}, onWarning);
  const sources = { composition: given, path: "composition.yaml", functions, overrides };
  return (await resolveImages(sources, { ...(pull && { pull }) }, undefined)).composition;
}

test("the package of a Function replaces the image of the step with its name", async () => {
  const functions = await readFunctions(file(functionDocument({}) + functionDocument({ name: "unused" })), []);
  const unused: string[] = [];
  const given = compositionOf({ first: "old", second: "kept" });
  const composition = await replaced(given, functions, { onWarning: (message) => unused.push(message) });
  expect(containersOf(composition).map(({ image }) => image)).toEqual(["registry.example.org/first:v2", "kept"]);
  expect(unused).toEqual(["Function unused is not used: no pipeline step has that name"]);
});

test("a relative oci: package is relative to its file", async () => {
  const [override] = await readFunctions(file(functionDocument({ spec: '{package: "oci:images/first:v1"}' })), []);
  expect(override?.image).toBe(`oci:${join(dir, "images/first:v1")}`);
  const [inFolder] = await readFunctions(dir, []);
  expect(inFolder?.image).toBe(`oci:${join(dir, "images/first:v1")}`);
});

test("accepts both API versions of Function, but no other kind", async () => {
  expect(await readFunctions(file(functionDocument({ apiVersion: "pkg.crossplane.io/v1beta1" })), [])).toHaveLength(1);
  await expect(readFunctions(file("apiVersion: v1\nkind: ConfigMap\n"), [])).rejects.toMatchObject({ code: "Input" });
});

test("accepts the runtime Docker", async () => {
  const annotations = "{render.crossplane.io/runtime: Docker, render.crossplane.io/runtime-docker-pull-policy: Always}";
  expect(await readFunctions(file(functionDocument({ annotations })), [])).toMatchObject([{ pullPolicy: "Always" }]);
});

test("runtime Development is a server, from the file and from -a, which no FunctionIO step can use", async () => {
  const annotations = "{render.crossplane.io/runtime: Development}";
  const inFile = await readFunctions(file(functionDocument({ annotations })), []);
  expect(inFile).toMatchObject([{ target: "localhost:9443" }]);
  const given = await readFunctions(file(functionDocument({})), [
    "render.crossplane.io/runtime=Development",
    "render.crossplane.io/runtime-development-target=localhost:1",
  ]);
  expect(given).toMatchObject([{ target: "localhost:1" }]);
  const [name = ""] = given.map((one) => one.name);
  const override = (): unknown => checkFunctions(given, compositionOf({ [name]: "a" }), {}, () => undefined);
  expect(override).toThrow(expect.objectContaining({ code: "Usage" }));
});

test("an unknown runtime is refused", async () => {
  const annotations = "{render.crossplane.io/runtime: Podman}";
  await expect(readFunctions(file(functionDocument({ annotations })), [])).rejects.toMatchObject({ code: "Input" });
});

test("maps what Docker's annotations say of an image, and names the others", async () => {
  const docker = (name: string, value: string): string => `render.crossplane.io/runtime-docker-${name}: "${value}"`;
  const annotations = `{${docker("image", "localhost/dev:v1")}, ${docker("env", "A=1,B=x=y")}, ${docker("network", "n")}}`;
  expect(await readFunctions(file(functionDocument({ annotations })), [])).toMatchObject([
    {
      image: "localhost/dev:v1",
      env: { A: "1", B: "x=y" },
      ignored: ["render.crossplane.io/runtime-docker-network"],
    },
  ]);
  const wrong = `{${docker("env", "A")}}`;
  await expect(readFunctions(file(functionDocument({ annotations: wrong })), [])).rejects.toMatchObject({
    code: "Input",
  });
});

test("-a overrides the file", async () => {
  const annotations = "{render.crossplane.io/runtime: Development}";
  const functions = await readFunctions(file(functionDocument({ annotations })), [
    "render.crossplane.io/runtime=Docker",
  ]);
  expect(functions).toHaveLength(1);
});

test("-a without a key is refused", async () => {
  await expect(readFunctions(file(functionDocument({})), ["=x"])).rejects.toMatchObject({ code: "Usage" });
});

test("refuses two Functions with one name", async () => {
  await expect(readFunctions(file(functionDocument({}) + functionDocument({})), [])).rejects.toMatchObject({
    code: "Input",
  });
});

test("--pull overrides the file and the composition", async () => {
  const functions = await readFunctions(
    file(functionDocument({ spec: "{package: x, packagePullPolicy: Always}" })),
    [],
  );
  const policy = async (pull?: "Never"): Promise<unknown> => {
    return containersOf(await replaced(compositionOf({ first: "a" }), functions, { pull }))[0]?.imagePullPolicy;
  };
  expect(await policy()).toBe("Always");
  expect(await policy("Never")).toBe("Never");
});
