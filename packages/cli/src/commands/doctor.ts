import { choice, declareSettings, one, type SettingsOf, STORE_SETTINGS, toggle } from "@xfn/program/settings";
import type { DoctorOptions } from "../doctor/doctor.ts";
import { type CommandContext, readFlags } from "./command-context.ts";

const SETTINGS: SettingsOf<DoctorOptions & { json?: boolean }> = {
  output: one("output", "<format>", "form of the report: text, json", choice("text", "json"), "text", "text", {
    short: "o",
  }),
  // An earlier spelling.
  json: toggle("json", "print the report as JSON", { hidden: true }),
  cacheDir: STORE_SETTINGS.cacheDir,
};

const HELP = `
Exit code 0 if function containers can run on this host, else 1. Changes nothing.

Example:
  $ xfn doctor
  ok    operating system  Linux 6.12.0
  FAIL  crun              not found on PATH; it starts the containers
                          -> sudo apt-get install -y crun`;

/** Declares `xfn doctor`. */
export function addDoctor({ program, output, finish }: CommandContext): void {
  const command = program
    .command("doctor")
    .description("check this host for rootless containers: what is missing, and how to fix it");
  declareSettings(command, SETTINGS)
    .addHelpText("after", HELP)
    .action(async () => {
      const { json, ...flags } = readFlags(command, SETTINGS);
      const { doctor } = await import("../doctor/doctor.ts");
      finish(await doctor(json === true ? { ...flags, output: "json" } : flags, output));
    });
}
