import { usageError } from "../errors/cli-error.ts";
import type { TemplateName } from "../init/templates.ts";
import type { CommandContext } from "./command-context.ts";

const HELP = `
Templates:
  function      a function in TypeScript, its test, and a Composition that uses it (default)
  composition   a Composition of templates, and its test
  project       a Composition of templates and a function, and tests of both

The project needs npm only. Run from a checkout, it contains the packages that it depends on as tarballs.

Example:
  $ xfn init greeter
  $ cd greeter && npm install && npm test`;

const NAMES: readonly TemplateName[] = ["function", "composition", "project"];

/** Declares `xfn init`. */
export function addInit({ program, output, packageFolder, finish }: CommandContext): void {
  program
    .command("init")
    .description("make a project: a function, a Composition, or both, with tests")
    .argument("<name>", "the folder to make; its name is the project's")
    .option("--template <name>", `what to make: ${NAMES.join(", ")}`, "function")
    .addHelpText("after", HELP)
    .action(async (path: string, { template }: { template: string }) => {
      const known = NAMES.find((name) => name === template);
      if (known === undefined)
        throw usageError(`--template must be ${NAMES.join(", ")}, not ${JSON.stringify(template)}`);
      const { initProject } = await import("../init/init-project.ts");
      finish(await initProject({ path, template: known, packageFolder, output }));
    });
}
