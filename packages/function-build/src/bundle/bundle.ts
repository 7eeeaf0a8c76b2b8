import { realpathSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { InputError } from "@xfn/input";
import type { BuildFailure, BuildOptions, Message, Metafile, OnResolveResult } from "esbuild";
import { type BundledPackage, bundledPackages } from "./bundled-packages.ts";
import { MAPPED_STACKS, mappedStacks } from "./mapped-stacks.ts";
import {
  DEPENDENCIES_FILE,
  dependenciesEntry,
  dependenciesOf,
  dependencyModules,
  dependencyStubs,
  moduleName,
} from "./split-dependencies.ts";
import { GRPC_SERVER, stablePaths } from "./stable-paths.ts";

/** A bundled function: CommonJS files for one folder of the image. */
export interface Bundle {
  /** Files with the function's code, by name; {@link BUNDLE_FILE} is the entry. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Files that do not change with the function's code, by name. */
  readonly dependencies: ReadonlyMap<string, Uint8Array>;
  /** The packages in the bundle, by name and version. */
  readonly packages: readonly BundledPackage[];
  /** Warnings, one line each. */
  readonly warnings: readonly string[];
}

/** The entry. Its source map is in the same folder. */
export const BUNDLE_FILE = "index.cjs";

/** The name of the module that serves the function, in messages of the bundler. */
const ENTRY_NAME = "xfn-entry.js";

/**
 * Bundles a function with its imports, and a gRPC server for it. If the folder cannot resolve `@xfn/functionio`, xfn's
 * own is used. The same sources give the same bytes, wherever they and xfn are installed.
 *
 * @param folder - the function's folder
 * @param entry - the file with the default export, relative to `folder`
 * @throws InputError with `file:line:column` lines
 */
export async function bundle(folder: string, entry: string): Promise<Bundle> {
  const { build } = await import("esbuild");
  // esbuild resolves links. The files of a folder with a link to it would be outside of it.
  const dir = realpathSync(folder);
  const files = new Map<string, Uint8Array>();
  const dependencies = new Map<string, Uint8Array>();
  const metafiles: Metafile[] = [];
  const lazyParts = new Map<string, string>();
  const onLazyPart = (module: string, file: string): void => void lazyParts.set(file, module);
  const settings = settingsFor(dir);
  const modules = new Map<string, OnResolveResult>();
  const outside = new Set<string>();
  const stable = stablePaths(dir, {
    onLazyPart,
    onModule: (module) => void modules.set(moduleName(dir, module), module),
    onOutside: (file) => void outside.add(file),
  });
  try {
    const stdin = { contents: entryCode(entry), resolveDir: dir, sourcefile: ENTRY_NAME, loader: "js" } as const;
    const outfile = join(dir, BUNDLE_FILE);
    const own = { ...settings, stdin, outfile, sourcemap: "external" } as const;
    let main = await build({ ...own, plugins: [mappedStacks, stable] });
    metafiles.push(main.metafile);
    const apart = dependenciesOf(dir, main.metafile, modules);
    if (apart.size > 0) {
      const contents = dependenciesEntry(apart);
      const entry = { contents, resolveDir: dir, sourcefile: "xfn-dependencies.js", loader: "js" } as const;
      const dependencyFile = join(dir, DEPENDENCIES_FILE);
      const plugins = [dependencyModules(apart), stable];
      const other = await build({ ...settings, stdin: entry, outfile: dependencyFile, plugins });
      for (const { contents: code } of other.outputFiles) dependencies.set(DEPENDENCIES_FILE, code);
      metafiles.push(other.metafile);
      main = await build({ ...own, plugins: [mappedStacks, dependencyStubs(dir, apart), stable] });
    }
    for (const { path, contents } of main.outputFiles) files.set(basename(path), contents);
    // A lazy part may have lazy parts, so that the map grows during the loop.
    for (const [file, module] of lazyParts) {
      const part = await build({ ...settings, entryPoints: [module], outfile: join(dir, file), plugins: [stable] });
      for (const { contents } of part.outputFiles) dependencies.set(file, contents);
      metafiles.push(part.metafile);
    }
    const warnings = [
      ...[...outside].map(
        (file) => `${shownPath(dir, relative(dir, file))} is outside the function's folder, and goes into the image`,
      ),
      ...main.warnings.map((message) => describe(message, dir, entry)),
    ];
    return { files, dependencies: byName(dependencies), packages: bundledPackages(dir, metafiles), warnings };
  } catch (error) {
    const errors = (error as Partial<BuildFailure>).errors ?? [];
    if (errors.length === 0) throw error;
    throw new InputError(`${shownPath(dir, entry)} cannot be bundled`, {
      details: errors.map((message) => describe(message, dir, entry)),
      cause: error,
    });
  }
}

/** esbuild finds lazy parts in any order. */
function byName(files: ReadonlyMap<string, Uint8Array>): ReadonlyMap<string, Uint8Array> {
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function settingsFor(dir: string): BuildOptions & { write: false; metafile: true } {
  return {
    absWorkingDir: dir,
    write: false,
    metafile: true,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node24",
    charset: "utf8",
    legalComments: "none",
    sourcesContent: false,
    // Each call reads the bundle: 0.4 ms of 5. Names stay, and the source map has the lines.
    minifyWhitespace: true,
    logLevel: "silent",
    // `run(import.meta, fn)` must do nothing in a bundle, because the entry serves the function.
    logOverride: { "empty-import-meta": "silent" },
    define: { "import.meta.dirname": "__dirname", "import.meta.filename": "__filename" },
  };
}

function entryCode(entry: string): string {
  return [
    `import ${JSON.stringify(MAPPED_STACKS)};`,
    // Before any module of the function: this import reserves stdout for the protocol.
    'import { serve } from "@xfn/functionio/sdk/entry";',
    `import fn from ${JSON.stringify(`./${entry}`)};`,
    // Loaded only when flags ask for it.
    `serve(fn, () => import(${JSON.stringify(GRPC_SERVER)}));`,
  ].join("\n");
}

function describe({ location, text }: Message, dir: string, entry: string): string {
  if (location === null) return text;
  if (location.file === ENTRY_NAME && text.startsWith("No matching export"))
    return `${shownPath(dir, entry)}: has no default export: export default compose(...)`;
  const [, missing] = /^Could not resolve "([^"./][^"]*)"/.exec(text) ?? [];
  const hint =
    missing === undefined ? "" : `: run npm install ${packageName(missing)} in the folder of its package.json`;
  return `${shownPath(dir, location.file)}:${location.line}:${location.column + 1}: ${text}${hint}`;
}

/** A file of the function as the user sees it from the working directory. */
function shownPath(dir: string, file: string): string {
  const path = join(dir, file);
  const shown = relative(process.cwd(), path);
  return shown.length < path.length ? shown : path;
}

function packageName(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}
