// Bundles the command line into a few files of packages/cli/dist instead of 150: a short command spends most of its
// time on finding and reading modules. Modules that locate files relative to themselves are not bundled.
//
// xfn.js is the program, xfn-start.cjs its start, and xfn-program.js all commands. `xfn render` is one file of its own,
// xfn-render.cjs, because it is the command that people wait for. Both .cjs files are CommonJS, which loads a module of
// Node at its first use. An import in an ES module reads all exports at the start, which loads further modules.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Plugin } from "esbuild";
import { bundledMeta, installedUndici, installedUrls } from "./bundle-plugins.ts";
import { lazyBuiltins } from "./lazy-builtins.ts";

const CLI = fileURLToPath(new URL("../packages/cli/", import.meta.url));
const PACKAGES = fileURLToPath(new URL("../packages/", import.meta.url));
const RENDER_FILE = "xfn-render.cjs";

// CommonJS packages, such as gRPC's, load Node's modules with `require`, which a bundle of ES modules lacks.
const REQUIRE =
  'import { createRequire as requireOfModule } from "node:module"; const require = requireOfModule(import.meta.url);';

const common: BuildOptions & { alias: Record<string, string> } = {
  absWorkingDir: CLI,
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
    "xfn-program": "dist/program.js",
    // A worker, which its module finds in its own folder.
    "output-worker": fileURLToPath(new URL("../packages/pipeline/dist/output/output-worker.js", import.meta.url)),
  },
  outdir: "dist",
  chunkNames: "xfn-[hash]",
  splitting: true,
  format: "esm",
  external: ["@xfn/dev-cluster", "@xfn/function-build", "@xfn/kubernetes", "@xfn/oci-rootfs", "@xfn/runner"],
  banner: { js: REQUIRE },
  metafile: true,
});

/** The command line depends on @xfn/wasm through the runner alone. */
const THROUGH_RUNNER: ReadonlyMap<string, string> = new Map([
  [
    "wasm",
    'pathToFileURL(require("node:module").createRequire(import.meta.resolve("@xfn/runner")).resolve("@xfn/wasm"))',
  ],
]);

/** Large libraries that few renders need, each in a file of its own: gRPC for `--runner`. */
const OWN_FILES: ReadonlyMap<string, { readonly name: string; readonly user: string }> = new Map([
  ["@grpc/grpc-js", { name: "xfn-render-grpc", user: "runner-grpc" }],
]);

const ownFiles: Plugin = {
  name: "own-files",
  setup(bundler) {
    bundler.onResolve({ filter: /^@grpc\// }, ({ path }) => {
      const file = OWN_FILES.get(path);
      return file && { path: `./${file.name}.cjs`, external: true };
    });
  },
};

/** A module that `xfn render` leaves to an ES module of its own: the function that it exports, and the file. */
interface OwnModule {
  readonly path: string;
  readonly name: string;
  readonly file: string;
}

/**
 * @xfn/function-build needs the store of its own copy, and few renders need the schemas of other kinds. A file of its
 * own imports each module: code that runs from the cache of compiled code cannot import ES modules.
 */
const OWN_MODULES: readonly OwnModule[] = [
  { path: "build/folder-image.js", name: "buildFolderImage", file: "xfn-folder-image.cjs" },
  { path: "render/known-schemas.js", name: "knownSchemas", file: "xfn-known-schemas.cjs" },
];

/** Replaces modules by calls of the files with them. */
function apart(filter: RegExp, modules: readonly OwnModule[], contentsOf: (own: OwnModule) => string): Plugin {
  const namespace = `apart-${filter.source}`;
  return {
    name: namespace,
    setup(bundler) {
      bundler.onResolve({ filter: /^/, namespace }, ({ path }) => ({ path, external: true }));
      bundler.onResolve({ filter }, ({ path, kind }) => {
        return kind === "entry-point" ? undefined : { path: basename(path), namespace };
      });
      bundler.onLoad({ filter: /^/, namespace }, ({ path }) => {
        const own = modules.find((one) => basename(one.path) === path);
        if (own === undefined) throw new Error(`${path} is not a module of its own`);
        return { contents: contentsOf(own), loader: "js" };
      });
    },
  };
}

