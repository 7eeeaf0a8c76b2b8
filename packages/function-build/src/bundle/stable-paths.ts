import { readFileSync, realpathSync } from "node:fs";
import { basename, dirname, extname, isAbsolute, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Loader, OnResolveArgs, OnResolveResult, Plugin } from "esbuild";
import { requirePlainFile } from "../files/plain-files.ts";

const NAMESPACE = "package";
const SDK = "@xfn/functionio";
/** The packages that a folder without them gets from xfn. */
const OWN_PACKAGES: readonly string[] = [SDK, "@xfn/json"];
/** The server of functions that are called over gRPC. */
export const GRPC_SERVER = "@xfn/function-grpc/serve";
const LOADERS: Readonly<Record<string, Loader>> = {
  ".js": "js",
  ".cjs": "js",
  ".mjs": "js",
  ".json": "json",
  ".ts": "ts",
  ".cts": "ts",
  ".mts": "ts",
  ".txt": "text",
};

/** The file of a module outside the folder; esbuild only sees its label. */
interface OutsideModule {
  readonly file: string;
}

/** Calls for what {@link stablePaths} finds. */
interface Resolved {
  /** For each dynamic import of the SDK, with the file that replaces it. */
  readonly onLazyPart: (module: string, file: string) => void;
  /** For each bundled module. */
  readonly onModule?: (module: OnResolveResult) => void;
  /** For each file outside the folder that the function's own code imports, unless it imports a package by its name. */
  readonly onOutside?: (file: string) => void;
}

/** Marks the plugin's own look-ups, which it must not handle again. */
const OWN_LOOKUP = "xfn-own-lookup";

/**
 * An esbuild plugin that makes a bundle independent of installation paths. esbuild writes the path of each module into
 * the bundle, relative to the function's folder; modules outside the folder get the name and version of their package
 * instead.
 *
 * The plugin also resolves `@xfn/functionio` and `@xfn/json` to xfn's own for a folder without them. Dynamic imports of
 * the SDK (its YAML reader) and of the gRPC server become separate files, so that calls do not load them.
 *
 * @param dir - the function's folder, absolute and without links
 */
export function stablePaths(dir: string, { onLazyPart, onModule, onOutside }: Resolved): Plugin {
  return {
    name: "xfn-stable-paths",
    setup(build) {
      /** The files of the folder that are imported by their names. */
      const named = new Set<string>();
      const resolve = async (args: OnResolveArgs): Promise<OnResolveResult> => {
        const importer = (args.pluginData as OutsideModule | undefined)?.file ?? args.importer;
        const resolveDir = isAbsolute(importer) ? dirname(importer) : args.resolveDir;
        const { kind, path } = args;
        const found = await build.resolve(path, { kind, importer, resolveDir, pluginData: OWN_LOOKUP });
        const own = found.errors.length > 0 ? ownModule(path) : undefined;
        if (found.errors.length > 0 && own === undefined) return { errors: found.errors, warnings: found.warnings };
        if (kind === "dynamic-import" && (path === GRPC_SERVER || labelOf(importer).startsWith(`${SDK}@`))) {
          const module = own ?? found.path;
          const file = lazyFile(module);
          onLazyPart(module, file);
          return { path: `./${file}`, external: true };
        }
        if (own !== undefined) return outside(own, true);
        // An import can leave the folder, whose files were checked.
        if (found.namespace === "file" && !found.external) requirePlainFile(found.path);
        if (found.external || found.namespace !== "file" || isInside(dir, found.path)) {
          named.add(found.path);
          return {
            path: found.path,
            namespace: found.namespace,
            external: found.external,
            sideEffects: found.sideEffects,
            suffix: found.suffix,
          };
        }
        if (kind !== "entry-point" && !isPackage(path, found.path)) {
          if (isHidden(relative(resolveDir, found.path))) {
            const text = `${found.path} is hidden and outside the function's folder, so it is not bundled; copy it into the folder if it must be in the image`;
            return { errors: [{ text }] };
          }
          // Only a link leads from a name in the folder to a file outside.
          if (isInside(dir, resolveDir) && isRelative(path) && isInside(dir, join(resolveDir, path))) {
            const text = `${join(resolveDir, path)} is a link out of the function's folder to ${found.path}; copy the file into the folder if it must be in the image`;
            return { errors: [{ text }] };
          }
          if (isInside(dir, resolveDir)) onOutside?.(found.path);
        }
        return outside(found.path, found.sideEffects);
      };
      build.onResolve({ filter: /.*/ }, async (args): Promise<OnResolveResult | undefined> => {
        if (args.pluginData === OWN_LOOKUP) return undefined;
        const module = await resolve(args);
        if (module.external !== true && module.path !== undefined) onModule?.(module);
        return module;
      });
      // esbuild expands a pattern, such as import(`./${name}.json`), to files without a call of onResolve.
      build.onLoad({ filter: /.*/, namespace: "file" }, ({ path }) => {
        if (named.has(path)) return undefined;
        const file = realpathSync(path);
        if (file.includes("/node_modules/")) return undefined;
        if (isInside(dir, file)) {
          requirePlainFile(file);
          const inside = relative(dir, path);
          if (!isHidden(inside) && !isHidden(relative(dir, file))) return undefined;
          return {
            contents: `throw new Error(${JSON.stringify(`${inside} is hidden, and not in the image`)});`,
            loader: "js",
          };
        }
        const text = `${path} is outside the function's folder, and a pattern imports it, so it is not bundled; import it by its name`;
        return { errors: [{ text }] };
      });
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, (args) => {
        const module = args.pluginData as OutsideModule;
        const { file } = module;
        const loader = LOADERS[extname(file)];
        if (loader === undefined)
          return { errors: [{ text: `${file} cannot be bundled: only code, JSON and text can` }] };
        // Its source map would add the paths of its own build.
        const contents = readFileSync(file, "utf8").replace(/^\/\/# sourceMappingURL=.*$/m, "");
        return { contents, loader, resolveDir: dirname(file), pluginData: module };
      });
    },
  };
}

