import { choice, one, type SettingsOf, STORE_SETTINGS, settings, toggle } from "@xfn/program/settings";
import type { ValidateOptions } from "../validate/validate.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";
import { CLUSTER_SETTINGS, REGISTRY_SETTINGS } from "./shared-settings.ts";

const SETTINGS: SettingsOf<ValidateOptions> = settings({
  output: one("<format>", "form of the report: text, json, yaml", choice("text", "json", "yaml"), "text", {
    short: "o",
  }),
  errorOnMissingSchemas: toggle("exit with 1 if the kind of a resource is not among the extensions"),
  skipSuccessResults: toggle("do not print valid resources"),
  cacheDir: STORE_SETTINGS.cacheDir,
  ...REGISTRY_SETTINGS,
  ...CLUSTER_SETTINGS,
});

const HELP = `
EXTENSIONS and RESOURCES are files, folders (with their subfolders) or comma-separated lists of them, in YAML or JSON; - is
stdin, for one of them. EXTENSIONS are definitions of any kind, CustomResourceDefinitions and Compositions; other documents are
ignored. They can also be packages (FILE.xpkg, oci:DIR, or xpkg:NAME at a registry), and cluster:, which is all CRDs of the
API server of --kubeconfig. RESOURCES, composite resources and claims among them, are validated like in an API
server: defaults first, then schema, unknown fields and CEL rules. Rules that compare with the object before an update are skipped. Of Kubernetes' own kinds, such as Deployment, the
fields and their types are checked.
Compositions are checked in both.

Prints a line for each result on stdout: [✓] valid, [x] an error with its position, [!] a warning or a missing schema; then a total.
Values of Secrets, and of fields with names of secrets, are hidden.
Exit code 0; 1 for errors, or for missing schemas with --error-on-missing-schemas; 2 for wrong usage or unreadable files.

Example:
  $ xfn validate definition.yaml,crds/ xr.yaml
  $ xfn validate definition.yaml,xpkg:xpkg.crossplane.io/crossplane-contrib/provider-nop:v0.4.0 composition.yaml
  $ xfn render xr.yaml composition.yaml -x | xfn validate definition.yaml,crds/ -`;

/** Declares `xfn validate`. */
export function addValidate(context: CommandContext): void {
  declareCommand(context, "validate", {
    description: "check resources, claims and compositions against definitions",
    arguments: {
      "<extensions>": "definitions and CRDs: files, folders, packages or a comma-separated list; - for stdin",
      "<resources>": "files, folders or a comma-separated list; - for stdin",
    },
    settings: SETTINGS,
    help: HELP,
    run: async (flags, extensions: string, resources: string) => {
      const { validate } = await import("../validate/validate.ts");
      return await validate(extensions, resources, flags, context.output);
    },
  });
}
