import {
  optional,
  pullPolicy,
  required,
  type SettingsOf,
  STORE_SETTINGS,
  settings,
  text,
  texts,
  toggle,
} from "@xfn/program/settings";
import type { BuildFlags } from "../build/build-command.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";
import { REGISTRY_SETTINGS } from "./shared-settings.ts";

const SETTINGS: SettingsOf<BuildFlags> = settings({
  tag: required("<name>", "name of the image", { short: "t" }),
  output: text("<layout>", "write an OCI layout, oci:DIR or oci:DIR:TAG, instead of the local store", { short: "o" }),
  base: text("<image>", "the base image: a name in the store, a registry reference, or oci:DIR"),
  platform: texts("<list>", "OS/ARCHITECTURE, or several: an index of one image each", { shown: "this machine's" }),
  label: texts("<key=value>", "add a label"),
  annotation: texts("<key=value>", "add an annotation to the manifest and the index"),
  sbom: toggle("add an SBOM of the packages in the bundle: /sbom.spdx.json, from package-lock.json"),
  entrypoint: text("<file>", "the file to run or to bundle, relative to DIR"),
  noCheck: toggle("do not check TypeScript types"),
  pull: optional("<policy>", "when the base is pulled: IfNotPresent, Always or Never", pullPolicy, {
    shown: "IfNotPresent",
  }),
  registry: STORE_SETTINGS.registry,
  cacheDir: STORE_SETTINGS.cacheDir,
  ...REGISTRY_SETTINGS,
});

const HELP = `
DIR (default: .) is a function in TypeScript or JavaScript - a file with a default export made by compose() - or any folder with an
executable, or the source of a WebAssembly module. The entry is --entrypoint, else an executable file named function, else the "exports" or "main" of package.json, else
function.ts, src/function.ts, index.ts, src/index.ts, function.js, index.js, function.mjs or function.cjs, else the only executable file.

Without --base, the base image is made from this machine: Node, Python, a shell with its tools, or the shared libraries of the
program. A static program needs none of them. node_modules, tests and hidden files such as .env are left out, and what .dockerignore
lists, or, if there is none, .gitignore, also of outer folders in a git work tree. !NAME in .dockerignore includes a hidden file.
The same input gives the same digest. The build runs no code of DIR.
A .wasm file, or a folder with go.mod and no entry, becomes the image of one WebAssembly module, for steps of type Wasm. --platform
wasip1/wasm compiles any folder with go.mod, Cargo.toml or asconfig.json. The compilers of the last two run code of DIR.
A function made by compose() reads a FunctionIO on stdin. With --insecure, or with certificates in TLS_SERVER_CERTS_DIR, its image
serves gRPC on port 9443 instead: it is a Function package for Crossplane.
Several platforms require a --base that has them. package.yaml and package.json set title, version, license and source of the image.

Prints NAME@DIGEST.
Exit code 0; 1 if the image cannot be built or its base cannot be pulled; 2 for wrong usage or a folder without a function.

Example:
  $ xfn build my-function -t my-function:v1
  my-function:v1@sha256:...
  $ xfn build my-function -t registry.example.org/my-function:v1 --base node:24-slim --platform linux/amd64,linux/arm64
  $ xfn build my-go-function -t my-module:v1 --platform wasip1/wasm`;

/** Declares `xfn build`. */
export function addBuild(context: CommandContext): void {
  declareCommand(context, "build", {
    description: "build the image of a function, without Docker",
    arguments: { "[dir]": 'the function\'s folder, or its file (default: ".")' },
    settings: SETTINGS,
    help: HELP,
    run: async (flags, dir: string = ".") => {
      const { runBuild } = await import("../build/build-command.ts");
      return await runBuild(dir, flags, context.output);
    },
  });
}
