import type { Metafile } from "esbuild";
import { isOfSdk, packageOfModule } from "./stable-paths.ts";

/** An npm package, as its package.json describes it. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** Whether this is the SDK, or only the SDK imports it. For a folder without the SDK, both come from xfn. */
  readonly ofSdk: boolean;
}

/**
 * Lists the packages with code in the bundles, after tree shaking, by name and version.
 *
 * @param dir - the function's folder, absolute
 */
export function bundledPackages(dir: string, metafiles: readonly Metafile[]): readonly BundledPackage[] {
  const packages = new Map<string, BundledPackage>();
  for (const metafile of metafiles) {
    const own = reachedWithoutSdk(dir, metafile);
    for (const output of Object.values(metafile.outputs)) {
      for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
        const found = bytesInOutput === 0 ? undefined : packageOfModule(dir, input);
        if (found === undefined) continue;
        const key = `${found.name}@${found.version}`;
        packages.set(key, { ...found, ofSdk: !own.has(input) && (packages.get(key)?.ofSdk ?? true) });
      }
    }
  }
  return [...packages].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, found]) => found);
}

function reachedWithoutSdk(dir: string, { inputs }: Metafile): ReadonlySet<string> {
  // The function's own modules. Bundles of the SDK's lazy parts have none.
  const reached = new Set(Object.keys(inputs).filter((input) => packageOfModule(dir, input) === undefined));
  for (const input of reached) {
    for (const { path, external } of inputs[input]?.imports ?? []) {
      if (external !== true && !isOfSdk(packageOfModule(dir, path)?.name)) reached.add(path);
    }
  }
  return reached;
}
