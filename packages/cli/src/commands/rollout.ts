import { choice, one, type SettingsOf, settings, toggle } from "@xfn/program/settings";
import type { RolloutFlags } from "../rollout/rollout-command.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";
import { CLUSTER_SETTINGS } from "./shared-settings.ts";

const SETTINGS: SettingsOf<RolloutFlags> = settings({
  output: one("<format>", "form of the report: text, json", choice("text", "json"), "text", { short: "o" }),
  watch: toggle("print the report again after each change, until the rollout has ended; Ctrl-C ends", { short: "w" }),
  ...CLUSTER_SETTINGS,
});

const HELP = `
COMPOSITION is the name of a Composition with spec.rollout, which xfn-controller rolls out with --enable-rollouts. Prints where the newest
revision is, why, and what it would change in the composite resources that it composed in shadow. Values of secrets are masked.
Exit code 0; 1 if the Composition does not exist or the API server refuses; 2 for wrong usage.

Example:
  $ xfn rollout databases
  Composition databases
    revision 2 (databases-1f0c9a7): Canary: watches 3 composite resources
    in the canary: team-a, team-b, team-c
    time left: 3m12s
    earlier revision: databases-77ab3d0
    in shadow, team-a would change:
      bucket spec.forProvider.region: "eu-west-1" -> "eu-north-1"`;

/** Declares `xfn rollout`. */
export function addRollout(context: CommandContext): void {
  declareCommand(context, "rollout", {
    description: "show the rollout of a Composition in a cluster",
    arguments: { "<composition>": "the name of the Composition" },
    settings: SETTINGS,
    help: HELP,
    run: async (flags, name: string) => {
      const { runRollout } = await import("../rollout/rollout-command.ts");
      return await runRollout(name, flags, context.output);
    },
  });
}
