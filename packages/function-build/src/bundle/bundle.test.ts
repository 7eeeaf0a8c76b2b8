import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FunctionClient, FunctionConnection } from "@xfn/function-grpc";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { MAX_SOURCE_BYTES } from "../files/plain-files.ts";
import { BUNDLE_FILE, bundle } from "./bundle.ts";

let dir: string;

beforeEach(() => {
  dir = temporaryFolder();
});

const IO = '{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO","observed":{}}';
const FUNCTION = `import { compose } from "@xfn/functionio/sdk";
import { name } from "./name.ts";
console.log("chatter");
export default compose(({ desired }) => {
  desired.apply(name, { apiVersion: "v1", kind: "ConfigMap" });
});
`;

function folder(name: string, files: Record<string, string>): string {
  const path = join(dir, name);
  mkdirSync(path, { recursive: true });
  for (const [file, content] of Object.entries(files)) writeFileSync(join(path, file), content);
  return path;
}

async function run(
  path: string,
  input: string = IO,
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const { dependencies, files } = await bundle(path, "function.ts");
  const out = folder(`out-${path.split("/").at(-1)}`, {});
  for (const [name, content] of [...dependencies, ...files]) writeFileSync(join(out, name), content);
  return spawnSync(process.execPath, [join(out, BUNDLE_FILE)], { input, encoding: "utf8" });
}

test("a folder without packages gets the SDK, and its logs do not reach the protocol", async () => {
  const { status, stdout, stderr } = await run(
    folder("f", { "function.ts": FUNCTION, "name.ts": 'export const name = "a";' }),
  );
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ desired: { resources: [{ name: "a" }] } });
  expect(stderr).toBe("chatter\n");
});

test("a folder without packages can read documents", async () => {
  const path = folder("documents", {
    "function.ts": `import { compose } from "@xfn/functionio/sdk";
import { readDocuments } from "@xfn/json/document";
export default compose(({ results }) => results.normal(JSON.stringify(readDocuments("on: yes")[0]?.value)));
`,
  });
  const { status, stdout } = await run(path);
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ results: [{ message: '{"on":true}' }] });
});

test("keeps rarely used parts of the SDK out of the file that each call loads", async () => {
  const path = folder("y", { "function.ts": FUNCTION, "name.ts": 'export const name = "a";' });
  const { dependencies } = await bundle(path, "function.ts");
  expect([...dependencies.keys()].filter((name) => name.startsWith("lazy-")).length).toBeGreaterThan(0);
  const yaml = "apiVersion: apiextensions.crossplane.io/v1alpha1\nkind: FunctionIO\nobserved: {}\n";
  expect(JSON.parse((await run(path, yaml)).stdout)).toMatchObject({ desired: { resources: [{ name: "a" }] } });
  const { status, stdout, stderr } = await run(path, "kind: [\n");
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  // One line without a stack.
  expect(stderr).toMatch(/^chatter\nstdin:\d+:\d+: .*\n$/);
});

