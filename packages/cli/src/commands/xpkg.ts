import type { XpkgBuildFlags } from "../xpkg/build-command.ts";
import type { XpkgExtractFlags } from "../xpkg/extract-command.ts";
import type { XpkgPushFlags } from "../xpkg/push-command.ts";
import { type CommandContext, repeated } from "./command-context.ts";
import { addRegistryOptions } from "./shared-options.ts";

const EXIT_CODES = "Exit code 0; 1 when it cannot be done; 2 for wrong usage or a folder or file that is no package.";

const BUILD_HELP = `
All YAML files below --package-root (.yaml, .yml; not in .git, node_modules or the examples) become one package: exactly one of them
is its metadata, by custom a crossplane.yaml with a Configuration, Function or Provider of meta.pkg.crossplane.io. The image that
runs a function or provider is embedded; it is looked for in the local store, then at its registry, and may be oci:DIR.

Prints the file's path. The same folder and image give the same file.
${EXIT_CODES}

Example:
  $ xfn build my-function -t my-function:v1
  $ xfn xpkg build -f my-function/package --embed-runtime-image my-function:v1 -o my-function.xpkg
  my-function.xpkg`;

const PUSH_HELP = `
Without -f the only .xpkg file of the current folder is pushed. Several files, of one package for several platforms, become an index.
REF has a registry and a tag, or is oci:DIR:TAG. The credentials of \`docker login\` are used. Prints NAME@DIGEST.
${EXIT_CODES}

Example:
  $ xfn xpkg push -f function-amd64.xpkg,function-arm64.xpkg ghcr.io/org/function:v1.0.0
  ghcr.io/org/function:v1.0.0@sha256:...`;

const EXTRACT_HELP = `
Writes the objects of a package, a YAML stream, as gzip; the ending of --output becomes .gz. PACKAGE is a name at a registry, or oci:DIR;
with --from-xpkg it is a file, by default the only .xpkg file of the current folder. Prints the file's path.
${EXIT_CODES}

Example:
  $ xfn xpkg extract ghcr.io/org/function:v1.0.0 -o function.gz && zcat function.gz
  function.gz
  ---
  apiVersion: meta.pkg.crossplane.io/v1
  ...`;

/** Declares `xfn xpkg` and its commands. */
export function addXpkg({ program, output, finish }: CommandContext): void {
  const xpkg = program.command("xpkg").description("make, push and look into packages for Crossplane");
  addRegistryOptions(
    xpkg
      .command("build")
      .description("make a package's file of a folder")
      .option("-f, --package-root <dir>", "the folder with crossplane.yaml", ".")
      .option("-e, --examples-root <dir>", "a folder with examples to include", "./examples")
      .option("--ignore <patterns>", "files to leave out, relative to the folder: ./test/*,kind.yaml", repeated)
      .option("--embed-runtime-image <image>", "what runs the package: a name in the store, a reference, or oci:DIR")
      .option("--embed-runtime-image-tarball <file>", "the same, as a file of `docker save`")
      .option("--platform <os/arch>", "which image of a runtime for several platforms (default: this machine's)")
      .option("-o, --package-file <file>", "the file to write (default: NAME-HASH.xpkg in the folder)")
      .option("--registry <host>", "registry for a runtime image without one (default: docker.io)")
      .option("--cache-dir <dir>", "folder for images (default: xfn in the user's cache folder)"),
  )
    .addHelpText("after", BUILD_HELP)
    .action(async (flags: XpkgBuildFlags) => {
      const { runXpkgBuild } = await import("../xpkg/build-command.ts");
      finish(await runXpkgBuild(flags, output));
    });
  addRegistryOptions(
    xpkg
      .command("push")
      .description("send a package to a registry")
      .argument("<ref>", "REGISTRY/REPOSITORY:TAG")
      .option("-f, --package-files <files>", "the files, with commas between them", repeated)
      .option("-a, --oci-annotation <key=value>", "add an annotation to the manifest (repeatable)", repeated),
  )
    .addHelpText("after", PUSH_HELP)
    .action(async (reference: string, flags: XpkgPushFlags) => {
      const { runXpkgPush } = await import("../xpkg/push-command.ts");
      finish(await runXpkgPush(reference, flags, output));
    });
  addRegistryOptions(
    xpkg
      .command("extract")
      .description("get the objects of a package")
      .argument("[package]", "a name at a registry, oci:DIR, or a file")
      .option("--from-xpkg", "PACKAGE is a file")
      .option("--from-daemon", "not supported: xfn has no daemon")
      .option("-o, --output <file>", "the file to write", "out.gz")
      .option("--cache-dir <dir>", "folder for images (default: xfn in the user's cache folder)"),
  )
    .addHelpText("after", EXTRACT_HELP)
    .action(async (name: string | undefined, flags: XpkgExtractFlags) => {
      const { runXpkgExtract } = await import("../xpkg/extract-command.ts");
      finish(await runXpkgExtract(name, flags, output));
    });
}
