import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { CHECKOUT } from "../harness/paths.ts";
import {
  circlesIn,
  closureOf,
  files,
  type Import,
  importsOf,
  isRelative,
  type Manifest,
  manifestOf,
  packageOf,
  targetOf,
} from "./imports.ts";

// Our packages that each may import: the way that data flows (docs/contributing/architecture.md).
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  units: ["errors"],
  lifetime: [],
  proxy: [],
  errors: [],
  json: ["errors"],
  protobuf: [],
  functionio: ["json"],
  composition: ["errors", "json", "units", "functionio"],
  "runner-contract": ["errors"],
  // Only its tests of Compositions run containers by themselves.
  pipeline: [
    "lifetime",
    "errors",
    "json",
    "functionio",
    "composition",
    "function-grpc",
    "oci-rootfs",
    "runner-contract",
    "runner",
  ],
  "oci-rootfs": ["lifetime", "errors", "proxy", "runner-contract"],
  "runner-grpc": ["lifetime", "errors", "units", "protobuf", "runner-contract"],
  "function-grpc": ["lifetime", "errors", "json", "functionio", "composition", "protobuf", "runner-contract"],
  program: ["errors", "units", "runner-contract"],
  wasm: ["lifetime", "runner-contract"],
  runner: [
    "lifetime",
    "errors",
    "json",
    "units",
    "function-grpc",
    "runner-contract",
    "runner-grpc",
    "oci-rootfs",
    "program",
    "wasm",
  ],
  kubernetes: ["lifetime", "errors", "json", "proxy", "units"],
  kinds: [],
  controller: [
    "lifetime",
    "errors",
    "json",
    "functionio",
    "composition",
    "pipeline",
    "oci-rootfs",
    "package",
    "runner-grpc",
    "runner",
    "function-grpc",
    "kubernetes",
    "program",
    "input",
    "units",
  ],
  input: ["errors", "json", "program"],
  package: ["errors", "json", "oci-rootfs"],
  "function-build": ["errors", "json", "functionio", "function-grpc", "oci-rootfs", "package", "input", "wasm"],
  "dev-cluster": ["errors", "json", "runner"],
  cli: [
    "lifetime",
    "errors",
    "json",
    "functionio",
    "composition",
    "pipeline",
    "runner-contract",
    "runner-grpc",
    "oci-rootfs",
    "package",
    "kubernetes",
    "runner",
    "program",
    "input",
    "function-build",
    "function-grpc",
    "dev-cluster",
  ],
};

// Entries that run in any JavaScript runtime, whose dependencies are these packages alone.
const PORTABLE_ENTRIES: Readonly<Record<string, readonly string[]>> = {
  errors: [".", "./coded-error"],
  json: [".", "./text", "./document", "./sdk"],
  functionio: [".", "./types", "./testing"],
};

