import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { absoluteImage } from "./absolute-image.ts";
import { readComposition } from "./composition-file.ts";

let dir: string;

beforeEach(() => {
  dir = temporaryFolder();
});

const composition = (name: string, image: string): string => `---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: ${name}}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: X}
  functions:
  - {name: a, type: Container, container: {image: "${image}"}}
`;

async function read(text: string): Promise<string[]> {
  const path = join(dir, "composition.yaml");
  writeFileSync(path, text);
  const { spec } = (await readComposition(path, () => undefined)).composition;
  return spec.functions.flatMap((step) => ("container" in step ? [step.container.image] : []));
}

test("picks the Composition among other documents", async () => {
  expect(await read(`kind: XR\napiVersion: a/v1\n${composition("c", "image:v1")}`)).toEqual(["image:v1"]);
});

test("refuses two Compositions, with their positions", async () => {
  const both = read(composition("c", "a") + composition("d", "b"));
  await expect(both).rejects.toMatchObject({
    code: "Input",
    details: [expect.stringMatching(/:2:1/), expect.stringMatching(/:10:1/)],
  });
});

test("a file without a Composition is refused", async () => {
  await expect(read("kind: A\n---\nkind: B\n")).rejects.toMatchObject({ code: "Input" });
});

test.each([
  ["registry.example.org/x:v1", "registry.example.org/x:v1"],
  ["x", "x"],
  ["oci:/absolute:tag", "oci:/absolute:tag"],
  ["oci:../up:tag", "oci:/folder/up:tag"],
  ["oci:", "oci:"],
])("image %s of a file is %s", (image, expected) => {
  expect(absoluteImage(image, "/folder/sub/composition.yaml")).toBe(expected);
});
