import { commandLine, declareSettings, givenFlags, readSettings, UsageError } from "@xfn/program";
import { declareCompletion } from "@xfn/program/completion";
import { CRDS_SETTINGS, START_SETTINGS } from "./start-settings.ts";

const PROGRAM = "xfn-controller";

const START_HELP = `
A flag overrides its variable. Variables of repeatable flags have values separated by commas. Durations are Go's (30s, 1m30s).

Logs go to stderr. After SIGTERM or SIGINT no reconcile starts, and running ones get the time of --shutdown-grace. A second
signal exits at once. Exit codes: 0; 1 after an error or a lost lease; 2 for invalid settings.

Examples:
  # Compositions of templates, with the current context of ~/.kube/config
  $ xfn-controller start

  # with functions, run by an xfn-runner of this user
  $ xfn-runner serve --address unix:$XDG_RUNTIME_DIR/xfn.sock &
  $ xfn-controller start --enable-composition-functions --runner unix:$XDG_RUNTIME_DIR/xfn.sock

  # one of several replicas in a cluster; the runner is the pod's other container
  $ xfn-controller start --leader-election --enable-composition-functions --metrics-address 0.0.0.0:9465`;

const CRDS_HELP = `
\`start\` installs them too, unless it is given --skip-crds. Exit code 0.

Example:
  $ xfn-controller crds | kubectl apply --server-side -f -`;

const ROLES_HELP = `
Prints one ClusterRole for each CompositeResourceDefinition. The controller's role of deploy/ aggregates them by their label. Without
them, it has no access to your kinds. The rules name the kinds of the definition, and those that its Compositions compose. Give CRDs
of composed kinds too: they have the plurals, which are guesses otherwise. Kinds that functions compose must be added by hand.

PATH is a file, a folder, or - for stdin. Exit codes: 0; 2 for files that cannot be used.

Example:
  $ xfn-controller roles definition.yaml composition.yaml provider-crds/ | kubectl apply --server-side -f -`;

/** Runs one command and returns its exit code. Never rejects. @param args the arguments after `xfn-controller` */
export async function main(args: readonly string[]): Promise<number> {
  const { program, version, exitWith, parse } = commandLine(
    PROGRAM,
    "Composes resources in a Kubernetes API server: definitions, Compositions, composite resources and claims",
    new URL("../../package.json", import.meta.url),
  );
  const start = program.command("start").description("run the controllers until a signal ends them");
  declareSettings(start, START_SETTINGS, PROGRAM)
    .addHelpText("after", START_HELP)
    .action(async () => {
      const { config, problems } = readSettings(START_SETTINGS, givenFlags(start), {
        program: PROGRAM,
        environment: process.env,
      });
      const controllers = await import("./start.ts");
      exitWith(await controllers.start(config, problems, version));
    });
  const crds = program.command("crds").description("print the CRDs that the controllers need, as YAML");
  declareSettings(crds, CRDS_SETTINGS)
    .addHelpText("after", CRDS_HELP)
    .action(async () => {
      const { config } = readSettings(CRDS_SETTINGS, givenFlags(crds));
      const { printCrds } = await import("./print-crds.ts");
      const { enablePackages: packages, enableFunctionRuntimes: functionRuntimes } = config;
      const { enableResourceComposition: resourceComposition, enableUsages: usages, enableOperations } = config;
      const optional = { packages, functionRuntimes, resourceComposition, usages, operations: enableOperations };
      const { enableCustomToManagedResourceConversion: managedResources } = config;
      process.stdout.write(printCrds({ ...optional, managedResources, version }));
    });
  program
    .command("roles")
    .description("print the ClusterRoles that the controllers need for definitions and Compositions, as YAML")
    .argument("<path...>", "definitions, Compositions, and CRDs of composed kinds")
    .addHelpText("after", ROLES_HELP)
    .action(async (paths: readonly string[]) => {
      const { printRoles } = await import("./print-roles.ts");
      process.stdout.write(await printRoles(paths));
    });
  declareCompletion(program, {
    arguments: {},
    list: async (kind, words) => {
      const { listValues } = await import("./list-values.ts");
      return await listValues(kind, words);
    },
    write: (text) => void process.stdout.write(text),
    usageError: (message) => new UsageError([message]),
  });
  return await parse(args);
}
