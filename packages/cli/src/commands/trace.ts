import { choice, integer, one, type SettingsOf, settings, text, toggle } from "@xfn/program/settings";
import type { TraceFlags } from "../resource-tree/trace-command.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";
import { CLUSTER_SETTINGS } from "./shared-settings.ts";

const SETTINGS: SettingsOf<TraceFlags> = settings({
  namespace: text("<name>", "the namespace of the object; default: the context's", { short: "n" }),
  output: one(
    "<format>",
    "default, wide, json, yaml or dot",
    choice("default", "wide", "json", "yaml", "dot"),
    "default",
    { short: "o" },
  ),
  showConnectionSecrets: toggle("show connection secrets in the tree, without values", { short: "s" }),
  events: toggle("show the newest events of each object"),
  watch: toggle("print the tree again after each change; Ctrl-C ends", { short: "w" }),
  concurrency: one("<n>", "requests at a time", integer(1, 64), "5"),
  ...CLUSTER_SETTINGS,
});

const HELP = `
KIND is written as for kubectl: a kind, plural or short name, with .GROUP or .VERSION.GROUP behind it. KIND/NAME is the same as KIND NAME.
The object is a claim or a composite resource of Crossplane 1 or 2. The tree has all that it composes, through nested composite resources
too. Below an object in use are the usages that protect it from deletion. STATUS is the reason and message of Synced or Ready, the first that
is not true. Missing and forbidden objects are errors in the tree. (xfn render --trace is something else: it shows what each step of a render did.)

Exit code 0; 1 if the object itself cannot be read; 2 for wrong usage.

Example:
  $ xfn trace xdatabase orders
  NAME                    SYNCED   READY   STATUS
  XDatabase/orders        True     False   Creating: Unready resources: server
  └─ Server/orders-x7k2   True     False   Creating`;

/** Declares `xfn trace`. */
export function addTrace(context: CommandContext): void {
  declareCommand(context, "trace", {
    description: "show an object of a cluster with all that it composes",
    arguments: { "<kind>": "the kind, or KIND/NAME", "[name]": "the name" },
    settings: SETTINGS,
    help: HELP,
    run: async (flags, kind: string, name?: string) => {
      const { runTrace } = await import("../resource-tree/trace-command.ts");
      return await runTrace(kind, name, flags, context.output);
    },
  });
}
