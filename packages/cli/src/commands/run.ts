import { Option } from "commander";
import type { RunFlags } from "../run/run.ts";
import type { CommandContext } from "./command-context.ts";
import { addRunnerOptions, pullOption } from "./shared-options.ts";

const HELP = `
IMAGE is a name in the local store, a registry reference, or an oci:DIR layout. FILE is a FunctionIO in YAML or JSON; without
it, stdin is read. The function's FunctionIO is printed on stdout; its warnings and fatal results on stderr too.
Exit code 0; 1 for a fatal result or a failed run; 2 for wrong usage or input.

Example:
  $ xfn run my-function io.yaml --memory 128Mi --timeout 5s`;

interface RawOptions extends Omit<RunFlags, "timeout" | "memory" | "cpu"> {
  readonly timeout?: string;
  readonly memory?: string;
  readonly cpu?: string;
  readonly imagePullPolicy?: RunFlags["pull"];
  readonly networkPolicy?: string;
}

/** Declares `xfn run`. */
export function addRun({ program, output, finish }: CommandContext): void {
  const command = program
    .command("run")
    .description("run one function in a container: FunctionIO in, FunctionIO out")
    .argument("<image>", "the function's image")
    .argument("[file]", "a FunctionIO, or - for stdin", "-")
    .option("--timeout <duration>", "kill the function after this time (default: 10s)")
    .addOption(
      new Option("--network <policy>", "what the function can reach (default: Isolated)").choices([
        "Isolated",
        "Accessible",
      ]),
    )
    .option("--memory <quantity>", "memory limit, such as 64Mi")
    .option("--cpu <quantity>", "cpu limit, such as 250m")
    .addOption(pullOption("--pull <policy>", "IfNotPresent, Always or Never (default: IfNotPresent)"))
    .addOption(
      new Option("-o, --output <format>", "how the FunctionIO is printed").choices(["json", "yaml"]).default("json"),
    )
    // The historic runner's spellings.
    .addOption(pullOption("--image-pull-policy <policy>", "").hideHelp())
    .addOption(new Option("--network-policy <policy>").choices(["Isolated", "Runner"]).hideHelp());
  addRunnerOptions(command).addHelpText("after", HELP);
  command.action(async (image: string, file: string, raw: RawOptions) => {
    const [{ runFunction }, values] = await Promise.all([import("../run/run.ts"), import("../flags/parse-value.ts")]);
    const { timeout, memory, cpu, imagePullPolicy, networkPolicy, ...rest } = raw;
    const historic = networkPolicy === undefined ? undefined : networkPolicy === "Runner" ? "Accessible" : "Isolated";
    const network = raw.network ?? historic;
    const pull = raw.pull ?? imagePullPolicy;
    const flags: RunFlags = {
      ...rest,
      ...(network === undefined ? {} : { network }),
      ...(pull === undefined ? {} : { pull }),
      ...(timeout === undefined ? {} : { timeout: values.durationOption("--timeout", timeout) }),
      ...(memory === undefined ? {} : { memory: values.memoryOption("--memory", memory) }),
      ...(cpu === undefined ? {} : { cpu: values.cpuOption("--cpu", cpu) }),
    };
    finish(await runFunction(image, file, flags, output));
  });
}
