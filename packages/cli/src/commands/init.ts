import { choice, one, type SettingsOf, settings } from "@xfn/program/settings";
import { TEMPLATES, type TemplateName } from "../init/templates.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";

const NAMES = Object.keys(TEMPLATES) as TemplateName[];

const SETTINGS: SettingsOf<{ template: TemplateName }> = settings({
  template: one("<name>", `what to make: ${NAMES.join(", ")}`, choice(...NAMES), "function"),
});

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
export function addInit(context: CommandContext): void {
  const { packageFolder, output } = context;
  declareCommand(context, "init", {
    description: "make a project: a function, a Composition, or both, with tests",
    arguments: { "<name>": "the folder to make; its name is the project's" },
    settings: SETTINGS,
    help: HELP,
    run: async ({ template }, path: string) => {
      const { initProject } = await import("../init/init-project.ts");
      return await initProject({ path, template, packageFolder, output });
    },
  });
}
