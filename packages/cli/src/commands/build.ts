import type { BuildFlags } from "../build/build-command.ts";
import { type CommandContext, repeated } from "./command-context.ts";
import { addRegistryOptions, pullOption } from "./shared-options.ts";

const HELP = `
DIR (default: .) is a function in TypeScript or JavaScript - a file with a default export made by compose() - or any folder with an
executable. What is run: --entrypoint, else an executable file named function, else the "exports" or "main" of package.json, else
function.ts, src/function.ts, index.ts, src/index.ts, function.js or index.js, else the only executable file.

Without --base the image stands on what this machine has: Node, Python, a shell with its tools, or the shared libraries that the
program needs. A static program stands on nothing. Not taken along: .git, node_modules, tests. The same input gives the same digest.
For several platforms give a --base that has them. package.yaml and package.json give title, version, license and source of the image.

Prints NAME@DIGEST.
Exit code 0; 1 when the image cannot be built or its base not be pulled; 2 for wrong usage or a folder that is no function.

Example:
  $ xfn build my-function -t my-function:v1
  my-function:v1@sha256:...
  $ xfn build my-function -t registry.example.org/my-function:v1 --base node:24-slim --platform linux/amd64,linux/arm64`;

/** Declares `xfn build`. */
export function addBuild({ program, output, finish }: CommandContext): void {
  const command = program
    .command("build")
    .description("make the image of a function, without Docker")
    .argument("[dir]", "the function's folder, or its file", ".")
    .requiredOption("-t, --tag <name>", "name of the image")
    .option("-o, --output <layout>", "write an OCI layout, oci:DIR or oci:DIR:TAG, instead of the local store")
    .option("--base <image>", "stand on this image: a name in the store, a registry reference, or oci:DIR")
    .option(
      "--platform <list>",
      "OS/ARCHITECTURE, or several: an index of one image each (default: this machine's)",
      repeated,
    )
    .option("--label <key=value>", "add a label (repeatable)", repeated)
    .option("--annotation <key=value>", "add an annotation to the manifest and the index (repeatable)", repeated)
    .option("--sbom", "add a list of the packages in the bundle: /sbom.spdx.json, from package-lock.json")
    .option("--entrypoint <file>", "the file to run or to bundle, relative to DIR")
    .option("--no-check", "do not check TypeScript types")
    .addOption(
      pullOption("--pull <policy>", "when the base is pulled: IfNotPresent, Always or Never (default: IfNotPresent)"),
    )
    .option("--registry <host>", "registry for a base without one (default: docker.io)")
    .option("--cache-dir <dir>", "folder for images (default: xfn in the user's cache folder)");
  addRegistryOptions(command)
    .addHelpText("after", HELP)
    .action(async (dir: string, flags: BuildFlags) => {
      const { runBuild } = await import("../build/build-command.ts");
      finish(await runBuild(dir, flags, output));
    });
}
