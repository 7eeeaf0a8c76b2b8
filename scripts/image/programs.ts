// The programs in the images: bundles at the paths of their modules, below one folder. Modules find workers, programs
// and package.json by paths relative to themselves, as in an installation.
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { BuildEntry } from "@xfn/oci-rootfs";
import { type BuildOptions, build, type Plugin } from "esbuild";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** The folder in the image. */
const HOME = "/xfn";

const PROGRAMS: Readonly<Record<string, string>> = {
  "xfn-controller": "packages/controller/dist/program/main.js",
  "xfn-runner": "packages/runner/dist/program/main.js",
  xfn: "packages/cli/dist/main.js",
};

const WORKERS = [
  "packages/oci-rootfs/dist/store/prune-worker.js",
  "packages/oci-rootfs/dist/worker/worker.js",
  "packages/pipeline/dist/output/output-worker.js",
  "packages/runner/dist/host/flatten-worker.js",
];

/** Files of their own: processes, and what one feature loads. */
const SEPARATE = [
  "packages/program/dist/tracing/exporter-bundle.js",
  "packages/runner/dist/chroot-host/main.js",
  "packages/runner/dist/host/main-bundle.js",
  "packages/wasm/dist/guest/main.js",
];

/** Packages of gRPC that read .proto files in their own folder. */
const PROTO_READERS = ["grpc-health-check", "@grpc/reflection"];
/** Modules find these by `require`, which a bundler does not see. */
const INSTALLED = ["re2js", "koffi"];
/** Tools of development, which only some commands of xfn need. */
const ABSENT = ["@kubernetes/client-node", "esbuild", "typescript", "typescript/*", "vitest", "vitest/*"];

const placedModules: Plugin = {
  name: "placed-modules",
  setup(bundler) {
    bundler.onLoad({ filter: /[/\\]packages[/\\][^/\\]+[/\\]dist[/\\].*\.js$/ }, ({ path }) => {
      const url = JSON.stringify(`file://${HOME}/${relative(ROOT, path)}`);
      const contents = readFileSync(path, "utf8")
        .replaceAll('createRequire(import.meta.url)("./program-bundle.cjs")', 'import("./program.js")')
        .replaceAll(/import\.meta\.resolve\("@xfn\/[^"]*"\)|import\.meta\.url/g, url);
      return { contents, loader: "js" };
    });
    bundler.onLoad(
      { filter: new RegExp(`/node_modules/(?:${PROTO_READERS.join("|")})/build/src/.*\\.js$`) },
      ({ path }) => {
        const folder = JSON.stringify(`${HOME}/${dirname(relative(ROOT, path))}`);
        return { contents: readFileSync(path, "utf8").replaceAll("__dirname", folder), loader: "js" };
      },
    );
  },
};

const common = {
  absWorkingDir: ROOT,
  outbase: ".",
  outdir: ".",
  write: false,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node24",
  minifyWhitespace: true,
  charset: "ascii",
  legalComments: "none",
  metafile: true,
  external: [...INSTALLED, ...ABSENT],
  plugins: [placedModules],
  // CommonJS packages, such as gRPC's, load Node's modules with `require`.
  banner: { js: 'import{createRequire as requireOf}from"node:module";const require=requireOf(import.meta.url);' },
  logLevel: "warning",
} satisfies BuildOptions;

/** The files of all programs except native code. The same checkout gives the same bytes. */
export async function programEntries(version: string): Promise<BuildEntry[]> {
  const chunkNames = "packages/chunks/[name]-[hash]";
  const results = await Promise.all([
    build({ ...common, entryPoints: [...Object.values(PROGRAMS), ...WORKERS], splitting: true, chunkNames }),
    build({ ...common, entryPoints: SEPARATE }),
  ]);
  const entries = new Map<string, BuildEntry>();
  const add = (path: string, entry: { content: Uint8Array | string } | { source: string }, mode?: number): void => {
    entries.set(path, { path: `${HOME}/${path}`, mode, ...entry });
  };
  const programs = new Set(Object.values(PROGRAMS));
  for (const { outputFiles } of results)
    for (const { path, contents } of outputFiles) {
      const inside = relative(ROOT, path);
      if (!programs.has(inside)) add(inside, { content: contents });
      else
        add(
          inside,
          { content: Buffer.concat([Buffer.from("#!/usr/local/bin/node\n"), stripShebang(contents)]) },
          0o755,
        );
    }
  for (const [name, path] of Object.entries(PROGRAMS))
    entries.set(name, { path: `/usr/local/bin/${name}`, link: join(HOME, path) });
  for (const name of ["cli", "controller", "runner"])
    add(`packages/${name}/package.json`, { content: manifest(name, version) });
  for (const name of PROTO_READERS)
    for (const file of globSync("**/*.proto", { cwd: join(ROOT, "node_modules", name) }))
      add(`node_modules/${name}/${file}`, { source: join(ROOT, "node_modules", name, file) });
  for (const file of globSync(INSTALLED_FILES, { cwd: ROOT })) add(file, { source: join(ROOT, file) });
  add("LICENSE", { source: join(ROOT, "LICENSE") });
  const inputs = results.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  for (const folder of packageFolders(inputs))
    for (const file of licenses(folder))
      add(`licenses/${folder.replace("node_modules/", "")}/${file}`, { source: join(ROOT, folder, file) });
  return [...entries.values()];
}

const INSTALLED_FILES = [
  "node_modules/re2js/{package.json,LICENSE,build/index.cjs}",
  "node_modules/koffi/{package.json,LICENSE.txt,index.{cjs,js},src/koffi/**/*.{cjs,js}}",
];

function stripShebang(contents: Uint8Array): Uint8Array {
  return contents[0] === 0x23 ? contents.subarray(contents.indexOf(0x0a) + 1) : contents;
}

/** The fields that the programs read. */
function manifest(name: string, version: string): string {
  return `${JSON.stringify({ name: `@xfn/${name}`, version, license: "Apache-2.0", type: "module" }, undefined, 2)}\n`;
}

/** The packages of others in a bundle, such as `node_modules/@grpc/grpc-js`. */
function packageFolders(inputs: readonly string[]): string[] {
  const found = inputs.map((input) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? "");
  return [...new Set(found)].filter((folder) => existsSync(join(ROOT, folder, "package.json"))).toSorted();
}

function licenses(folder: string): string[] {
  return readdirSync(join(ROOT, folder)).filter((name) => /^(?:licen[cs]e|notice|copying)/i.test(basename(name)));
}
