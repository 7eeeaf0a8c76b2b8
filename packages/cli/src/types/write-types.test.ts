import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { type Finished, runXfn } from "../../testing/run-xfn.ts";

let dir = "";

beforeEach(() => {
  dir = temporaryFolder();
});

const crd = (kind: string, group = "example.org", spec = "{ type: object }"): string => `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: ${kind.toLowerCase()}s.${group} }
spec:
  group: ${group}
  scope: Cluster
  names: { kind: ${kind}, plural: ${kind.toLowerCase()}s }
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object, properties: { spec: ${spec} } } } }]
`;

function write(name: string, ...documents: string[]): string {
  const file = join(dir, name);
  writeFileSync(file, documents.join(""));
  return file;
}

const types = (...args: string[]): Promise<Finished> => runXfn(["types", ...args]);
const interfaces = (text: string): string[] => [...text.matchAll(/^export interface (\w+)/gm)].map((at) => at[1] ?? "");

test("skips other documents, and says so", async () => {
  write("crd.yaml", crd("Bucket"), "---\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n");
  mkdirSync(join(dir, "node_modules"));
  write("node_modules/other.yaml", crd("Other"));
  const { code, stdout, stderr } = await types(dir);
  expect({ code, found: interfaces(stdout), stderr }).toEqual({
    code: 0,
    found: ["Bucket"],
    stderr: "xfn: skipped what is not a definition: 1 (ConfigMap)\n",
  });
  expect(stdout).toContain(`// Written by \`xfn types ${dir}\`.`);
});

test("--kinds selects by kind, and by kind and group", async () => {
  const file = write("crds.yaml", crd("Bucket"), crd("User"), crd("User", "iam.example.org"));
  const { stdout } = await types(file, "--kinds", "User.iam.example.org, Bucket");
  expect(interfaces(stdout)).toEqual(["Bucket", "User"]);
  expect(stdout).toContain('"iam.example.org/v1/User"');
  const { code, stderr } = await types(file, "--kinds", "Buckt");
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("did you mean Bucket?") });
});

test("--check reports a file that is missing or not current, and writes nothing", async () => {
  const file = write("crd.yaml", crd("Bucket"));
  const target = join(dir, "src", "types.ts");
  expect(await types(file, "--check")).toMatchObject({ code: 2, stderr: expect.stringContaining("--output") });
  expect(await types(file, "-o", target, "--check")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${target} does not exist: run xfn types ${file} -o ${target}`),
  });
  expect(await types(file, "-o", target)).toMatchObject({ code: 0, stdout: "" });
  expect(readdirSync(join(dir, "src"))).toEqual(["types.ts"]);
  expect(await types(file, "-o", target, "--check")).toMatchObject({ code: 0, stderr: "" });
  // From another folder the sources have other names.
  writeFileSync(target, readFileSync(target, "utf8").replace(file, "crd.yaml"));
  expect(await types(file, "-o", target, "--check")).toMatchObject({ code: 0, stderr: "" });
  write("crd.yaml", crd("Bucket", "example.org", "{ type: object, properties: { size: { type: integer } } }"));
  const before = readFileSync(target, "utf8");
  expect(await types(file, "-o", target, "--check")).toMatchObject({
    code: 1,
    stderr: `xfn: ${target} is not current: run xfn types ${file} -o ${target}\n`,
  });
  expect(readFileSync(target, "utf8")).toBe(before);
});

test("a failed write leaves the file and nothing else", async () => {
  const file = write("crd.yaml", crd("Bucket"));
  mkdirSync(join(dir, "target.ts"));
  expect(await types(file, "-o", join(dir, "target.ts"))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("cannot write"),
  });
  expect(readdirSync(dir).toSorted()).toEqual(["crd.yaml", "target.ts"]);
});

test("a name after cluster: is refused with the way out", async () => {
  const { code, stderr } = await types("cluster:prod");
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("--context") });
});
