// Plugins for bundles of CommonJS whose modules find files of their packages.
import { readFileSync } from "node:fs";
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { BuildOptions, Plugin } from "esbuild";

const PACKAGES = fileURLToPath(new URL("../packages/", import.meta.url));

/** Options that replace `import.meta`, which CommonJS lacks. The plugins below need them. */
export const bundledMeta = {
  define: { "import.meta.url": "metaUrl", "import.meta.resolve": "metaResolve" },
  banner: {
    js: `const { pathToFileURL } = require("node:url");
const metaUrl = pathToFileURL(__filename).href;
const metaResolve = (name) => pathToFileURL(require.resolve(name)).href;`,
  },
} satisfies BuildOptions;

/** Modules of these packages find workers and programs by paths relative to themselves. */
const LOCATED = /[/\\]packages[/\\](?:runner|oci-rootfs|program|wasm)[/\\]dist[/\\].*\.js$/;

/**
 * Replaces `import.meta.url` by the URL of the module in its installed package.
 *
 * @param bases - code that finds packages on which the bundle's own package does not depend itself
 */
export function installedUrls(bases: ReadonlyMap<string, string> = new Map()): Plugin {
  return {
    name: "installed-urls",
    setup(bundler) {
      bundler.onLoad({ filter: LOCATED }, ({ path }) => {
        const [name = "", , ...inDist] = relative(PACKAGES, path).split(sep);
        const base = bases.get(name) ?? `import.meta.resolve("@xfn/${name}")`;
        const url = `new URL(${JSON.stringify(inDist.join("/"))}, ${base}).href`;
        return { contents: readFileSync(path, "utf8").replaceAll("import.meta.url", url), loader: "js" };
      });
    },
  };
}

/** Leaves a library of a third of the file in its package: only pulls need it. */
export const installedUndici: Plugin = {
  name: "installed-undici",
  setup(bundler) {
    bundler.onResolve({ filter: /^undici$/ }, () => ({ path: "undici", namespace: "installed" }));
    bundler.onLoad({ filter: /^undici$/, namespace: "installed" }, () => ({
      contents: 'module.exports = require("node:module").createRequire(metaResolve("@xfn/oci-rootfs"))("undici");',
      loader: "js",
    }));
  },
};
