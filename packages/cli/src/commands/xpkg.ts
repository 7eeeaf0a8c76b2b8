import {
  anyText,
  declareSettings,
  many,
  one,
  optional,
  type SettingsOf,
  STORE_SETTINGS,
  toggle,
} from "@xfn/program/settings";
import type { XpkgBuildFlags } from "../xpkg/build-command.ts";
import type { XpkgExtractFlags } from "../xpkg/extract-command.ts";
import type { XpkgInitFlags } from "../xpkg/init-command.ts";
import type { XpkgPushFlags } from "../xpkg/push-command.ts";
import { type CommandContext, readFlags } from "./command-context.ts";
import { platformSetting, REGISTRY_SETTINGS } from "./shared-settings.ts";
import { addXpkgInstall, addXpkgUpdate } from "./xpkg-cluster.ts";

const BUILD_SETTINGS: SettingsOf<XpkgBuildFlags> = {
  packageRoot: one("package-root", "<dir>", "the folder with crossplane.yaml", anyText, ".", ".", { short: "f" }),
  examplesRoot: one(
    "examples-root",
    "<dir>",
    "a folder with examples to include",
    anyText,
    "./examples",
    "./examples",
    { short: "e" },
  ),
  ignore: many("ignore", "<patterns>", "files to leave out, relative to the folder: ./test/*,kind.yaml", anyText, []),
  embedRuntimeImage: optional(
    "embed-runtime-image",
    "<image>",
    "the image of the package: a name in the store, a reference, or oci:DIR",
    anyText,
  ),
  embedRuntimeImageTarball: optional(
    "embed-runtime-image-tarball",
    "<file>",
    "the same, as a file of `docker save`",
    anyText,
  ),
  platform: platformSetting("which image of a runtime for several platforms", "this machine's"),
  packageFile: optional("package-file", "<file>", "the file to write", anyText, {
    short: "o",
    shown: "NAME-HASH.xpkg in the folder",
  }),
  registry: STORE_SETTINGS.registry,
  cacheDir: STORE_SETTINGS.cacheDir,
  ...REGISTRY_SETTINGS,
};

const INIT_SETTINGS: SettingsOf<XpkgInitFlags> = {
  directory: one("directory", "<dir>", "the folder to write, which must be empty", anyText, ".", ".", { short: "d" }),
};

const PUSH_SETTINGS: SettingsOf<XpkgPushFlags> = {
  packageFiles: many("package-files", "<files>", "the files, separated by commas", anyText, [], undefined, {
    short: "f",
  }),
  ociAnnotation: many("oci-annotation", "<key=value>", "add an annotation to the manifest", anyText, [], undefined, {
    short: "a",
  }),
  ...REGISTRY_SETTINGS,
};

const EXTRACT_SETTINGS: SettingsOf<XpkgExtractFlags> = {
  fromXpkg: toggle("from-xpkg", "PACKAGE is a file"),
  fromDaemon: toggle("from-daemon", "not supported: xfn has no daemon"),
  output: one("output", "<file>", "the file to write", anyText, "out.gz", "out.gz", { short: "o" }),
  cacheDir: STORE_SETTINGS.cacheDir,
  ...REGISTRY_SETTINGS,
};

const EXIT_CODES = "Exit code 0; 1 for a failure; 2 for wrong usage or a folder or file that is not a package.";

const BUILD_HELP = `
All YAML files below --package-root (.yaml, .yml; not in .git, node_modules or the examples) become one package. Exactly one of them
has its metadata, usually crossplane.yaml: a Configuration, Function or Provider of meta.pkg.crossplane.io. The image of a function or
provider is embedded; it comes from the local store, else from its registry, and may be oci:DIR. Crossplane calls functions over gRPC:
an image of \`xfn build\` serves it if the function is in TypeScript or JavaScript. It is a package itself, too: push it with \`xfn push\`.

Prints the file's path. The same folder and image give the same file.
${EXIT_CODES}

Example:
  $ xfn build my-function -t my-function:v1
  $ xfn xpkg build -f my-function/package --embed-runtime-image my-function:v1 -o my-function.xpkg
  my-function.xpkg`;

