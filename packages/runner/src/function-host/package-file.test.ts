import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkPackage } from "./package-file.ts";

const meta = (kind: string): string => `apiVersion: meta.pkg.crossplane.io/v1\nkind: ${kind}\nmetadata:\n  name: it\n`;
const withReadme = (characters: number): string =>
  `${meta("Function")}  annotations:\n    readme: ${"a".repeat(characters)}\n`;
const more = (documents: number): string => "---\na: b\n".repeat(documents);
const CRD = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: inputs}\n";

async function check(packageFile: string | undefined, labels: Record<string, string> = {}): Promise<void> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "xfn-test-"));
  const layer = join(folder.path, "layer");
  mkdirSync(layer);
  if (packageFile !== undefined) writeFileSync(join(layer, "package.yaml"), packageFile);
  await checkPackage({ layers: [layer], config: { config: { Labels: labels } } });
}

test.each([
  ["a package of a Function", meta("Function") + CRD],
  ["one whose metadata is not the first", `${CRD}---\n${meta("Function")}`],
  ["an image that is not a package", undefined],
  ["a package with a readme of 200 Ki characters", withReadme(200 * 1024)],
  ["a package of 1000 documents", meta("Function") + more(999)],
])("accepts %s", async (_, packageFile) => {
  await expect(check(packageFile)).resolves.toBeUndefined();
});

test.each([
  ["a Provider", meta("Provider") + CRD, {}, "Provider"],
  ["a Configuration", meta("Configuration"), {}, "Configuration"],
  ["no metadata", CRD, {}, "none"],
  ["an empty file", "", {}, "none"],
  ["two metadata", `${meta("Function")}---\n${meta("Function")}`, {}, "several"],
  ["what is not YAML", `${meta("Function")}\tx: [`, {}, "package.yaml"],
  ["a comment that names the group", "# meta.pkg.crossplane.io/v1\na: b\n", {}, "undefined"],
  ["metadata of more than 256 Ki characters", withReadme(256 * 1024), {}, "more than 262144 characters"],
  ["more than 1000 documents", meta("Function") + more(1000), {}, "more than 1000 documents"],
  ["a label of a package only", undefined, { "io.crossplane.xpkg:sha256:0": "base" }, "no package.yaml"],
])("rejects a package of %s", async (_, packageFile, labels, text) => {
  await expect(check(packageFile, labels)).rejects.toMatchObject({
    code: "ImageInvalid",
    retryable: false,
    message: expect.stringContaining(text) as string,
  });
});
