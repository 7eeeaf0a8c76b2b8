import { choice, group, optional, type SettingsOf, settings, text, toggle } from "@xfn/program/settings";
import type { OperationOptions } from "../operation/operation-options.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";
import { checkRunnerFlags, noteEngineFlags, type PeerFlags, RENDER_SETTINGS } from "./render.ts";

const {
  functionAnnotations,
  requiredResources,
  requiredSchemas,
  functionCredentials,
  contextFiles,
  contextValues,
  includeFunctionResults,
  includeContext,
  timeout,
  pull,
  freshFunctions,
  ...others
} = RENDER_SETTINGS;
const { maxOutput, allowUnlimited, ociRuntime, rootfs, cacheDir, registry, insecureRegistry, mirror, registryCa } =
  others;
const { trustedRealm, runner, runnerTokenFile, runnerCa, runnerCert, runnerKey, runnerServerName } = others;
const { maxConcurrency, crossplaneBinary, crossplaneVersion } = others;

const SETTINGS: SettingsOf<OperationOptions & PeerFlags> = settings({
  ...group("Input", {
    watchedResource: text("<path>", "the object whose change a WatchOperation reports; functions can require it", {
      short: "w",
    }),
    requiredResources,
    requiredSchemas,
    functionCredentials,
    contextFiles,
    contextValues,
    functionAnnotations,
  }),
  ...group("Output", {
    output: optional("<format>", "format of stdout: yaml, or json for one List", choice("yaml", "json"), {
      shown: "yaml",
    }),
    includeFullOperation: toggle("print the Operation with its spec", { short: "o" }),
    includeFunctionResults,
    includeContext,
  }),
  ...group("Functions", { timeout, pull, freshFunctions, maxOutput, allowUnlimited, ociRuntime, rootfs, cacheDir }),
  ...group("Registries", { registry, insecureRegistry, mirror, registryCa, trustedRealm }),
  ...group("Runner in another process", { runner, runnerTokenFile, runnerCa, runnerCert, runnerKey, runnerServerName }),
  maxConcurrency,
  crossplaneBinary,
  crossplaneVersion,
});

const HELP = `
OPERATION is a file with an Operation, a CronOperation or a WatchOperation, or - for stdin. FUNCTIONS is a file or folder of Function
documents (pkg.crossplane.io/v1): the packages that the steps name, as for xfn render. Their capabilities are not checked.

Prints YAML or JSON on stdout: the Operation with its status, the objects that it would apply, then results (-r) and the context (-c).
After a fatal result: the Operation alone, and results (-r). If the run fails, prints nothing.
Exit code 0; 1 for a fatal result or a failed run; 2 for wrong usage or input.

Example:
  $ xfn operation render operation.yaml functions.yaml -r
  $ xfn operation render watchoperation.yaml functions.yaml -w configmap.yaml`;

/** Declares `xfn operation`. */
export function addOperation(context: CommandContext): void {
  const operation = context.program.command("operation").description("tools for Operations: operation render");
  declareCommand({ ...context, program: operation }, "render", {
    description: "render what an Operation would apply, with its functions in containers",
    arguments: {
      "<operation>": "the Operation, CronOperation or WatchOperation: a file, or - for stdin",
      "[functions]": "the Functions that its steps name: a file or folder",
    },
    settings: SETTINGS,
    help: HELP,
    run: async (flags, file: string, functions?: string) => {
      checkRunnerFlags(flags);
      noteEngineFlags(flags, context.output);
      const { runOperationRender } = await import("../operation/render-operation.ts");
      return await runOperationRender({ operation: file, functions }, flags, context.output);
    },
  });
}
