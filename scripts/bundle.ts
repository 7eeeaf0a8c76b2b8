// Bundles packages/cli/dist/main.js and its imports into packages/cli/dist/xfn.js: a few files instead of 150, because
// a short command spends most of its time on finding and reading modules. Modules that locate files beside them are not
// bundled.
//
// `xfn render` is one file of its own, because it is the command that people wait for: dist/xfn-render.cjs. In one
// file of ES modules, Node loads every built-in module at the start. CommonJS loads each with the first module that
// needs it.
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Plugin } from "esbuild";

const CLI = fileURLToPath(new URL("../packages/cli/", import.meta.url));
const PACKAGES = fileURLToPath(new URL("../packages/", import.meta.url));
const RENDER_FILE = "xfn-render.cjs";

// CommonJS packages, such as gRPC's, load Node's modules with `require`, which a bundle of ES modules lacks.
const REQUIRE =
  'import { createRequire as requireOfModule } from "node:module"; const require = requireOfModule(import.meta.url);';

const common: BuildOptions & { alias: Record<string, string> } = {
  absWorkingDir: CLI,
  outdir: "dist",
  bundle: true,
  platform: "node",
  target: "node24",
  alias: {
    // Loaded first, and small.
    "@xfn/runner/cache-dir": fileURLToPath(new URL("../packages/runner/dist/cache-dir.js", import.meta.url)),
    // npm may install a copy for each package; the bundle needs one.
    commander: createRequire(join(CLI, "package.json")).resolve("commander"),
  },
  logLevel: "warning",
};

const { metafile } = await build({
  ...common,
  entryPoints: {
    xfn: "dist/main.js",
    // A worker, which its module finds beside itself.
    "output-worker": fileURLToPath(new URL("../packages/pipeline/dist/output/output-worker.js", import.meta.url)),
  },
  chunkNames: "xfn-[hash]",
  splitting: true,
  format: "esm",
  define: { RENDER_FILE: JSON.stringify(`./${RENDER_FILE}`) },
  external: ["@xfn/dev-cluster", "@xfn/function-build", "@xfn/kubernetes", "@xfn/oci-rootfs", "@xfn/runner"],
  banner: { js: REQUIRE },
  metafile: true,
});

/** Modules of these packages find workers and programs beside themselves. */
const LOCATED = /[/\\]packages[/\\](?:runner|oci-rootfs)[/\\]dist[/\\].*\.js$/;

/** Replaces `import.meta.url` by the place of the module in its installed package. */
const installedPlaces: Plugin = {
  name: "installed-places",
  setup(bundler) {
    bundler.onLoad({ filter: LOCATED }, ({ path }) => {
      const [name = "", , ...inDist] = relative(PACKAGES, path).split(sep);
      const place = `new URL(${JSON.stringify(inDist.join("/"))}, import.meta.resolve("@xfn/${name}")).href`;
      return { contents: readFileSync(path, "utf8").replaceAll("import.meta.url", place), loader: "js" };
    });
  },
};

/** Leaves a library of a third of the file in its package: only pulls need it. */
const installedUndici: Plugin = {
  name: "installed-undici",
  setup(bundler) {
    bundler.onResolve({ filter: /^undici$/ }, () => ({ path: "undici", namespace: "installed" }));
    bundler.onLoad({ filter: /^undici$/, namespace: "installed" }, () => ({
      contents: 'module.exports = require("node:module").createRequire(metaResolve("@xfn/oci-rootfs"))("undici");',
      loader: "js",
    }));
  },
};

/** Leaves the build of a folder to its own module, because @xfn/function-build needs the store of its own copy. */
const folderBuilds: Plugin = {
  name: "folder-builds",
  setup(bundler) {
    bundler.onResolve({ filter: /\/build\/folder-image\.js$/ }, () => ({
      path: "./build/folder-image.js",
      external: true,
    }));
  },
};

await build({
  ...common,
  entryPoints: { "xfn-render": "dist/program.js" },
  outExtension: { ".js": ".cjs" },
  format: "cjs",
  // Node reads the whole file at each start.
  minifyWhitespace: true,
  // V8 keeps a text with any other character in twice the memory.
  charset: "ascii",
  define: { "import.meta.url": "metaUrl", "import.meta.resolve": "metaResolve" },
  banner: {
    js: `const { pathToFileURL } = require("node:url");
const metaUrl = pathToFileURL(__filename).href;
const metaResolve = (name) => pathToFileURL(require.resolve(name)).href;`,
  },
  plugins: [installedPlaces, installedUndici, folderBuilds],
  external: ["@xfn/dev-cluster", "@xfn/function-build", "@xfn/kubernetes", "koffi"],
});

// Remove the chunks of earlier builds last: a running command may still load them.
for (const name of readdirSync(join(CLI, "dist"))) {
  if (/^xfn-\w+\.js$/.test(name) && !Object.hasOwn(metafile.outputs, `dist/${name}`)) rmSync(join(CLI, "dist", name));
}
