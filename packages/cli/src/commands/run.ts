import {
  anyText,
  choice,
  declareSettings,
  duration,
  LIMIT_SETTINGS,
  many,
  one,
  optional,
  pullPolicy,
  type SettingsOf,
} from "@xfn/program/settings";
import { FUNCTION_TYPES } from "@xfn/runner-contract";
import type { RunFlags } from "../run/run.ts";
import { type CommandContext, readFlags } from "./command-context.ts";
import { RUNNER_SETTINGS } from "./shared-settings.ts";

interface Flags extends RunFlags {
  readonly imagePullPolicy?: RunFlags["pull"];
  readonly networkPolicy?: "Isolated" | "Runner";
}

const SETTINGS: SettingsOf<Omit<Flags, "allowChroot">> = {
  timeout: optional("timeout", "<duration>", "kill the function after this time", duration, { shown: "10s" }),
  network: optional(
    "network",
    "<policy>",
    "network access of the function: Isolated, Accessible",
    choice("Isolated", "Accessible"),
    { shown: "Isolated" },
  ),
  type: optional(
    "type",
    "<type>",
    "Wasm, or Chroot: for root on a host that refuses containers, without isolation of the network",
    choice(...FUNCTION_TYPES),
    { shown: "a container or a WebAssembly module, by the image" },
  ),
  ...LIMIT_SETTINGS,
  pull: optional("pull", "<policy>", "IfNotPresent, Always or Never", pullPolicy, { shown: "IfNotPresent" }),
  output: one(
    "output",
    "<format>",
    "how the FunctionIO is printed: json, yaml",
    choice("json", "yaml"),
    "json",
    "json",
    {
      short: "o",
    },
  ),
  record: optional(
    "record",
    "<dir>",
    "keep what the function receives and returns in this folder, with secrets masked",
    anyText,
  ),
  notSecret: many(
    "not-secret",
    "<name>",
    "show values of fields, connection details and Secret keys with this name in the recording",
    anyText,
    [],
  ),
  // The spellings of the historic runner.
  imagePullPolicy: optional("image-pull-policy", "<policy>", "", pullPolicy, { hidden: true }),
  networkPolicy: optional("network-policy", "<policy>", "", choice("Isolated", "Runner"), { hidden: true }),
  ...RUNNER_SETTINGS,
};

const HELP = `
IMAGE is a name in the local store, a registry reference, an oci:DIR layout, or ./DIR: the folder of a function, which is built first. FILE is a FunctionIO in YAML or JSON; without
it, reads stdin. Prints the function's FunctionIO on stdout, and its warnings and fatal results on stderr too.
Exit code 0; 1 for a fatal result or a failed run; 2 for wrong usage or input.

Example:
  $ xfn run my-function io.yaml --memory 128Mi --timeout 5s
  $ xfn run my-function io.yaml --record recording/`;

/** Declares `xfn run`. */
export function addRun({ program, output, finish }: CommandContext): void {
  const command = program
    .command("run")
    .description("run one function in a container: FunctionIO in, FunctionIO out")
    .argument("<image>", "the function's image")
    .argument("[file]", "a FunctionIO, or - for stdin", "-");
  declareSettings(command, SETTINGS)
    .addHelpText("after", HELP)
    .action(async (image: string, file: string) => {
      const { imagePullPolicy, networkPolicy, ...flags } = readFlags(command, SETTINGS);
      const historic = networkPolicy === "Runner" ? "Accessible" : networkPolicy;
      const chosen = { network: flags.network ?? historic, pull: flags.pull ?? imagePullPolicy };
      const { runFunction } = await import("../run/run.ts");
      finish(await runFunction(image, file, { ...flags, ...chosen }, output));
    });
}