const ownModules = apart(/\/(?:folder-image|known-schemas)\.js$/, OWN_MODULES, ({ name, file }) => {
  return `exports.${name} = async (...given) => (await require("./${file}").load()).${name}(...given);`;
});

/**
 * Modules with the evaluator of CEL, which few renders need. Each has a file of its own, which a call of its function
 * loads. Unlike ES modules, it can be loaded synchronously: a step's `when` is compiled as its Composition is parsed.
 */
const OWN_BUNDLES: readonly OwnModule[] = [
  { path: "../composition/dist/schema/cel/guard.js", name: "compileGuard", file: "xfn-render-guard.cjs" },
  { path: "dist/render/definition-file.js", name: "applyDefinition", file: "xfn-render-definition.cjs" },
];

const ownBundles = apart(/\/(?:cel\/guard|definition-file)\.js$/, OWN_BUNDLES, ({ name, file }) => {
  return `exports.${name} = (...given) => require("./${file}").${name}(...given);`;
});

const commonJs: BuildOptions = {
  ...common,
  format: "cjs",
  // Node reads the whole file at each start.
  minifyWhitespace: true,
  // V8 keeps a text with any other character in twice the memory.
  charset: "ascii",
};

for (const [library, { name, user }] of OWN_FILES) {
  const stdin = { contents: `module.exports = require("${library}");`, resolveDir: join(PACKAGES, user) };
  await build({ ...commonJs, stdin, outfile: `dist/${name}.cjs`, plugins: [lazyBuiltins] });
}

const programOptions: BuildOptions = {
  ...bundledMeta,
  define: { ...bundledMeta.define, RENDER_FILE: JSON.stringify(`./${RENDER_FILE}`) },
};

const renderPlugins = [lazyBuiltins, ownFiles, installedUrls(THROUGH_RUNNER), installedUndici];
const external = ["@xfn/dev-cluster", "@xfn/function-build", "@xfn/kubernetes", "koffi"];

await build({
  ...commonJs,
  ...programOptions,
  entryPoints: ["dist/render-program.js"],
  outfile: `dist/${RENDER_FILE}`,
  plugins: [...renderPlugins, ownModules, ownBundles],
  external,
});

for (const { path, file } of OWN_BUNDLES)
  await build({
    ...commonJs,
    ...programOptions,
    entryPoints: [path],
    outfile: `dist/${file}`,
    plugins: renderPlugins,
    external,
  });

if (/\bimport\(/.test(readFileSync(join(CLI, "dist", RENDER_FILE), "utf8")))
  throw new Error(`${RENDER_FILE} cannot import ES modules: leave the import to one of OWN_MODULES`);

/** Leaves all other commands to their bundle of ES modules. */
const allCommands: Plugin = {
  name: "all-commands",
  setup(bundler) {
    bundler.onResolve({ filter: /^\.\/program\.js$/ }, () => ({ path: "./xfn-program.js", external: true }));
  },
};

await build({
  ...commonJs,
  ...programOptions,
  entryPoints: ["dist/main.js"],
  outfile: "dist/xfn-start.cjs",
  plugins: [lazyBuiltins, allCommands],
});

for (const { path, file } of OWN_MODULES)
  writeFileSync(join(CLI, "dist", file), `exports.load = () => import("./${path}");\n`);

writeFileSync(
  join(CLI, "dist/xfn.js"),
  `#!/usr/bin/env node
import { createRequire } from "node:module";

createRequire(import.meta.url)("./xfn-start.cjs");
`,
  { mode: 0o755 },
);

// Remove the chunks of earlier builds last: a running command may still load them.
for (const name of readdirSync(join(CLI, "dist"))) {
  if (/^xfn-\w+\.js$/.test(name) && !Object.hasOwn(metafile.outputs, `dist/${name}`)) rmSync(join(CLI, "dist", name));
}
