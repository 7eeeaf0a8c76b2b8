import { choice, declareSettings, one, type SettingsOf } from "@xfn/program/settings";
import { TEMPLATES, type TemplateName } from "../init/templates.ts";
import { type CommandContext, readFlags } from "./command-context.ts";

const NAMES = Object.keys(TEMPLATES) as TemplateName[];

const SETTINGS: SettingsOf<{ template: TemplateName }> = {
  template: one("template", "<name>", `what to make: ${NAMES.join(", ")}`, choice(...NAMES), "function", "function"),
};

const HELP = `
Templates:
  function      a function in TypeScript, its test, and a Composition that uses it
  composition   a Composition of templates, and its test
  project       a Composition of templates and a function, and tests of both

The project needs npm and Node 24 only. Run from a checkout, it contains the packages that it depends on as tarballs.

Example:
  $ xfn init greeter
  $ cd greeter && npm install && npm test`;

/** Declares `xfn init`. */
export function addInit({ program, output, packageFolder, finish }: CommandContext): void {
  const command = program
    .command("init")
    .description("make a project: a function, a Composition, or both, with tests")
    .argument("<name>", "the folder to make; its name is the project's");
  declareSettings(command, SETTINGS)
    .addHelpText("after", HELP)
    .action(async (path: string) => {
      const { template } = readFlags(command, SETTINGS);
      const { initProject } = await import("../init/init-project.ts");
      finish(await initProject({ path, template, packageFolder, output }));
    });
}
