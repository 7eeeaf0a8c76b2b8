import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import { documentsOf } from "./documents.ts";
import { documentsOfAll } from "./folder-documents.ts";

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
});

function write(name: string, content: string): string {
  const file = join(dir, name);
  writeFileSync(file, content);
  return file;
}

const OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

describe.each<[string, string, string]>([
  ["a package.json", "package.json", '{"name": "project", "private": true}'],
  ["settings with comments", "tsconfig.json", '// strict\n{"compilerOptions": {/* */}}'],
  ["the values of a chart", "values.yaml", "replicas: 3\n"],
  ["a template without an object", "range.yaml", "{{- range .items }}\n{{ . }}\n{{- end }}\n"],
  ["more YAML than is read", "data.yaml", `- ${"x".repeat(1000)}\n`.repeat(17_000)],
])("%s in a folder", (_, name, content) => {
  test("is skipped", async () => {
    write(name, content);
    write("object.yaml", OBJECT);
    expect(await documentsOfAll(dir)).toHaveLength(1);
  });

  test("does not count as an object", async () => {
    write(name, content);
    await expect(documentsOfAll(dir)).rejects.toThrow(`no Kubernetes objects in the YAML and JSON files of the folder`);
  });
});

test.each([
  ["a template of an object", "template.yaml", `${OBJECT}data: {{ .data }}\n`],
  ["an object that is not YAML", "broken.yaml", `${OBJECT}data: [\n`],
  ["an object that is not JSON", "broken.json", '{"kind": "ConfigMap", "apiVersion": "v1",'],
])("%s in a folder is an error: it would be missed", async (_, name, content) => {
  write("object.yaml", OBJECT);
  write(name, content);
  await expect(documentsOfAll(dir)).rejects.toMatchObject({
    code: "Input",
    details: [expect.stringContaining(name)],
  });
});

test("a file that is named is an error with the reason", async () => {
  await expect(documentsOf(write("tsconfig.json", "{\n// strict\n}{"))).rejects.toMatchObject({
    details: [expect.stringContaining("tsconfig.json:")],
  });
});
