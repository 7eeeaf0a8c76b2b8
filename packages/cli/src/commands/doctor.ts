import type { DoctorOptions } from "../doctor/doctor.ts";
import type { CommandContext } from "./command-context.ts";

const HELP = `
Exit code 0 when function containers can run here, else 1. Nothing is changed.

Example:
  $ xfn doctor
  ok    operating system  Linux 6.12.0
  FAIL  crun              not found on PATH; it starts the containers
                          -> sudo apt-get install -y crun`;

/** Declares `xfn doctor`. */
export function addDoctor({ program, output, finish }: CommandContext): void {
  program
    .command("doctor")
    .description("what rootless containers need on this host, what is missing and how to mend it")
    .option("--json", "print the report as JSON")
    .option("--cache-dir <dir>", "folder for images (default: xfn in the user's cache folder)")
    .addHelpText("after", HELP)
    .action(async (options: DoctorOptions) => {
      const { doctor } = await import("../doctor/doctor.ts");
      finish(await doctor(options, output));
    });
}
