import { choice, declareSettings, one, type SettingsOf, toggle } from "@xfn/program/settings";
import type { ValidateOptions } from "../validate/validate.ts";
import { type CommandContext, readFlags } from "./command-context.ts";

const SETTINGS: SettingsOf<ValidateOptions> = {
  output: one(
    "output",
    "<format>",
    "form of the report: text, json, yaml",
    choice("text", "json", "yaml"),
    "text",
    "text",
    {
      short: "o",
    },
  ),
  errorOnMissingSchemas: toggle(
    "error-on-missing-schemas",
    "exit with 1 when a resource's kind is not among the extensions",
  ),
  skipSuccessResults: toggle("skip-success-results", "do not print valid resources"),
};

const HELP = `
EXTENSIONS and RESOURCES are files, folders (with their subfolders) or comma-separated lists of them, in YAML or JSON; - is
stdin, for one of them. EXTENSIONS holds CompositeResourceDefinitions, CustomResourceDefinitions and Compositions; other
documents are passed over, and packages are not downloaded. Composite resources, claims and all other RESOURCES are held
against them as an API server would: defaults first, then schema, unknown fields and CEL rules (those that compare with the
object before an update are skipped). Compositions are checked wherever they are.

Prints a line for each result on stdout: [✓] valid, [x] an error with its place, [!] a warning or a missing schema; then a
total; values of fields that are called like secrets, and of Secrets, are not shown. Exit code 0; 1 for errors, or with --error-on-missing-schemas for missing ones; 2 for wrong usage or unreadable files.

Example:
  $ xfn validate definition.yaml,crds/ xr.yaml
  $ xfn render xr.yaml composition.yaml -x | xfn validate definition.yaml,crds/ -`;

/** Declares `xfn validate`. */
export function addValidate({ program, output, finish }: CommandContext): void {
  const command = program
    .command("validate")
    .description("check resources, claims and compositions against definitions")
    .argument("<extensions>", "definitions and CRDs: files, folders or a comma-separated list; - for stdin")
    .argument("<resources>", "what to check: files, folders or a comma-separated list; - for stdin");
  declareSettings(command, SETTINGS)
    .addHelpText("after", HELP)
    .action(async (extensions: string, resources: string) => {
      const options = readFlags(command, SETTINGS);
      const { validate } = await import("../validate/validate.ts");
      finish(await validate(extensions, resources, options, output));
    });
}
