import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { packageMetadata } from "./package-yaml.ts";

let dir: string;

beforeEach(() => {
  dir = temporaryFolder();
});

const VALID = "apiVersion: meta.pkg.crossplane.io/v1alpha1\nkind: Function\nmetadata:\n  name: mine # kept\n";

/** The example of Crossplane's design document "Composition Functions", verbatim. */
const EXAMPLE = `# Required. Must be as below.
apiVersion: meta.pkg.crossplane.io/v1alpha1
# Required. Must be as below.
kind: Function
# Required.
metadata:
  # Required. Must comply with Kubernetes API conventions.
  name: function-example
  # Optional. Must comply with Kubernetes API conventions.
  annotations:
    meta.crossplane.io/source: https://github.com/negz/example-fn
    meta.crossplane.io/description: An example function
`;

test("copies the folder's own byte by byte", async () => {
  writeFileSync(join(dir, "package.yaml"), EXAMPLE);
  const { content, ...metadata } = await packageMetadata(dir, "v1");
  expect(Buffer.from(content).toString()).toBe(EXAMPLE);
  expect(metadata).toEqual({
    name: "function-example",
    annotations: {
      "meta.crossplane.io/source": "https://github.com/negz/example-fn",
      "meta.crossplane.io/description": "An example function",
    },
  });
});

test.each(["v1", "v1alpha1"] as const)(
  "else derives a Kubernetes name from the folder's name, of %s",
  async (version) => {
    const folder = join(dir, "My_Function (1)");
    mkdirSync(folder);
    expect(Buffer.from((await packageMetadata(folder, version)).content).toString()).toBe(
      `apiVersion: meta.pkg.crossplane.io/${version}\nkind: Function\nmetadata:\n  name: my-function-1\n`,
    );
  },
);

test.each([
  ["another kind", VALID.replace("Function", "Provider"), /kind must be Function/],
  ["another version", VALID.replace("v1alpha1", "v7"), /apiVersion must be/],
  ["no name", VALID.replace("name: mine", "title: mine"), /metadata\.name/],
  ["a name that Kubernetes refuses", VALID.replace("mine", "Not_A_Name"), /metadata\.name/],
  [
    "an annotation that is not text",
    `${VALID}  annotations: {a/b: 1}\n`,
    /metadata\.annotations\[a\/b\] must be a text/,
  ],
  ["annotations that are a list", `${VALID}  annotations: [a]\n`, /metadata\.annotations must be an object/],
])("%s is refused", async (_, text, message) => {
  writeFileSync(join(dir, "package.yaml"), text);
  await expect(packageMetadata(dir, "v1")).rejects.toMatchObject({
    code: "Input",
    details: [expect.stringMatching(message)],
  });
});

test.each(["v1alpha1", "v1beta1", "v1"])("a crossplane.yaml of %s does as well", async (version) => {
  const annotations = "  annotations: {meta.crossplane.io/license: Apache-2.0}\n";
  const text = VALID.replace("v1alpha1", version) + annotations;
  writeFileSync(join(dir, "crossplane.yaml"), text);
  const metadata = await packageMetadata(dir, "v1");
  expect(metadata).toMatchObject({ name: "mine", annotations: { "meta.crossplane.io/license": "Apache-2.0" } });
  expect(Buffer.from(metadata.content).toString()).toBe(text);
});
