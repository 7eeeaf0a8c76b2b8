import { anyText, choice, one, type SettingsOf, settings, text, toggle } from "@xfn/program/settings";
import type { ConvertFlags } from "../convert/convert-command.ts";
import type { Conversion } from "../convert/convert-text.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";

const SETTINGS: SettingsOf<ConvertFlags> = settings({
  outputFile: text("<file>", "write to this file instead of stdout", { short: "o" }),
  drop: toggle("remove what the other form cannot express, with a warning for each field"),
});

const PIPELINE_SETTINGS: SettingsOf<ConvertFlags & { functionName: string; environmentFunctionName: string }> =
  settings({
    ...SETTINGS,
    functionName: one(
      "<name>",
      "the Function object of function-patch-and-transform",
      anyText,
      "function-patch-and-transform",
      { short: "f" },
    ),
    environmentFunctionName: one(
      "<name>",
      "the Function object of function-environment-configs",
      anyText,
      "function-environment-configs",
    ),
  });

const XRD_SETTINGS: SettingsOf<ConvertFlags & { scope: "Namespaced" | "Cluster" }> = settings({
  ...SETTINGS,
  scope: one(
    "<scope>",
    "Namespaced or Cluster, for definitions with the scope of Crossplane 1",
    choice("Namespaced", "Cluster"),
    "Cluster",
  ),
});

const COMMON = `
FILE is YAML or JSON; without it, or with -, stdin is read. Prints the whole file: other documents, comments and the spelling of values
stay as they are. What cannot be converted is listed on stderr with file:line:column, and nothing is printed.
Exit code 0; 1 if something cannot be converted; 2 for wrong usage or input.`;

const PIPELINE_HELP = `${COMMON}

Templates (resources, patchSets) become a step of function-patch-and-transform, with names and types written out.
EnvironmentConfigs become a step of function-environment-configs, and functions steps with a container.

Example:
  $ xfn convert pipeline-composition composition.yaml -o pipeline.yaml`;

const TEMPLATES_HELP = `${COMMON}

The other way: only steps of function-patch-and-transform, function-environment-configs and containers have this form.

Example:
  $ xfn convert template-composition pipeline.yaml > composition.yaml`;

const XRD_HELP = `${COMMON}

Definitions of apiextensions.crossplane.io/v1 become v2. Claims and connection secrets have no form there; --drop removes them.
Existing XRs are not converted: their scope and the fields in spec.crossplane differ.

Example:
  $ xfn convert xrd-v2 definition.yaml --scope Namespaced --drop`;

/** Declares `xfn convert` and its conversions. */
export function addConvert({ output, ...context }: CommandContext): void {
  const convert = context.program
    .command("convert")
    .description("convert Compositions and definitions to other forms, and keep their comments");
  const below = { ...context, output, program: convert };
  const run = async (file: string | undefined, conversion: Conversion, flags: ConvertFlags): Promise<number> => {
    const { runConvert } = await import("../convert/convert-command.ts");
    return await runConvert(file, conversion, flags, output);
  };
  declareCommand(below, "pipeline-composition", {
    description: "templates to mode: Pipeline",
    arguments: { "[file]": "the file with Compositions" },
    settings: PIPELINE_SETTINGS,
    help: PIPELINE_HELP,
    run: ({ functionName: templates, environmentFunctionName: environment, ...flags }, file?: string) =>
      run(file, { to: "pipeline", names: { templates, environment } }, flags),
  });
  declareCommand(below, "template-composition", {
    description: "mode: Pipeline to templates, where that is possible",
    arguments: { "[file]": "the file with Compositions" },
    settings: SETTINGS,
    help: TEMPLATES_HELP,
    run: (flags, file?: string) => run(file, { to: "templates" }, flags),
  });
  declareCommand(below, "xrd-v2", {
    description: "definitions of v1 to v2",
    arguments: { "[file]": "the file with CompositeResourceDefinitions" },
    settings: XRD_SETTINGS,
    help: XRD_HELP,
    run: ({ scope, ...flags }, file?: string) => run(file, { to: "xrd-v2", scope }, flags),
  });
}
