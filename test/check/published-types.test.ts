import { execFileSync } from "node:child_process";
import { globSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generateTypes } from "@xfn/functionio/types";
import { readDocuments } from "@xfn/json/document";
import { beforeAll, expect, test } from "vitest";
import { definitionYaml } from "../harness/definition-yaml.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";
import { files, manifestOf } from "./imports.ts";

// The types that npm publishes must compile for who has neither `skipLibCheck` nor `exactOptionalPropertyTypes`.

const COMPILERS = { "5.9": "test/typescript-5/node_modules/typescript", "7": "node_modules/typescript" };
const SETTINGS = {
  strict: true,
  module: "nodenext",
  target: "es2024",
  lib: ["es2024", "esnext.disposable"],
  types: ["node"],
  noEmit: true,
};
const FUNCTION = `import { compose } from "@xfn/functionio/sdk";
import { invoke } from "@xfn/functionio/testing";
import type { XCache } from "./types.ts";
const fn = compose<XCache>(({ xr, observed, desired, required }) => {
  const memory: string = xr.spec.memory;
  desired.apply("a", { apiVersion: "v1", kind: "ConfigMap", metadata: { labels: xr.metadata.labels }, data: { memory } });
  desired.apply("b", { apiVersion: "example.org/v1", kind: "XCache", spec: { memory } });
  const kind: string = memory;
  desired.apply("c", { apiVersion: "example.org/v1", kind, any: 1 });
  desired.apply("d", { apiVersion: "other.example.org/v1", kind: "Any", any: 1 });
  // @ts-expect-error The types know the kinds of this apiVersion.
  desired.apply("e", { apiVersion: "example.org/v1", kind: "XCahce", spec: { memory } });
  // @ts-expect-error A field of a known kind.
  desired.apply("f", { apiVersion: "example.org/v1", kind: "XCache", spec: { memroy: memory } });
  const [first] = required.resources("all", { apiVersion: "example.org/v1", kind: "XCache", matchLabels: {} }) ?? [];
  desired.composite.status({ host: first?.status?.host ?? observed.names()[0] });
});
export const run = invoke(fn, { xr: { spec: { memory: "1Gi" } } });
`;
/** A mistake in Kubernetes' own kinds, with what the compiler says at its place. */
const MISTAKES: Readonly<Record<string, string>> = {
  '{ apiVersion: "apps/v1", kind: "Deploymnt", spec: { replicas: 1 } }': `Did you mean '"Deployment"'?`,
  '{ apiVersion: "v1", kind: "Servce" }': `Did you mean '"Service"'?`,
  '{ apiVersion: "v1", kind: "ConfigMap", dta: {} }': "Did you mean to write 'data'?",
  '{ apiVersion: "v1", kind: "ConfigMap", data: { a: 5 } }': "Type 'number' is not assignable",
  '{ apiVersion: "v1", kind: "Service", spec: { typ: "NodePort" } }': "Did you mean to write 'type'?",
  '{ apiVersion: "v1", kind: "Service", spec: { type: "NodePrt" } }': `Did you mean '"NodePort"'?`,
  '{ apiVersion: "v1", kind: "Service", spec: { ports: [{ port: "80" }] } }': "Type 'string' is not assignable",
  '{ apiVersion: "v1", kind: "Pod", spec: { containers: [{ name: "a", imag: "b" }] } }':
    "Did you mean to write 'image'?",
  '{ apiVersion: "v1", kind: "Pod", spec: { containers: [{ name: "a", resources: { limits: { cpu: true } } }] } }':
    "is not assignable to type 'string | number",
};
/** Resources that are right, or not known to be wrong. */
const RIGHT = [
  '{ apiVersion: "v1", kind: "Service", spec: { ports: [{ port: 80, targetPort: "http" }, { port: 81, targetPort: 81 }] } }',
  '{ apiVersion: "v1", kind: "Pod", spec: { containers: [{ name: "a", resources: { limits: { cpu: 0.5, memory: "1Gi" } } }] } }',
  '{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: undefined }',
  '{ apiVersion: "apps/v1", kind: kind(), any: 1 }',
  '{ apiVersion: "unknown.example.org/v1", kind: "Deploymnt", any: 1 }',
];
const DEFINITION = definitionYaml("XCache", {
  spec: "{ type: object, required: [memory], properties: { memory: { type: string }, size: { type: integer } } }",
  status: "{ type: object, properties: { host: { type: string } } }",
});

