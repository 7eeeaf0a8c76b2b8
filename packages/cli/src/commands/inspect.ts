import { choice, one, type SettingsOf, settings, text } from "@xfn/program/settings";
import type { InspectFlags } from "../inspect/inspect-command.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";

const SETTINGS: SettingsOf<InspectFlags> = settings({
  socket: one(
    "<path>",
    "the Unix socket to make, for the controller's --pipeline-inspector-socket",
    (path) => path,
    "/var/run/pipeline-inspector/socket",
  ),
  namespace: text("<name>", "only composite resources in this namespace", { short: "n" }),
  composition: text("<name>", "only runs of this Composition"),
  output: one("<format>", "text, or json with one message per line", choice("text", "json"), "text", { short: "o" }),
});

const HELP = `
Receives the calls of functions from a controller on this machine, or in another container of this pod, until Ctrl-C. It is started with
--enable-pipeline-inspector, as in Crossplane 2.4. Prints each step when its function has returned: its time, what it changes
in desired state, and its results. The controller masks secrets. It does not wait for the inspector, and drops messages that the inspector
does not take within 100 ms. Only your own user can send to the socket.

KIND/NAME, or KIND alone, selects composite resources.

Exit code 0 after Ctrl-C; 1 if the socket cannot be made, for example because another inspector uses it; 2 for wrong usage.

Example:
  $ xfn inspect --socket ./inspector.sock XDatabase/orders
  # in another terminal
  $ xfn-controller start --enable-composition-functions --enable-pipeline-inspector --pipeline-inspector-socket ./inspector.sock

  XDatabase team/orders, composed by databases, run 3f2a9c01
  1. compose function-compose 14:03:05.120Z: 12 ms
     ~ database (Server)
     @@ -5 +5 @@
      spec:
     -  size: small
     +  size: large`;

/** Declares `xfn inspect`. */
export function addInspect(context: CommandContext): void {
  declareCommand(context, "inspect", {
    description: "show live what functions of a controller receive and return",
    arguments: { "[xr]": "KIND/NAME or KIND of the composite resources" },
    settings: SETTINGS,
    help: HELP,
    run: async (flags, xr?: string) => {
      const { runInspect } = await import("../inspect/inspect-command.ts");
      return await runInspect(xr, flags, context.output);
    },
  });
}
