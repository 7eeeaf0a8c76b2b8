import { relative, sep } from "node:path";
import type { Metafile, OnLoadResult, OnResolveResult, Plugin } from "esbuild";
import { isOfSdk, packageOfModule } from "./stable-paths.ts";

/** The file with a function's dependencies, if they have a file of their own. */
export const DEPENDENCIES_FILE = "dependencies.cjs";

/**
 * Smaller dependencies stay with the code: each call would load one more file, which costs more than another upload.
 */
const MIN_SPLIT_BYTES = 256 * 1024;

/** A module of a package that the function's own code imports. */
interface Dependency {
  readonly format: "cjs" | "esm";
  readonly resolved: OnResolveResult;
}

/** The dependencies of a function, by their names in esbuild's metadata. */
export type Dependencies = ReadonlyMap<string, Dependency>;

/** The name of a module in esbuild's metadata. */
export function moduleName(dir: string, { namespace = "file", path = "" }: OnResolveResult): string {
  return namespace === "file" ? relative(dir, path).split(sep).join("/") : `${namespace}:${path}`;
}

/**
 * The modules of packages that a function's own code imports, if they are worth a file of their own. None if a package
 * imports the SDK: both files would have one, each with a state of its own.
 *
 * @param dir - the function's folder, absolute
 * @param modules - how each module was resolved
 */
export function dependenciesOf(
  dir: string,
  { inputs, outputs }: Metafile,
  modules: ReadonlyMap<string, OnResolveResult>,
): Dependencies {
  const isOwn = (input: string): boolean => packageOfModule(dir, input) === undefined;
  const isOthers = (input: string): boolean => {
    const name = packageOfModule(dir, input)?.name;
    return name !== undefined && !isOfSdk(name);
  };
  const found = new Map<string, Dependency>();
  const reached = new Set<string>();
  for (const input of Object.keys(inputs).filter(isOwn).toSorted()) {
    for (const { path } of inputs[input]?.imports ?? []) {
      const { format } = inputs[path] ?? {};
      const resolved = modules.get(path);
      if (!isOthers(path) || format === undefined || resolved === undefined) continue;
      found.set(path, { format, resolved });
      reached.add(path);
    }
  }
  for (const input of reached)
    for (const { path } of inputs[input]?.imports ?? []) if (path in inputs) reached.add(path);
  const importsSdk = [...reached].some((input) => isOfSdk(packageOfModule(dir, input)?.name));
  const bytes = Object.values(outputs)
    .flatMap((output) => Object.entries(output.inputs))
    .reduce((sum, [input, { bytesInOutput }]) => sum + (reached.has(input) ? bytesInOutput : 0), 0);
  if (importsSdk || bytes < MIN_SPLIT_BYTES) return new Map();
  return new Map([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const STUB = "dependency-stub";
const LOADED = "dependency-loaded";
/** Hides the extension from esbuild, which parses every `.mjs` as a module. */
const NO_ENDING = "#";
/** Marks the plugin's own look-ups, which it must not handle again. */
const OWN_LOOKUP = { stub: true };

/**
 * An esbuild plugin for the function's own code: it loads each dependency from {@link DEPENDENCIES_FILE} when the
 * import is evaluated. Must come before the plugin that resolves.
 */
export function dependencyStubs(dir: string, dependencies: Dependencies): Plugin {
  return {
    name: "xfn-dependency-stubs",
    setup(build) {
      build.onResolve({ filter: /.*/ }, async ({ path, kind, importer, namespace, resolveDir, pluginData }) => {
        if (namespace === LOADED) return { path: `./${DEPENDENCIES_FILE}`, external: true };
        if (namespace === STUB) return { path, namespace: LOADED };
        // Modules of packages have plugin data; the function's own have none.
        if (pluginData !== undefined) return undefined;
        const found = await build.resolve(path, { kind, importer, namespace, resolveDir, pluginData: OWN_LOOKUP });
        if (found.errors.length > 0 || found.external) return undefined;
        const name = moduleName(dir, found);
        if (!dependencies.has(name) || packageOfModule(dir, relative(dir, importer)) !== undefined) return undefined;
        return { path: name + NO_ENDING, namespace: STUB, sideEffects: found.sideEffects };
      });
      build.onLoad({ filter: /.*/, namespace: STUB }, ({ path }): OnLoadResult => {
        const name = JSON.stringify(path);
        // A stub module between them, so that `default` does not depend on the format of the importing file.
        const isEsm = dependencies.get(path.slice(0, -NO_ENDING.length))?.format === "esm";
        const code = isEsm
          ? `export * from ${name}; export { default } from ${name};`
          : `module.exports = require(${name});`;
        return { contents: code, loader: "js" };
      });
      build.onLoad({ filter: /.*/, namespace: LOADED }, ({ path }): OnLoadResult => {
        const name = JSON.stringify(path.slice(0, -NO_ENDING.length));
        return { contents: `module.exports = require("./${DEPENDENCIES_FILE}")[${name}]();`, loader: "js" };
      });
    },
  };
}

const PREFIX = "dependency:";

/** The entry of {@link DEPENDENCIES_FILE}. It evaluates each module at its first use, as a single bundle would. */
export function dependenciesEntry(dependencies: Dependencies): string {
  return [...dependencies.keys()]
    .map((name) => `exports[${JSON.stringify(name)}] = () => require(${JSON.stringify(PREFIX + name)});`)
    .join("\n");
}

/** An esbuild plugin for that entry. Must come before the plugin that resolves. */
export function dependencyModules(dependencies: Dependencies): Plugin {
  return {
    name: "xfn-dependency-modules",
    setup(build) {
      build.onResolve({ filter: /^dependency:/ }, ({ path }) => dependencies.get(path.slice(PREFIX.length))?.resolved);
    },
  };
}
