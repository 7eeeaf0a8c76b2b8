import { anyText, one, type SettingsOf, STORE_SETTINGS, settings, text, texts, toggle } from "@xfn/program/settings";
import type { XpkgBuildFlags } from "../xpkg/build-command.ts";
import type { XpkgExtractFlags } from "../xpkg/extract-command.ts";
import type { XpkgInitFlags } from "../xpkg/init-command.ts";
import type { XpkgPushFlags } from "../xpkg/push-command.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";
import { platformSetting, REGISTRY_SETTINGS } from "./shared-settings.ts";
import { addXpkgInstall, addXpkgUpdate } from "./xpkg-cluster.ts";

const BUILD_SETTINGS: SettingsOf<XpkgBuildFlags> = settings({
  packageRoot: one("<dir>", "the folder with crossplane.yaml", anyText, ".", { short: "f" }),
  examplesRoot: one("<dir>", "a folder with examples to include", anyText, "./examples", { short: "e" }),
  ignore: texts("<patterns>", "files to leave out, relative to the folder: ./test/*,kind.yaml"),
  embedRuntimeImage: text("<image>", "the image of the package: a name in the store, a reference, or oci:DIR"),
  embedRuntimeImageTarball: text("<file>", "the same, as a file of `docker save`"),
  platform: platformSetting("which image of a runtime for several platforms", "this machine's"),
  packageFile: text("<file>", "the file to write", { short: "o", shown: "NAME-HASH.xpkg in the folder" }),
  registry: STORE_SETTINGS.registry,
  cacheDir: STORE_SETTINGS.cacheDir,
  ...REGISTRY_SETTINGS,
});

const INIT_SETTINGS: SettingsOf<XpkgInitFlags> = settings({
  directory: one("<dir>", "the folder to write, which must be empty", anyText, ".", { short: "d" }),
});

const PUSH_SETTINGS: SettingsOf<XpkgPushFlags> = settings({
  packageFiles: texts("<files>", "the files, separated by commas", { short: "f" }),
  ociAnnotation: texts("<key=value>", "add an annotation to the manifest", { short: "a" }),
  ...REGISTRY_SETTINGS,
});

const EXTRACT_SETTINGS: SettingsOf<XpkgExtractFlags> = settings({
  fromXpkg: toggle("PACKAGE is a file"),
  fromDaemon: toggle("not supported: xfn has no daemon"),
  output: one("<file>", "the file to write", anyText, "out.gz", { short: "o" }),
  cacheDir: STORE_SETTINGS.cacheDir,
  ...REGISTRY_SETTINGS,
});

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
export function addXpkg({ output, ...parent }: CommandContext): void {
  const program = parent.program
    .command("xpkg")
    .description("make, build, push, install and extract packages for Crossplane");
  const context = { ...parent, output, program };
  declareCommand(context, "init", {
    description: "make the sources of a package",
    arguments: { "<name>": "the name of the package", "<template>": "configuration or provider" },
    settings: INIT_SETTINGS,
    help: INIT_HELP,
    run: async (flags, name: string, template: string) => {
      const { runXpkgInit } = await import("../xpkg/init-command.ts");
      return await runXpkgInit(name, template, flags, context);
    },
  });
  declareCommand(context, "build", {
    description: "build the file of a package from a folder",
    settings: BUILD_SETTINGS,
    help: BUILD_HELP,
    run: async (flags) => {
      const { runXpkgBuild } = await import("../xpkg/build-command.ts");
      return await runXpkgBuild(flags, output);
    },
  });
  declareCommand(context, "push", {
    description: "send a package to a registry",
    arguments: { "<ref>": "REGISTRY/REPOSITORY:TAG" },
    settings: PUSH_SETTINGS,
    help: PUSH_HELP,
    run: async (flags, reference: string) => {
      const { runXpkgPush } = await import("../xpkg/push-command.ts");
      return await runXpkgPush(reference, flags, output);
    },
  });
  addXpkgInstall(context);
  addXpkgUpdate(context);
  declareCommand(context, "extract", {
    description: "extract the objects of a package",
    arguments: { "[package]": "a name at a registry, oci:DIR, or a file" },
    settings: EXTRACT_SETTINGS,
    help: EXTRACT_HELP,
    run: async (flags, name?: string) => {
      const { runXpkgExtract } = await import("../xpkg/extract-command.ts");
      return await runXpkgExtract(name, flags, output);
    },
  });
}
