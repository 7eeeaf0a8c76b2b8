import { commandLine, declareSettings, givenFlags, readSettings, UsageError } from "@xfn/program";
import { declareCompletion, flagIn } from "@xfn/program/completion";
import { HEALTH_SETTINGS } from "./health-settings.ts";
import { RUN_SETTINGS } from "./run-settings.ts";
import { SERVE_SETTINGS } from "./serve-settings.ts";

const PROGRAM = "xfn-runner";
const VARIABLES = { program: PROGRAM, environment: process.env };

const SERVE_HELP = `
A flag overrides its variable. Variables of repeatable flags have values separated by commas. Quantities are Kubernetes' (256Mi,
500m), durations Go's (30s, 1m30s).

Logs go to stderr, one line a call. On SIGTERM or SIGINT the runner rejects new calls and gives running ones --shutdown-grace to end.
A second signal ends them at once. Exit code 0; 1 for a fatal error; 2 for wrong settings.

Examples:
  # for this user's own programs: permission to open the socket's file allows calls
  $ xfn-runner serve --address unix:$XDG_RUNTIME_DIR/xfn.sock

  # for Crossplane's core, which dials the default address without a token
  $ xfn-runner serve --insecure-no-auth

  # for a cluster
  $ xfn-runner serve --address 0.0.0.0:7443 --tls-cert tls.crt --tls-key tls.key --tls-client-ca ca.crt \\
      --allow-image registry.example.org/functions --max-memory 512Mi --max-cpu 1`;

const RUN_HELP = `
IMAGE is a name in the local store, a registry reference, or an oci:DIR layout. The function reads FILE, or stdin without it, and
writes to stdout, both unchanged. (\`xfn run\` checks that both are a FunctionIO.)
Exit code 0; 1 for a failed run; 2 for wrong usage; 128 + the signal's number when interrupted.

Example:
  $ xfn-runner run registry.example.org/functions/hello:v1 io.yaml --timeout 5s`;

const HEALTH_HELP = `
Needs no token. Exit code 0 if a container can run, else 1.

Example:
  $ xfn-runner healthcheck --address unix:$XDG_RUNTIME_DIR/xfn.sock`;

/** Runs one command and returns its exit code. Never rejects. @param args the arguments after `xfn-runner` */
export async function main(args: readonly string[]): Promise<number> {
  const { program, version, say, exitWith, parse } = commandLine(
    PROGRAM,
    "Runs composition functions, each call in a fresh rootless container, for callers of its gRPC service",
    new URL("../../package.json", import.meta.url),
  );
  const serve = program.command("serve").description("serve the runner contract on sockets");
  declareSettings(serve, SERVE_SETTINGS, PROGRAM)
    .addHelpText("after", SERVE_HELP)
    .action(async () => {
      const { config, problems } = readSettings(SERVE_SETTINGS, givenFlags(serve), VARIABLES);
      const server = await import("./serve.ts");
      exitWith(await server.serve(config, problems, version));
    });
  const run = program
    .command("run")
    .description("run one function in a container, once")
    .argument("<image>", "the function's image")
    .argument("[file]", "its input, or - for stdin", "-");
  declareSettings(run, RUN_SETTINGS, PROGRAM)
    // The historic runner mapped ids. xfn-runner accepts the flags and ignores them.
    .addOption(run.createOption("--map-root-uid <id>").hideHelp())
    .addOption(run.createOption("--map-root-gid <id>").hideHelp())
    .addHelpText("after", RUN_HELP)
    .action(async (image: string, file: string) => {
      const { config, problems } = readSettings(RUN_SETTINGS, givenFlags(run), VARIABLES);
      const { runOnce } = await import("./run-once.ts");
      exitWith(await runOnce(image, file, config, problems, say));
    });
  const health = program.command("healthcheck").description("ask a runner whether it can run containers, for probes");
  declareSettings(health, HEALTH_SETTINGS, PROGRAM)
    .addHelpText("after", HEALTH_HELP)
    .action(async () => {
      const { config, problems } = readSettings(HEALTH_SETTINGS, givenFlags(health), VARIABLES);
      if (problems.length > 0) throw new UsageError(problems);
      const { healthcheck } = await import("./healthcheck.ts");
      exitWith(await healthcheck(config, say));
    });
  declareCompletion(program, {
    arguments: { run: ["images"] },
    list: async (kind, words) => {
      if (kind !== "images") return [];
      const { imageNames } = await import("./image-names.ts");
      return await imageNames(flagIn(words, "--cache-dir", "-c"));
    },
    write: (text) => void process.stdout.write(text),
    usageError: (message) => new UsageError([message]),
  });
  return await parse(args);
}
