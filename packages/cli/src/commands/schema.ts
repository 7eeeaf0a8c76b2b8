import { type SettingsOf, STORE_SETTINGS, settings, text, toggle } from "@xfn/program/settings";
import type { SchemaFlags } from "../schema/write-schema.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";
import { CLUSTER_SETTINGS, REGISTRY_SETTINGS } from "./shared-settings.ts";

const SETTINGS: SettingsOf<SchemaFlags> = settings({
  output: text("<file>", "write to this file instead of stdout", { short: "o" }),
  kinds: text("<kinds>", "only these kinds of the definitions, such as Bucket,User.iam.example.org"),
  check: toggle("write nothing, and exit with 1 if the file of --output is not current"),
  cacheDir: STORE_SETTINGS.cacheDir,
  ...REGISTRY_SETTINGS,
  ...CLUSTER_SETTINGS,
});

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
    settings: SETTINGS,
    help: HELP,
    run: async (flags, paths: readonly string[]) => {
      const { writeSchema } = await import("../schema/write-schema.ts");
      return await writeSchema(paths, flags, context.output);
    },
  });
}
