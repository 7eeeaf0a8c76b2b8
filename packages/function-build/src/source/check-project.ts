import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isObject } from "@xfn/json";
import { readSettings } from "../files/typescript-settings.ts";

/** The settings by which a function is strict, if its folder has no others. */
const STRICT = { strict: true } as const;

/**
 * Settings that the bundler and Node decide. The folder's own settings may be for another compiler or target. null
 * removes a setting, because TypeScript 7 rejects some.
 */
const DECIDED = {
  target: "esnext",
  module: "preserve",
  moduleResolution: "bundler",
  moduleDetection: "force",
  lib: ["esnext"],
  resolveJsonModule: true,
  esModuleInterop: true,
  allowSyntheticDefaultImports: true,
  alwaysStrict: true,
  allowJs: true,
  skipLibCheck: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  composite: false,
  incremental: false,
  declaration: false,
  declarationMap: false,
  emitDeclarationOnly: false,
  isolatedDeclarations: false,
  baseUrl: null,
  outDir: null,
  outFile: null,
  declarationDir: null,
  tsBuildInfoFile: null,
  downlevelIteration: null,
  ignoreDeprecations: null,
  plugins: null,
  rootDirs: null,
} as const;

/** A tsconfig.json. */
export interface CheckProject {
  readonly extends?: string;
  readonly compilerOptions: object;
  readonly include: readonly string[];
  readonly files: readonly string[];
}

/**
 * A project of a function's entry and its imports. Tests in the same folder are not checked.
 *
 * @param own - the folder's settings to extend; undefined for `strict`
 */
export function checkProject(dir: string, entry: string, own: string | undefined): CheckProject {
  const paths = { ...folderPaths(dir), ...ownPaths(dir) };
  return {
    ...(own === undefined ? {} : { extends: own }),
    compilerOptions: {
      ...(own === undefined ? STRICT : {}),
      ...DECIDED,
      types: typeRoots(dir).some((root) => existsSync(join(root, "node"))) ? ["node"] : [],
      // The default is relative to this project, which is in a temporary folder.
      typeRoots: typeRoots(dir),
      rootDir: "/",
      paths: Object.keys(paths).length === 0 ? null : paths,
    },
    // Overrides the `include` of the folder's settings.
    include: [],
    files: [join(dir, entry)],
  };
}

function typeRoots(dir: string): string[] {
  const folders = [dir, dirname(fileURLToPath(import.meta.url))];
  return folders
    .flatMap(ancestors)
    .map((folder) => join(folder, "node_modules", "@types"))
    .filter(existsSync);
}

function ancestors(folder: string): string[] {
  return dirname(folder) === folder ? [folder] : [folder, ...ancestors(dirname(folder))];
}

/** The aliases of the folder's settings, which the bundler resolves too. */
function folderPaths(dir: string): Record<string, string[]> {
  const { compilerOptions } = readSettings(join(dir, "tsconfig.json"));
  const { baseUrl, paths } = isObject(compilerOptions) ? compilerOptions : {};
  const base = resolve(dir, typeof baseUrl === "string" ? baseUrl : ".");
  const found: Record<string, string[]> = typeof baseUrl === "string" ? { "*": [join(base, "*")] } : {};
  for (const [alias, targets] of Object.entries(isObject(paths) ? paths : {}))
    if (Array.isArray(targets))
      found[alias] = targets.filter((target) => typeof target === "string").map((target) => resolve(base, target));
  return found;
}

/** Paths of xfn's own packages, for a folder without them. */
function ownPaths(dir: string): Record<string, string[]> {
  const [sdk, json] = [import.meta.resolve("@xfn/functionio"), import.meta.resolve("@xfn/json")];
  return { ...typesOf(dir, fileURLToPath(sdk)), ...typesOf(dir, fileURLToPath(json)) };
}

function typesOf(dir: string, entry: string): Record<string, string[]> {
  const root = dirname(dirname(entry));
  const { name, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    name: string;
    exports: Record<string, { types: string } | string>;
  };
  if (isInstalled(dir, name)) return {};
  return Object.fromEntries(
    Object.entries(exports).flatMap(([subpath, target]) =>
      // Others are files without types, such as JSON Schema.
      typeof target === "string" ? [] : [[join(name, subpath), [join(root, target.types)]]],
    ),
  );
}

// Checks the file, because the package exports neither its package.json nor an entry for `require`.
function isInstalled(dir: string, name: string): boolean {
  return ancestors(dir).some((folder) => existsSync(join(folder, "node_modules", name, "package.json")));
}
