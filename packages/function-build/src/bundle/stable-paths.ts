import { readFileSync } from "node:fs";
import { basename, dirname, extname, isAbsolute, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Loader, OnResolveArgs, OnResolveResult, Plugin } from "esbuild";

const NAMESPACE = "package";
/** What functions are written with; a folder without it gets the one that comes with xfn. */
export const SDK = "@xfn/functionio";
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

/** What is known of a module outside the folder; esbuild itself only sees its label. */
interface OutsideModule {
  readonly file: string;
}

/** Marks the plugin's own look-ups, which must not come back to it. */
const OWN_LOOKUP = "xfn-own-lookup";

/**
 * An esbuild plugin that makes a bundle independent of where things are installed. Bundles name the modules in them; for those
 * outside the function's folder esbuild would write paths relative to it. They get the name and version of their package.
 *
 * It also lets a folder that has no `@xfn/functionio` of its own use xfn's, and keeps out what the SDK itself imports only when it
 * needs it (its YAML reader): that becomes a file of its own, so that calls do not pay for it.
 *
 * @param dir - the function's folder, absolute
 * @param onLazyPart - told of each module that is kept out, with the file that is imported in its place
 * @param onModule - told of each module that is taken in
 */
export function stablePaths(
  dir: string,
  onLazyPart: (module: string, file: string) => void,
  onModule: (module: OnResolveResult) => void = () => undefined,
): Plugin {
  return {
    name: "xfn-stable-paths",
    setup(build) {
      const resolve = async (args: OnResolveArgs): Promise<OnResolveResult> => {
        const importer = (args.pluginData as OutsideModule | undefined)?.file ?? args.importer;
        const resolveDir = isAbsolute(importer) ? dirname(importer) : args.resolveDir;
        const { kind, path } = args;
        const found = await build.resolve(path, { kind, importer, resolveDir, pluginData: OWN_LOOKUP });
        if (found.errors.length > 0) {
          const sdk = ownSdk(path);
          return sdk === undefined ? { errors: found.errors, warnings: found.warnings } : outside(sdk, true);
        }
        if (kind === "dynamic-import" && labelOf(importer).startsWith(`${SDK}@`)) {
          const file = lazyFile(found.path);
          onLazyPart(found.path, file);
          return { path: `./${file}`, external: true };
        }
        if (found.external || found.namespace !== "file" || isInside(dir, found.path)) {
          return {
            path: found.path,
            namespace: found.namespace,
            external: found.external,
            sideEffects: found.sideEffects,
            suffix: found.suffix,
          };
        }
        return outside(found.path, found.sideEffects);
      };
      build.onResolve({ filter: /.*/ }, async (args): Promise<OnResolveResult | undefined> => {
        if (args.pluginData === OWN_LOOKUP) return undefined;
        const module = await resolve(args);
        if (module.external !== true && module.path !== undefined) onModule(module);
        return module;
      });
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, (args) => {
        const module = args.pluginData as OutsideModule;
        const { file } = module;
        const loader = LOADERS[extname(file)];
        if (loader === undefined)
          return { errors: [{ text: `${file} cannot be bundled: only code, JSON and text can` }] };
        // Its own source map would bring back the paths of where it was built.
        const contents = readFileSync(file, "utf8").replace(/^\/\/# sourceMappingURL=.*$/m, "");
        return { contents, loader, resolveDir: dirname(file), pluginData: module };
      });
    },
  };
}

function outside(file: string, sideEffects: boolean): OnResolveResult {
  return { path: labelOf(file), namespace: NAMESPACE, sideEffects, pluginData: { file } satisfies OutsideModule };
}

function ownSdk(path: string): string | undefined {
  if (path !== SDK && !path.startsWith(`${SDK}/`)) return undefined;
  try {
    return fileURLToPath(import.meta.resolve(path));
  } catch {
    return undefined;
  }
}

function lazyFile(module: string): string {
  return `lazy-${basename(module).replace(/\.[^.]+$/, "")}.cjs`;
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
    // A package.json without a name only sets the module type of a folder inside a package.
    if (name !== undefined) return { name, version: version ?? "0", folder };
    if (dirname(folder) === folder) return undefined;
  }
}

/**
 * The package that a bundled module is of, by the name that the bundle's metadata gives it. Undefined for the function's own
 * modules.
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
