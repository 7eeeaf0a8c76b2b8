import { type Command, InvalidArgumentError, Option } from "commander";
import { repeated } from "./command-context.ts";

/** The options of every command that runs containers. */
export function addRunnerOptions(command: Command): Command {
  return addRegistryOptions(command)
    .option("--allow-unlimited", "run without a limit that this host cannot enforce, with a warning")
    .option("--registry <host>", "registry for image names without one (default: docker.io)")
    .addOption(
      new Option("--rootfs <mode>", "how root file systems are made")
        .choices(["auto", "overlay", "copy"])
        .default("auto"),
    )
    .option("--cache-dir <dir>", "folder for images (default: xfn in the user's cache folder)");
}

/** How registries are talked to; credentials are those of `docker login`. */
export function addRegistryOptions(command: Command): Command {
  return command
    .option("--insecure-registry <host>", "speak http to this registry (repeatable)", repeated)
    .option("--mirror <registry=host>", "ask this host first for images of a registry (repeatable)", repeated)
    .option("--registry-ca <file>", "trust certificates of these authorities too (PEM; repeatable)", repeated)
    .option(
      "--trusted-realm <host>",
      "send credentials to this token server, although it is not the registry's own host (repeatable)",
      repeated,
    );
}

/** When images are pulled. */
export function pullOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser((value) => {
    // The historic runner wrote policies in lower case as well.
    const found = ["IfNotPresent", "Always", "Never"].find((policy) => policy.toLowerCase() === value.toLowerCase());
    if (found === undefined) throw new InvalidArgumentError("Allowed are IfNotPresent, Always and Never.");
    return found;
  });
}
