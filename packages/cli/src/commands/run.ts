import {
  choice,
  duration,
  LIMIT_SETTINGS,
  one,
  optional,
  pullPolicy,
  type SettingsOf,
  settings,
  text,
  texts,
} from "@xfn/program/settings";
import { FUNCTION_TYPES } from "@xfn/runner-contract";
import type { RunFlags } from "../run/run.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";
import { RUNNER_SETTINGS } from "./shared-settings.ts";

interface Flags extends RunFlags {
  readonly imagePullPolicy?: RunFlags["pull"];
  readonly networkPolicy?: "Isolated" | "Runner";
}

const SETTINGS: SettingsOf<Omit<Flags, "allowChroot">> = settings({
  timeout: optional("<duration>", "kill the function after this time", duration, { shown: "10s" }),
  network: optional(
    "<policy>",
    "network access of the function: Isolated, Accessible",
    choice("Isolated", "Accessible"),
    { shown: "Isolated" },
  ),
  type: optional(
    "<type>",
    "Wasm, or Chroot: for root on a host that refuses containers, without isolation of the network",
    choice(...FUNCTION_TYPES),
    { shown: "a container or a WebAssembly module, by the image" },
  ),
  ...LIMIT_SETTINGS,
  pull: optional("<policy>", "IfNotPresent, Always or Never", pullPolicy, { shown: "IfNotPresent" }),
  output: one("<format>", "how the FunctionIO is printed: json, yaml", choice("json", "yaml"), "json", { short: "o" }),
  record: text("<dir>", "keep what the function receives and returns in this folder, with secrets masked"),
  notSecret: texts(
    "<name>",
    "show values of fields, connection details and Secret keys with this name in the recording",
  ),
  // The spellings of the historic runner.
  imagePullPolicy: optional("<policy>", "", pullPolicy, { hidden: true }),
  networkPolicy: optional("<policy>", "", choice("Isolated", "Runner"), { hidden: true }),
  ...RUNNER_SETTINGS,
});

const HELP = `
IMAGE is a name in the local store, a registry reference, an oci:DIR layout, or ./DIR: the folder of a function, which is built first. FILE is a FunctionIO in YAML or JSON; without
it, reads stdin. Prints the function's FunctionIO on stdout, and its warnings and fatal results on stderr too.
Exit code 0; 1 for a fatal result or a failed run; 2 for wrong usage or input.

Example:
  $ xfn run my-function io.yaml --memory 128Mi --timeout 5s
  $ xfn run my-function io.yaml --record recording/`;

/** Declares `xfn run`. */
export function addRun(context: CommandContext): void {
  declareCommand(context, "run", {
    description: "run one function in a container: FunctionIO in, FunctionIO out",
    arguments: { "<image>": "the function's image", "[file]": 'a FunctionIO, or - for stdin (default: "-")' },
    settings: SETTINGS,
    help: HELP,
    run: async ({ imagePullPolicy, networkPolicy, ...flags }, image: string, file: string = "-") => {
      const historic = networkPolicy === "Runner" ? "Accessible" : networkPolicy;
      const chosen = { network: flags.network ?? historic, pull: flags.pull ?? imagePullPolicy };
      const { runFunction } = await import("../run/run.ts");
      return await runFunction(image, file, { ...flags, ...chosen }, context.output);
    },
  });
}
