import { type CommandContext, declareCommand } from "./command-context.ts";
import { GENERATED_SETTINGS } from "./shared-settings.ts";

const HELP = `
CRD is a YAML or JSON file, or a folder with its subfolders, with CustomResourceDefinitions or definitions of any kind:
CompositeResourceDefinition, InfrastructureDefinition with its InfrastructurePublication, ApplicationDefinition; - is stdin. It can
also be a package (FILE.xpkg, oci:DIR, or xpkg:NAME at a registry), or cluster:, which is all CRDs of the API server of
--kubeconfig. Other documents are skipped. Each version becomes an interface. Import the file in a function to type-check desired resources of these kinds;
@xfn/kinds has the types of Kubernetes' own kinds.

Example:
  $ xfn types crds/ -o src/types.ts
  $ xfn types cluster: --kinds Bucket,User.iam.example.org -o src/types.ts
  $ xfn types crds/ -o src/types.ts --check`;

/** Declares `xfn types`. */
export function addTypes(context: CommandContext): void {
  declareCommand(context, "types", {
    description: "write TypeScript interfaces for the kinds of definitions",
    arguments: { "<crd...>": "definitions: files, folders or packages, or - for stdin" },
    settings: GENERATED_SETTINGS,
    help: HELP,
    run: async (flags, paths: readonly string[]) => {
      const { writeTypes } = await import("../types/write-types.ts");
      return await writeTypes(paths, flags, context.output);
    },
  });
}