const NODE_GLOBAL = /\b(?:process|Buffer|require|__dirname)\b[.(]/;

const PACKAGES = files("packages/*/package.json").map((path) => path.split("/")[1] ?? "");
const MANIFESTS = new Map<string, Manifest>(PACKAGES.map((name) => [`@xfn/${name}`, manifestOf(`packages/${name}`)]));

const isTest = (file: string): boolean => /\.test\.ts$|^packages\/[^/]+\/testing\//.test(file);
const sourcesOf = (name: string): string[] => files(`packages/${name}/src/**/*.ts`).filter((file) => !isTest(file));
const testsOf = (name: string): string[] => files(`packages/${name}/**/*.ts`).filter(isTest);
/** Tests of packages make their temporary folders with the harness. */
const isHarness = (found: Import): boolean =>
  found.file.endsWith(".test.ts") && targetOf(found) === "test/harness/temporary-folder.ts";
const importsIn = (paths: readonly string[]): Import[] => paths.flatMap(importsOf);
const show = ({ file, specifier }: Import): string => `${file} imports ${specifier}`;

function isPublicEntry(specifier: string): boolean {
  const name = packageOf(specifier) ?? "";
  return `.${specifier.slice(name.length)}` in (MANIFESTS.get(name)?.exports ?? {});
}

function packagesIn(imports: readonly Import[]): string[] {
  const names = imports.filter(({ specifier }) => !isRelative(specifier)).map(({ specifier }) => packageOf(specifier));
  return [...new Set(names.filter((name) => name !== undefined))].toSorted();
}

test("every package has its place in the graph", () => {
  expect(PACKAGES.toSorted()).toEqual(Object.keys(MAY_IMPORT).toSorted());
});

// A folder is one concern; one with more sources than this has become several.
const MAX_SOURCES = 25;

describe.each(PACKAGES)("packages/%s", (name) => {
  test("its folders import one way", () => {
    expect(circlesIn(edgesOf(name, dirname))).toEqual([]);
  });

  test("its files import one way", () => {
    expect(circlesIn(edgesOf(name, (file) => file))).toEqual([]);
  });

  test(`no folder has more than ${MAX_SOURCES} sources`, () => {
    const folders = Map.groupBy(sourcesOf(name), dirname);
    const large = [...folders].filter(([, sources]) => sources.length > MAX_SOURCES);
    expect(large.map(([folder, sources]) => `${folder}: ${sources.length}`)).toEqual([]);
  });

  test("imports only the workspace packages that it may", () => {
    const allowed = [`@xfn/${name}`, ...(MAY_IMPORT[name] ?? []).map((other) => `@xfn/${other}`)];
    const wrong = importsIn(sourcesOf(name)).filter(
      ({ specifier }) => specifier.startsWith("@xfn/") && !allowed.includes(packageOf(specifier) ?? ""),
    );
    expect(wrong.map(show)).toEqual([]);
  });

  test("reaches into no other package", () => {
    const wrong = importsIn([...sourcesOf(name), ...testsOf(name)]).filter((found) =>
      isRelative(found.specifier)
        ? !targetOf(found).startsWith(`packages/${name}/`) && !isHarness(found)
        : found.specifier.startsWith("@xfn/") && !isPublicEntry(found.specifier),
    );
    expect(wrong.map(show)).toEqual([]);
  });

  test("depends on exactly what it imports", () => {
    const { dependencies = {}, peerDependencies = {}, files = [] } = manifestOf(`packages/${name}`);
    const declared = Object.keys({ ...dependencies, ...peerDependencies }).toSorted();
    // A module that is not published is in a bundle, with the packages that it imports.
    const isPublished = (file: string): boolean =>
      !files.includes(`!${file.replace(`packages/${name}/src/`, "dist/").replace(/\.ts$/, ".js")}`);
    const imported = packagesIn(importsIn(sourcesOf(name).filter(isPublished)));
    // Its declarations are generated, and extend those of the SDK.
    if (name === "kinds") imported.push("@xfn/functionio");
    expect(imported.filter((other) => other !== `@xfn/${name}`)).toEqual(declared);
  });

  test("its tests import only what it or the workspace declares", () => {
    const own = manifestOf(`packages/${name}`);
    const declared = Object.keys({ ...own.dependencies, ...own.devDependencies, ...manifestOf(".").devDependencies });
    const imported = packagesIn(importsIn(testsOf(name)));
    expect(imported.filter((other) => other !== own.name && !declared.includes(other))).toEqual([]);
  });

  test("every entry that package.json names has a source", () => {
    const sources = new Set(files(`packages/${name}/src/**/*.ts`));
    expect(entrySources(name, () => true).filter((file) => !sources.has(file))).toEqual([]);
  });
});

test.each(Object.keys(PORTABLE_ENTRIES))(
  "%s: portable entries need no part of Node, nor a package that does",
  (name) => {
    const entries = entrySources(name, (entry) => PORTABLE_ENTRIES[name]?.includes(entry) === true);
    expect(entries).not.toEqual([]);
    const imports = importsIn(closureOf(entries));
    expect(imports.filter(({ specifier }) => isBuiltin(specifier)).map(show)).toEqual([]);
    const globals = closureOf(entries).filter((file) => NODE_GLOBAL.test(readFileSync(join(CHECKOUT, file), "utf8")));
    expect(globals).toEqual([]);
    const ours = packagesIn(imports).filter((other) => other.startsWith("@xfn/"));
    expect(ours.filter((other) => !(other.replace("@xfn/", "") in PORTABLE_ENTRIES))).toEqual([]);
  },
);

test("a program that runs functions in its own process loads nothing of the server: neither gRPC, nor logs, metrics or traces", () => {
  // These two are for programs that serve a runner to themselves.
  const entries = entrySources("runner", (entry) => entry !== "./in-process" && entry !== "./settings");
  expect(entries).not.toEqual([]);
  const loaded = packagesIn(importsIn(closureOf(entries))).filter((imported) => !isBuiltin(imported));
  expect(loaded).toEqual([
    "@xfn/errors",
    "@xfn/json",
    "@xfn/lifetime",
    "@xfn/oci-rootfs",
    "@xfn/runner-contract",
    "@xfn/wasm",
  ]);
});

test("the libraries of OpenTelemetry are in the module alone that programs load when tracing is on", () => {
  const imports = importsIn(PACKAGES.flatMap(sourcesOf));
  const users = imports.filter(({ specifier }) => specifier.startsWith("@opentelemetry/")).map(({ file }) => file);
  expect([...new Set(users)]).toEqual(["packages/program/src/tracing/exporter.ts"]);
  const importers = imports.filter((found) => isRelative(found.specifier) && targetOf(found) === users[0]);
  // Its path is computed there, and its types are imported.
  expect(importers.map(({ file }) => file)).toEqual(["packages/program/src/tracing/open-tracing.ts"]);
});

test("examples import public entries, and nothing from outside their own folder", () => {
  const wrong = importsIn(files("examples/**/*.ts")).filter((found) =>
    isRelative(found.specifier)
      ? !targetOf(found).startsWith(`${found.file.split("/").slice(0, 2).join("/")}/`)
      : found.specifier.startsWith("@xfn/") && !isPublicEntry(found.specifier),
  );
  expect(wrong.map(show)).toEqual([]);
});

test("tests across packages import public entries, and the packages' own entries for tests", () => {
  const wrong = importsIn(files("test/**/*.ts", "scripts/**/*.ts")).filter((found) =>
    isRelative(found.specifier)
      ? /^packages\/(?![^/]+\/testing\/)/.test(targetOf(found))
      : found.specifier.startsWith("@xfn/") && !isPublicEntry(found.specifier),
  );
  expect(wrong.map(show)).toEqual([]);
});

// The relative imports of a package's sources, between groups of files such as folders.
function edgesOf(name: string, groupOf: (file: string) => string): ReadonlyMap<string, ReadonlySet<string>> {
  const edges = new Map<string, Set<string>>();
  for (const found of importsIn(sourcesOf(name)).filter(({ specifier }) => isRelative(specifier))) {
    const [from, to] = [groupOf(found.file), groupOf(targetOf(found))];
    if (from !== to) edges.set(from, (edges.get(from) ?? new Set()).add(to));
  }
  return edges;
}

// The sources of a package's exports: ./dist/x.js is built from src/x.ts.
function entrySources(name: string, wanted: (entry: string) => boolean): string[] {
  return Object.entries(MANIFESTS.get(`@xfn/${name}`)?.exports ?? {})
    .filter(([entry]) => wanted(entry))
    .map(([, target]) => (typeof target === "string" ? target : (target.default ?? "")))
    .filter((path) => path.endsWith(".js"))
    .map((path) => join("packages", name, path.replace(/^\.\/dist\//, "src/").replace(/\.js$/, ".ts")));
}