const INIT_HELP = `
Writes crossplane.yaml and examples of what a package of this kind contains: a definition and a Composition, or a CRD. Nothing is
downloaded; a URL as in \`crossplane xpkg init\` is refused. For functions there is \`xfn init\`. Prints the folder.
Exit code 0; 1 for a failure; 2 for wrong usage.

Example:
  $ xfn xpkg init acme-platform configuration -d acme-platform
  acme-platform
  $ xfn xpkg build -f acme-platform -e acme-platform/examples`;

const PUSH_HELP = `
Without -f, pushes the only .xpkg file of the current folder. Several files - one package for several platforms - become an index.
REF has a registry and a tag, or is oci:DIR:TAG. Uses the credentials of \`xfn login\`. Prints NAME@DIGEST.
${EXIT_CODES}

Example:
  $ xfn xpkg push -f function-amd64.xpkg,function-arm64.xpkg ghcr.io/org/function:v1.0.0
  ghcr.io/org/function:v1.0.0@sha256:...`;

const EXTRACT_HELP = `
Writes the objects of a package as a gzipped YAML stream; the extension of --output becomes .gz. PACKAGE is a name at a registry, oci:DIR
or FILE.xpkg. With --from-xpkg it is a file of any name, by default the only .xpkg file of the current folder. Prints the file's path.
${EXIT_CODES}

Example:
  $ xfn xpkg extract ghcr.io/org/function:v1.0.0 -o function.gz && zcat function.gz
  function.gz
  ---
  apiVersion: meta.pkg.crossplane.io/v1
  ...`;

/** Declares `xfn xpkg` and its commands. */
export function addXpkg(parent: CommandContext): void {
  const xpkg = parent.program
    .command("xpkg")
    .description("make, build, push, install and extract packages for Crossplane");
  const context = { ...parent, program: xpkg };
  addXpkgInit(context);
  addXpkgBuild(context);
  addXpkgPush(context);
  addXpkgInstall(context);
  addXpkgUpdate(context);
  addXpkgExtract(context);
}

function addXpkgInit({ program: xpkg, output, finish }: CommandContext): void {
  const command = xpkg
    .command("init")
    .description("make the sources of a package")
    .argument("<name>", "the name of the package")
    .argument("<template>", "configuration or provider");
  declareSettings(command, INIT_SETTINGS)
    .addHelpText("after", INIT_HELP)
    .action(async (name: string, template: string) => {
      const flags = readFlags(command, INIT_SETTINGS);
      const { runXpkgInit } = await import("../xpkg/init-command.ts");
      finish(await runXpkgInit(name, template, flags, output));
    });
}

function addXpkgBuild({ program: xpkg, output, finish }: CommandContext): void {
  const command = xpkg.command("build").description("build the file of a package from a folder");
  declareSettings(command, BUILD_SETTINGS)
    .addHelpText("after", BUILD_HELP)
    .action(async () => {
      const flags = readFlags(command, BUILD_SETTINGS);
      const { runXpkgBuild } = await import("../xpkg/build-command.ts");
      finish(await runXpkgBuild(flags, output));
    });
}

function addXpkgPush({ program: xpkg, output, finish }: CommandContext): void {
  const command = xpkg
    .command("push")
    .description("send a package to a registry")
    .argument("<ref>", "REGISTRY/REPOSITORY:TAG");
  declareSettings(command, PUSH_SETTINGS)
    .addHelpText("after", PUSH_HELP)
    .action(async (reference: string) => {
      const flags = readFlags(command, PUSH_SETTINGS);
      const { runXpkgPush } = await import("../xpkg/push-command.ts");
      finish(await runXpkgPush(reference, flags, output));
    });
}

function addXpkgExtract({ program: xpkg, output, finish }: CommandContext): void {
  const command = xpkg
    .command("extract")
    .description("extract the objects of a package")
    .argument("[package]", "a name at a registry, oci:DIR, or a file");
  declareSettings(command, EXTRACT_SETTINGS)
    .addHelpText("after", EXTRACT_HELP)
    .action(async (name: string | undefined) => {
      const flags = readFlags(command, EXTRACT_SETTINGS);
      const { runXpkgExtract } = await import("../xpkg/extract-command.ts");
      finish(await runXpkgExtract(name, flags, output));
    });
}
