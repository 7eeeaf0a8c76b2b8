import { anyText, declareSettings, optional, type SettingsOf, STORE_SETTINGS } from "@xfn/program/settings";
import type { ExtensionFlags } from "../validate/read-extensions.ts";
import { type CommandContext, readFlags } from "./command-context.ts";
import { CLUSTER_SETTINGS, REGISTRY_SETTINGS } from "./shared-settings.ts";

const SETTINGS: SettingsOf<ExtensionFlags & { output?: string }> = {
  output: optional("output", "<file>", "write to this file instead of stdout", anyText, { short: "o" }),
  cacheDir: STORE_SETTINGS.cacheDir,
  ...REGISTRY_SETTINGS,
  ...CLUSTER_SETTINGS,
};

const HELP = `
CRD is a YAML or JSON file, or a folder with its subfolders, with CustomResourceDefinitions or definitions of any kind:
CompositeResourceDefinition, InfrastructureDefinition with its InfrastructurePublication, ApplicationDefinition; - is stdin. It can
also be a package (FILE.xpkg, oci:DIR, or xpkg:NAME at a registry), or cluster:, which is all CRDs of the API server of
--kubeconfig. Other documents are ignored. Each served version becomes an interface. Import the file in a function to type-check desired resources of these kinds.

Example:
  $ xfn types crds/ -o src/types.ts`;

/** Declares `xfn types`. */
export function addTypes({ program, output, finish }: CommandContext): void {
  const command = program
    .command("types")
    .description("write TypeScript interfaces for the kinds of definitions")
    .argument("<crd...>", "definitions: files, folders or packages, or - for stdin");
  declareSettings(command, SETTINGS)
    .addHelpText("after", HELP)
    .action(async (paths: readonly string[]) => {
      const flags = readFlags(command, SETTINGS);
      const { writeTypes } = await import("../types/write-types.ts");
      finish(await writeTypes(paths, flags.output, flags, output));
    });
}