let dir = "";

beforeAll(() => {
  dir = temporaryFolder();
  symlinkSync(join(CHECKOUT, "node_modules"), join(dir, "node_modules"));
  const entries = files("packages/*/package.json").flatMap((path) => {
    const { name, exports = {} } = manifestOf(path.replace("/package.json", ""));
    return Object.entries(exports).flatMap(([entry, target]) =>
      typeof target === "object" && /\.(?:js|d\.ts)$/.test(target.default ?? target.types ?? "")
        ? [`${name}${entry.slice(1)}`]
        : [],
    );
  });
  const uses = entries.map((entry, index) => `export * as entry${index} from ${JSON.stringify(entry)};`);
  writeFileSync(join(dir, "package.json"), '{"type":"module"}');
  writeFileSync(join(dir, "entries.ts"), uses.join("\n"));
  writeFileSync(join(dir, "function.ts"), FUNCTION);
  const checked = (literals: readonly string[]): string =>
    literals.map((literal) => `resource(${literal});\n`).join("");
  const head = 'import { compose, resource } from "@xfn/functionio/sdk"; import type {} from "@xfn/kinds"; ';
  writeFileSync(join(dir, "mistakes.ts"), head + checked(Object.keys(MISTAKES)));
  const apply = `compose(({ desired }) => desired.apply("web", resource(${RIGHT[0]})));\n`;
  writeFileSync(join(dir, "right.ts"), `${head}declare function kind(): string;\n${apply}${checked(RIGHT)}`);
  writeFileSync(join(dir, "types.ts"), generateTypes([...readDocuments(Buffer.from(DEFINITION), { source: "x" })]));
  const compilerOptions = { ...SETTINGS, allowImportingTsExtensions: true };
  const configuration = { compilerOptions, files: ["entries.ts", "function.ts", "right.ts"] };
  writeFileSync(join(dir, "tsconfig.json"), JSON.stringify(configuration));
  writeFileSync(join(dir, "mistakes.json"), JSON.stringify({ ...configuration, files: ["mistakes.ts"] }));
});

test.each(files("packages/*/package.json"))("%s packs its license, and no maps to missing sources", (path) => {
  const manifest = JSON.parse(readFileSync(join(CHECKOUT, path), "utf8")) as { files: string[] };
  expect(manifest.files).toContain("!dist/**/*.map");
  // npm packs it even if `files` does not list it, but only from the package's own folder. The build copies it there.
  expect(readFileSync(join(CHECKOUT, path, "../LICENSE"))).toEqual(readFileSync(join(CHECKOUT, "LICENSE")));
});

test.each(files("packages/*/package.json"))("the types of %s need no types that only we have", (path) => {
  const folder = path.replace("/package.json", "");
  const { devDependencies = {} } = manifestOf(folder);
  const untyped = Object.keys(devDependencies).flatMap((name) => /^@types\/(.+)/.exec(name)?.[1] ?? []);
  const declarations = globSync(`${folder}/dist/**/*.d.ts`, { cwd: CHECKOUT }).map((file) =>
    readFileSync(join(CHECKOUT, file), "utf8"),
  );
  expect(untyped.filter((name) => declarations.some((text) => text.includes(`from "${name}"`)))).toEqual([]);
});

test.each(Object.entries(COMPILERS))("the types of all packages compile with TypeScript %s", (version, folder) => {
  const manifest = JSON.parse(readFileSync(join(CHECKOUT, folder, "package.json"), "utf8")) as { version: string };
  expect(manifest.version.startsWith(`${version}.`)).toBe(true);
  expect(compile(folder)).toBe("");
});

test.each(Object.entries(COMPILERS))(
  "TypeScript %s reports a mistake at its place, with the nearest name",
  (_, folder) => {
    const output = compile(folder, "mistakes.json").split("\n");
    Object.entries(MISTAKES).forEach(([literal, message], index) => {
      const errors = output.filter((line) => line.includes(`mistakes.ts(${index + 1},`));
      expect(errors, literal).toEqual([expect.stringContaining(message)]);
    });
  },
);

function compile(folder: string, project = "tsconfig.json"): string {
  try {
    return execFileSync(process.execPath, [join(CHECKOUT, folder, "bin/tsc"), "-p", join(dir, project)], {
      encoding: "utf8",
    });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}
