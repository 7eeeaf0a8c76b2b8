import { choice, one, type SettingsOf, STORE_SETTINGS, settings, toggle } from "@xfn/program/settings";
import type { DoctorOptions } from "../doctor/doctor.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";
import { CLUSTER_SETTINGS } from "./shared-settings.ts";

const SETTINGS: SettingsOf<DoctorOptions & { json?: boolean }> = settings({
  output: one("<format>", "form of the report: text, json", choice("text", "json"), "text", { short: "o" }),
  // An earlier spelling.
  json: toggle("print the report as JSON", { hidden: true }),
  cacheDir: STORE_SETTINGS.cacheDir,
  cluster: toggle("check a cluster in place of this host: whether usages protect objects from deletion"),
  ...CLUSTER_SETTINGS,
});

const HELP = `
Exit code 0 if function containers can run on this host, else 1. Changes nothing.

With --cluster it reports whether the admission webhook of usages is configured and answers. For that it asks the API server for a dry run of
the deletion of an object in use. Exit code 1 if objects in use are not protected, or cannot be deleted because the webhook does not answer.

Example:
  $ xfn doctor
  ok    operating system  Linux 6.12.0
  FAIL  crun              not found on PATH; it starts the containers
                          -> sudo apt-get install -y crun`;

/** Declares `xfn doctor`. */
export function addDoctor(context: CommandContext): void {
  declareCommand(context, "doctor", {
    description: "check this host for rootless containers, or a cluster: what is missing, and how to fix it",
    settings: SETTINGS,
    help: HELP,
    run: async ({ json, ...flags }) => {
      const { doctor } = await import("../doctor/doctor.ts");
      return await doctor(json === true ? { ...flags, output: "json" } : flags, context.output);
    },
  });
}
