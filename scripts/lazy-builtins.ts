import { createRequire } from "node:module";
import type { Plugin } from "esbuild";

/** Modules of Node that take a millisecond or more to load. With http2, all of them load. */
const SLOW =
  /^(?:node:)?(?:child_process|crypto|dgram|dns|fs\/promises|http|http2|https|net|timers\/promises|tls|v8|vm|worker_threads|zlib)$/;

const requireOfModule = createRequire(import.meta.url);

/**
 * Loads a slow module of Node at the first use of one of its exports, instead of with the first module that imports it.
 * Only for bundles of CommonJS.
 */
export const lazyBuiltins: Plugin = {
  name: "lazy-builtins",
  setup(bundler) {
    bundler.onResolve({ filter: SLOW }, ({ path }) => ({
      path: path.replace(/^node:/, ""),
      namespace: "lazy-builtin",
    }));
    bundler.onLoad({ filter: /^/, namespace: "lazy-builtin" }, ({ path }) => {
      const names = Object.keys(requireOfModule(`node:${path}`) as object);
      return { contents: lazyModule(path, names), loader: "js" };
    });
  },
};

function lazyModule(path: string, names: readonly string[]): string {
  const place = JSON.stringify(`node:${path}`);
  return `let loaded;
for (const name of ${JSON.stringify(names)})
  Object.defineProperty(exports, name, {
    configurable: true,
    enumerable: true,
    get: () => (loaded ??= process.getBuiltinModule(${place}))[name],
  });`;
}
