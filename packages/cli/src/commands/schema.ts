import { type CommandContext, declareCommand } from "./command-context.ts";
import { GENERATED_SETTINGS } from "./shared-settings.ts";

const HELP = `
SOURCE is what xfn types reads: files and folders with definitions and CustomResourceDefinitions, packages (FILE.xpkg, oci:DIR, or
xpkg:NAME at a registry), or cluster:; - is stdin. Other documents are skipped. The JSON Schema has their kinds,
Kubernetes' own kinds, definitions, and Compositions whose bases and inputs are checked by their apiVersion and kind: name the
packages of providers and functions too. A YAML editor reads it by a comment in the first line of a file:

  # yaml-language-server: $schema=.xfn/schema.json

Example:
  $ xfn schema definition.yaml xpkg:xpkg.crossplane.io/crossplane-contrib/function-patch-and-transform:v0.9.0 -o .xfn/schema.json`;

/** Declares `xfn schema`. */
export function addSchema(context: CommandContext): void {
  declareCommand(context, "schema", {
    description: "write a JSON Schema of the kinds of definitions for YAML editors",
    arguments: { "<source...>": "definitions: files, folders or packages, or - for stdin" },
    settings: GENERATED_SETTINGS,
    help: HELP,
    run: async (flags, paths: readonly string[]) => {
      const { writeSchema } = await import("../schema/write-schema.ts");
      return await writeSchema(paths, flags, context.output);
    },
  });
}
