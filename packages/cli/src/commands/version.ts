import { choice, one, type SettingsOf, settings, toggle } from "@xfn/program/settings";
import type { VersionFlags } from "../version/version-command.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";
import { CLUSTER_SETTINGS } from "./shared-settings.ts";

const SETTINGS: SettingsOf<VersionFlags> = settings({
  client: toggle("print the version of this program alone, without a cluster"),
  output: one("<format>", "form of the report: text, json", choice("text", "json"), "text", { short: "o" }),
  ...CLUSTER_SETTINGS,
});

const HELP = `
Warns if xfn and xfn-controller differ by more than a patch version. The controller's version is that of its CRDs.
Exit code 0; 1 if the API server cannot be asked, after the version of xfn.

Example:
  $ xfn version
  xfn             0.1.0
  xfn-controller  0.1.0
  Kubernetes      v1.34.4`;

/** Declares `xfn version`. */
export function addVersion(context: CommandContext): void {
  declareCommand(context, "version", {
    description: "show the versions of xfn, of its controller and of the cluster",
    settings: SETTINGS,
    help: HELP,
    run: async (flags) => {
      const { showVersion } = await import("../version/version-command.ts");
      return await showVersion(context.program.version() ?? "", flags, context.output);
    },
  });
}