test("the same function gives the same bytes in another folder", async () => {
  const files = { "function.ts": FUNCTION, "name.ts": 'export const name = "a";' };
  const [one, two] = [folder("one/f", files), folder("somewhere/else/entirely/f", files)];
  const [first, second] = [await bundle(one, "function.ts"), await bundle(two, "function.ts")];
  const texts = ({ dependencies, files }: typeof first): string[][] =>
    [...dependencies, ...files].map(([name, content]) => [name, Buffer.from(content).toString()]);
  expect(texts(second)).toEqual(texts(first));
  for (const [, text] of texts(first)) {
    expect(text).not.toContain(dir);
    expect(text).not.toContain(import.meta.dirname.replace(/\/packages\/.*/, ""));
  }
  expect(texts(first).find(([name]) => name?.endsWith(".map"))?.[1]).not.toMatch(/"\.\.\//);
});

test("a stack trace names the function's own file and line", async () => {
  const thrower = 'export function name(): never {\n  throw new Error("no");\n}\n';
  const source = FUNCTION.replace("desired.apply(name,", "desired.apply(name(),");
  const { stdout, stderr } = await run(folder("g", { "function.ts": source, "name.ts": thrower }));
  expect(JSON.parse(stdout)).toMatchObject({ results: [{ severity: "Fatal" }] });
  expect(stderr).toMatch(/at name \(name\.ts:2:9\)\n.*function\.ts:5:/);
});

test("bundles packages of the folder, and JSON", async () => {
  const path = folder("h", { "function.ts": FUNCTION.replace("./name.ts", "names"), "package.json": '{"name":"h"}' });
  mkdirSync(join(path, "node_modules/names"), { recursive: true });
  writeFileSync(join(path, "node_modules/names/package.json"), '{"name":"names","version":"1.0.0","main":"index.js"}');
  writeFileSync(join(path, "node_modules/names/index.js"), 'exports.name = require("./names.json")[0];');
  writeFileSync(join(path, "node_modules/names/names.json"), '["from-json"]');
  expect(JSON.parse((await run(path)).stdout)).toMatchObject({ desired: { resources: [{ name: "from-json" }] } });
});

test("says which files outside the folder it bundles, and nothing of packages", async () => {
  const path = folder("outer/f", {
    "function.ts": FUNCTION.replace("./name.ts", "../shared/name.ts").replace("import {", 'import "named";\nimport {'),
  });
  folder("outer/shared", { "name.ts": 'export const name = "a";' });
  folder("outer/node_modules/named", { "package.json": '{"name":"named","version":"1.0.0"}', "index.js": "" });
  const { warnings } = await bundle(path, "function.ts");
  expect(warnings).toEqual([expect.stringMatching(/outer\/shared\/name\.ts is outside the function's folder/)]);
});

test.each(["../../.docker/config.json", "./link.json", "../shared/reads.ts"])(
  "does not bundle a hidden file of the user: %s",
  async (path) => {
    const dir = folder("home/repository/f", { "function.ts": `import "${path}";\nexport default () => {};` });
    folder("home/repository/shared", { "reads.ts": 'import "../../.docker/config.json";' });
    const hidden = join(folder("home/.docker", { "config.json": '{"auths":{}}' }), "config.json");
    rmSync(join(dir, "link.json"), { force: true });
    symlinkSync(hidden, join(dir, "link.json"));
    await expect(bundle(dir, "function.ts")).rejects.toMatchObject({
      code: "Input",
      details: [expect.stringContaining(`${hidden} is hidden and outside the function's folder`)],
    });
  },
);

test("does not bundle a file outside through a link in the folder", async () => {
  const dir = folder("outer/f", { "function.ts": 'import x from "./link.json"; export default () => x;' });
  const target = join(folder("outer", { "user.json": "{}" }), "user.json");
  symlinkSync(target, join(dir, "link.json"));
  await expect(bundle(dir, "function.ts")).rejects.toMatchObject({
    details: [expect.stringContaining("is a link out of the function's folder")],
  });
});

test("does not read an import outside the folder that is a device", async () => {
  const dir = folder("outer/f", { "function.ts": 'import x from "../zero.json"; export default () => x;' });
  symlinkSync("/dev/zero", join(dir, "../zero.json"));
  await expect(bundle(dir, "function.ts")).rejects.toThrow();
});

test("a link to a hidden folder can be built", async () => {
  folder(".hidden/f", { "function.ts": "export default () => {};" });
  symlinkSync(join(dir, ".hidden/f"), join(dir, "link"));
  expect((await bundle(join(dir, "link"), "function.ts")).warnings).toEqual([]);
});

test.each(["../../${file}", "./${file}"])("a pattern imports files of the folder alone: %s", async (pattern) => {
  const dir = folder("home/f", {
    "function.ts": `export default (file: string) => require(\`${pattern}.json\`);`,
    "own.json": '"own"',
    ".hidden.json": '"hidden"',
  });
  const { files } = await bundle(dir, "function.ts");
  const code = Buffer.from(files.get(BUNDLE_FILE) ?? []).toString();
  expect(code).toContain('"own"');
  expect(code).not.toContain('"hidden"');
  const link = join(folder("home/f/more", { "a.json": "{}" }), "link.json");
  symlinkSync(join(folder("home", { "user.json": '{"token":"x"}' }), "user.json"), link);
  await expect(bundle(dir, "function.ts")).rejects.toMatchObject({
    code: "Input",
    details: [expect.stringMatching(/\.json is outside the function's folder, and a pattern imports it/)],
  });
});

test.each([
  ["module", "module.exports = compose(handler);"],
  ["commonjs", "module.exports = compose(handler);"],
  ["commonjs", 'Object.defineProperty(exports, "__esModule", { value: true }); exports.default = compose(handler);'],
  ["module", 'Object.defineProperty(exports, "__esModule", { value: true }); exports.default = compose(handler);'],
])("serves a function in CommonJS, in a folder of type %s: %s", async (type, exported) => {
  const dir = folder("commonjs", {
    "package.json": JSON.stringify({ type }),
    "function.cjs": `const { compose } = require("@xfn/functionio/sdk");
      const handler = ({ desired }) => desired.apply("a", { apiVersion: "v1", kind: "ConfigMap" });\n${exported}`,
  });
  const { files } = await bundle(dir, "function.cjs");
  const program = join(dir, "bundle.cjs");
  writeFileSync(program, files.get(BUNDLE_FILE) ?? "");
  const { stdout, stderr } = spawnSync(process.execPath, [program], { input: IO, encoding: "utf8" });
  expect(stdout, stderr).toContain('"name":"a"');
});

test("does not read a JSON file that a pattern imports and that would fill the memory", async () => {
  const dir = folder("large", {
    "function.ts": "export default (file: string) => require(`./${file}.json`);",
    "large.json": "",
  });
  truncateSync(join(dir, "large.json"), MAX_SOURCE_BYTES + 1);
  await expect(bundle(dir, "function.ts")).rejects.toMatchObject({
    code: "Input",
    details: [expect.stringContaining("a source has at most")],
  });
});

test.each([
  ["a syntax error", { "function.ts": "export default (;" }, /bad\/function\.ts:1:17: /],
  [
    "a missing import",
    { "function.ts": 'import "./nowhere.ts";\nexport default 1;' },
    /bad\/function\.ts:1:8: .*nowhere/,
  ],
  ["no default export", { "function.ts": "export const fn = 1;" }, /bad\/function\.ts: has no default export/],
  [
    "a package that is not installed",
    { "function.ts": 'import "@scope/none/part";\nexport default 1;' },
    /function\.ts:1:8: .*: run npm install @scope\/none in/,
  ],
])("%s is wrong input with its place", async (_, files, detail) => {
  const path = folder("bad", files as Record<string, string>);
  const error: unknown = await bundle(path, "function.ts").catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "Input", details: [expect.stringMatching(detail)] });
});

test("serves gRPC if flags ask for it, with code that no call by FunctionIO loads", async () => {
  const path = folder("grpc", { "function.ts": FUNCTION, "name.ts": 'export const name = "a";' });
  const { dependencies, files } = await bundle(path, "function.ts");
  const texts = [files.get(BUNDLE_FILE), dependencies.get("lazy-serve-grpc.cjs")].map((text) =>
    Buffer.from(text ?? []),
  );
  expect(texts.map((text) => text.includes("node:http2"))).toEqual([false, true]);
  const out = folder("out-grpc", {});
  for (const [name, content] of [...dependencies, ...files]) writeFileSync(join(out, name), content);
  const child = spawn(process.execPath, [join(out, BUNDLE_FILE), "--insecure", "--address", "127.0.0.1:0"]);
  const exited = new Promise((resolve) => child.once("exit", (code) => resolve(code)));
  const [, address = ""] = await said(child.stderr, /serving the function on (\S+),/);
  const connection = new FunctionConnection(`http://${address}`);
  const state = { resources: new Map() };
  const { response } = await new FunctionClient(connection).run(
    { observed: state, desired: state },
    { timeoutMs: 60_000 },
  );
  expect([...response.desired.resources.keys()]).toEqual(["a"]);
  child.kill("SIGTERM");
  expect(await exited).toBe(0);
  connection.close();
});

/** Waits for a line of a stream. */
async function said(stream: AsyncIterable<Buffer>, line: RegExp): Promise<RegExpExecArray> {
  let text = "";
  for await (const chunk of stream) {
    text += String(chunk);
    const found = line.exec(text);
    if (found !== null) return found;
  }
  throw new Error(`nothing matches ${line} in ${text}`);
}
