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
    "exit with 1 if the kind of a resource is not among the extensions",
  ),
  skipSuccessResults: toggle("skip-success-results", "do not print valid resources"),
};

const HELP = `
EXTENSIONS and RESOURCES are files, folders (with their subfolders) or comma-separated lists of them, in YAML or JSON; - is
stdin, for one of them. EXTENSIONS are CompositeResourceDefinitions, CustomResourceDefinitions and Compositions; other documents
are ignored, and packages are not downloaded. RESOURCES, composite resources and claims among them, are validated like in an API
server: defaults first, then schema, unknown fields and CEL rules. Rules that compare with the object before an update are skipped.
Compositions are checked in both.

Prints a line for each result on stdout: [✓] valid, [x] an error with its position, [!] a warning or a missing schema; then a total.
Values of Secrets, and of fields with names of secrets, are hidden.
Exit code 0; 1 for errors, or for missing schemas with --error-on-missing-schemas; 2 for wrong usage or unreadable files.

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