function outside(file: string, sideEffects: boolean): OnResolveResult {
  return { path: labelOf(file), namespace: NAMESPACE, sideEffects, pluginData: { file } satisfies OutsideModule };
}

/** Whether a package is the SDK, or the part of it that functions may import too. */
export function isOfSdk(name: string | undefined): boolean {
  return name !== undefined && OWN_PACKAGES.includes(name);
}

/** xfn's own module, for a folder without it. */
function ownModule(path: string): string | undefined {
  if (path === GRPC_SERVER) return fileURLToPath(import.meta.resolve("@xfn/function-grpc/serve"));
  if (!OWN_PACKAGES.some((name) => path === name || path.startsWith(`${name}/`))) return undefined;
  try {
    return fileURLToPath(import.meta.resolve(path));
  } catch {
    return undefined;
  }
}

/** Whether a file is part of the package that a specifier names. */
function isPackage(specifier: string, file: string): boolean {
  const name = packageOf(file)?.name;
  return file.includes("/node_modules/") || (name !== undefined && `${specifier}/`.startsWith(`${name}/`));
}

function lazyFile(module: string): string {
  return `lazy-${basename(module).replace(/\.[^.]+$/, "")}.cjs`;
}

function isRelative(specifier: string): boolean {
  return specifier.startsWith("./") || specifier.startsWith("../");
}

/** Whether a file or a folder on the way to it has a name with a dot first, as those with credentials have. */
function isHidden(path: string): boolean {
  return path.split(sep).some((name) => name.startsWith(".") && name !== "..");
}

function isInside(dir: string, path: string): boolean {
  const inside = relative(dir, path);
  return inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

/** `name@version/path` of the package that a file belongs to. */
function labelOf(file: string): string {
  const found = packageOf(file);
  return found === undefined
    ? file
    : `${found.name}@${found.version}/${relative(found.folder, file).split(sep).join("/")}`;
}

function packageOf(file: string): { name: string; version: string; folder: string } | undefined {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const { name, version } = readPackage(join(folder, "package.json"));
    // A package.json without a name only sets the module type of a folder.
    if (name !== undefined) return { name, version: version ?? "0", folder };
    if (dirname(folder) === folder) return undefined;
  }
}

/**
 * The package of a bundled module, by its name in esbuild's metadata. Undefined for the function's own modules.
 *
 * @param dir - the function's folder, absolute
 */
export function packageOfModule(dir: string, input: string): { name: string; version: string } | undefined {
  if (input.startsWith(`${NAMESPACE}:`)) {
    const [, name, version] = /^((?:@[^/@]+\/)?[^/@]+)@([^/]+)\//.exec(input.slice(NAMESPACE.length + 1)) ?? [];
    return name === undefined || version === undefined ? undefined : { name, version };
  }
  if (!/(?:^|\/)node_modules\//.test(input)) return undefined;
  const found = packageOf(join(dir, input));
  return found === undefined ? undefined : { name: found.name, version: found.version };
}

function readPackage(path: string): { readonly name?: string; readonly version?: string } {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as { name?: string; version?: string };
  } catch {
    return {};
  }
}
