import { anyText, declareSettings, optional, type SettingsOf } from "@xfn/program/settings";
import { type CommandContext, readFlags } from "./command-context.ts";

const SETTINGS: SettingsOf<{ output?: string }> = {
  output: optional("output", "<file>", "write to this file instead of stdout", anyText, { short: "o" }),
};

const HELP = `
CRD is a YAML or JSON file, or a folder of them, with CustomResourceDefinitions or definitions of any kind:
CompositeResourceDefinition, InfrastructureDefinition with its InfrastructurePublication, ApplicationDefinition; - is stdin. Each
served version becomes an interface. Import the file in a function to type-check desired resources of these kinds.

Example:
  $ xfn types crds/ -o src/types.ts`;

/** Declares `xfn types`. */
export function addTypes({ program, output, finish }: CommandContext): void {
  const command = program
    .command("types")
    .description("write TypeScript interfaces for the kinds of definitions")
    .argument("<crd...>", "definitions: files or folders, or - for stdin");
  declareSettings(command, SETTINGS)
    .addHelpText("after", HELP)
    .action(async (paths: readonly string[]) => {
      const flags = readFlags(command, SETTINGS);
      const { writeTypes } = await import("../types/write-types.ts");
      finish(await writeTypes(paths, flags.output, output));
    });
}
