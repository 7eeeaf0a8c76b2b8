// Bundles xfn-runner, packages/runner/dist/program/program.js, into program-bundle.cjs in the same folder. One file
// instead of 500: finding and reading modules was half of the processor time of a start. It is CommonJS, which loads a
// module of Node at its first use.
import { readFileSync } from "node:fs";
import { dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { bundledMeta, installedUndici, installedUrls } from "./bundle-plugins.ts";
import { lazyBuiltins } from "./lazy-builtins.ts";

/** These packages of gRPC read their .proto files at run time. */
const READERS = /[/\\]node_modules[/\\](grpc-health-check|@grpc[/\\]reflection)[/\\]build[/\\]src[/\\].*\.js$/;

/** Replaces `__dirname` by the folder of the module in its installed package. */
const installedProtos: Plugin = {
  name: "installed-protos",
  setup(bundler) {
    bundler.onLoad({ filter: READERS }, ({ path }) => {
      const name = READERS.exec(path)?.[1] ?? "";
      const main = `require("node:module").createRequire(metaResolve("@xfn/runner-grpc")).resolve("${name}")`;
      const sources = path.slice(0, path.indexOf("/build/src/") + "/build/src".length);
      const folder = JSON.stringify(relative(sources, dirname(path)));
      const place = `require("node:path").join(${main}, "..", ${folder})`;
      return { contents: readFileSync(path, "utf8").replaceAll("__dirname", place), loader: "js" };
    });
  },
};

await build({
  ...bundledMeta,
  absWorkingDir: fileURLToPath(new URL("../packages/runner/", import.meta.url)),
  entryPoints: ["dist/program/program.js"],
  outfile: "dist/program/program-bundle.cjs",
  bundle: true,
  format: "cjs",
  platform: "node",
  target: "node24",
  // V8 keeps the whole text in memory, and a text with any other character in twice the memory.
  minifyWhitespace: true,
  charset: "ascii",
  external: ["koffi"],
  plugins: [lazyBuiltins, installedUrls(), installedUndici, installedProtos],
  logLevel: "warning",
});
