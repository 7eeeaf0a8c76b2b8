import { anyText, choice, declareSettings, one, optional, type SettingsOf, toggle } from "@xfn/program/settings";
import type { ConvertFlags } from "../convert/convert-command.ts";
import type { Conversion } from "../convert/convert-text.ts";
import { type CommandContext, readFlags } from "./command-context.ts";

const SETTINGS: SettingsOf<ConvertFlags> = {
  outputFile: optional("output-file", "<file>", "write to this file instead of stdout", anyText, { short: "o" }),
  drop: toggle("drop", "remove what the other form cannot express, with a warning for each field"),
};

const PIPELINE_SETTINGS: SettingsOf<ConvertFlags & { functionName: string; environmentFunctionName: string }> = {
  ...SETTINGS,
  functionName: one(
    "function-name",
    "<name>",
    "the Function object of function-patch-and-transform",
    anyText,
    "function-patch-and-transform",
    "function-patch-and-transform",
    { short: "f" },
  ),
  environmentFunctionName: one(
    "environment-function-name",
    "<name>",
    "the Function object of function-environment-configs",
    anyText,
    "function-environment-configs",
    "function-environment-configs",
  ),
};

const XRD_SETTINGS: SettingsOf<ConvertFlags & { scope: "Namespaced" | "Cluster" }> = {
  ...SETTINGS,
  scope: one(
    "scope",
    "<scope>",
    "Namespaced or Cluster, for definitions with the scope of Crossplane 1",
    choice("Namespaced", "Cluster"),
    "Cluster",
    "Cluster",
  ),
};

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
export function addConvert({ program, output, finish }: CommandContext): void {
  const convert = program
    .command("convert")
    .description("convert Compositions and definitions to other forms, and keep their comments");
  const run = async (file: string | undefined, conversion: Conversion, flags: ConvertFlags): Promise<void> => {
    const { runConvert } = await import("../convert/convert-command.ts");
    finish(await runConvert(file, conversion, flags, output));
  };
  const pipeline = convert
    .command("pipeline-composition")
    .description("templates to mode: Pipeline")
    .argument("[file]", "the file with Compositions");
  declareSettings(pipeline, PIPELINE_SETTINGS)
    .addHelpText("after", PIPELINE_HELP)
    .action((file: string | undefined) => {
      const {
        functionName: templates,
        environmentFunctionName: environment,
        ...flags
      } = readFlags(pipeline, PIPELINE_SETTINGS);
      return run(file, { to: "pipeline", names: { templates, environment } }, flags);
    });
  const templates = convert
    .command("template-composition")
    .description("mode: Pipeline to templates, where that is possible")
    .argument("[file]", "the file with Compositions");
  declareSettings(templates, SETTINGS)
    .addHelpText("after", TEMPLATES_HELP)
    .action((file: string | undefined) => run(file, { to: "templates" }, readFlags(templates, SETTINGS)));
  const xrd = convert
    .command("xrd-v2")
    .description("definitions of v1 to v2")
    .argument("[file]", "the file with CompositeResourceDefinitions");
  declareSettings(xrd, XRD_SETTINGS)
    .addHelpText("after", XRD_HELP)
    .action((file: string | undefined) => {
      const { scope, ...flags } = readFlags(xrd, XRD_SETTINGS);
      return run(file, { to: "xrd-v2", scope }, flags);
    });
}
