import { Option } from "commander";
import { usageError } from "../errors/cli-error.ts";
import type { RenderOptions } from "../render/render-options.ts";
import { type CommandContext, repeated } from "./command-context.ts";
import { addRunnerOptions, pullOption } from "./shared-options.ts";

const HELP = `
XR and COMPOSITION are YAML or JSON files; one of them may be - for stdin. A COMPOSITION file may hold other documents too.
FUNCTIONS is a file or folder of Function documents (pkg.crossplane.io/v1): the spec.package of a Function takes the place of
the image of the step with the same name. Images are names in the local store (see xfn build), registry references, or
oci:DIR layouts, relative to the file that names them. A Composition of templates alone is rendered without any container.
With --runner, names of images are those of the runner's machine.
A Secret that an observed resource names (spec.writeConnectionSecretToRef) may stand beside it: its connection details.

Prints YAML on stdout: the XR, composed resources by name, then results (-r). After a fatal
result: the XR, whose condition Synced says why, and results (-r). When the run fails, nothing.
Exit code 0; 1 for a fatal result or a failed run; 2 for wrong usage or input.

Example:
  $ xfn render xr.yaml composition.yaml -o observed/ -r`;

// FunctionIO (apiextensions.crossplane.io/v1alpha1) has no place for these: a function could not see them.
const UNAVAILABLE: readonly (readonly [flags: string, attribute: string, why: string])[] = [
  ["-e, --required-resources <path>", "requiredResources", "a FunctionIO function cannot ask for further resources"],
  ["--extra-resources <path>", "extraResources", "a FunctionIO function cannot ask for further resources"],
  ["-s, --required-schemas <dir>", "requiredSchemas", "a FunctionIO function cannot ask for schemas"],
  ["--function-credentials <path>", "functionCredentials", "FunctionIO carries no credentials"],
  ["--context-files <pairs>", "contextFiles", "FunctionIO has no context; give a step its config instead"],
  ["--context-values <pairs>", "contextValues", "FunctionIO has no context; give a step its config instead"],
  ["-c, --include-context", "includeContext", "FunctionIO has no context"],
];

type TraceForm = NonNullable<RenderOptions["trace"]>;
const TRACE_FORMS: readonly TraceForm[] = ["text", "json", "html"];

interface RawOptions extends Omit<RenderOptions, "timeout"> {
  readonly timeout: string;
}

/** Declares `xfn render`. */
export function addRender({ program, output, finish }: CommandContext): void {
  const command = program
    .command("render")
    .description("show what a composition makes of a composite resource (XR), its functions run in containers")
    .argument("<xr>", "the composite resource: a file, or - for stdin")
    .argument("<composition>", "the Composition: a file, or - for stdin")
    .argument("[functions]", "Function documents that replace images: a file or folder")
    .option("-o, --observed-resources <path>", "composed resources that exist: a YAML file or a folder of them")
    .option("--xrd <path>", "the XR's definition: its defaults are applied first (a file or folder)")
    .option(
      "--environment <path>",
      "EnvironmentConfigs for the composition to select from: a file or folder (repeatable)",
      repeated,
    )
    .option("-r, --include-function-results", "print the functions' results as documents")
    .option("-x, --include-full-xr", "print the XR with its spec and metadata, not its name and status alone")
    .option(
      "-a, --function-annotations <key=value>",
      "put an annotation on every Function of FUNCTIONS (repeatable)",
      repeated,
    )
    .addOption(
      new Option(
        "--trace [form]",
        "tell what each step did and who set which field: --trace, --trace=json, --trace=html",
      )
        .choices(TRACE_FORMS)
        .preset("text"),
    )
    .option("--trace-file <file>", "write the trace there instead of to stderr; .json and .html choose the form")
    .option("--timeout <duration>", "stop the whole run after this time", "1m")
    .addOption(
      pullOption("--pull <policy>", "IfNotPresent, Always or Never, for all steps (default: as the Composition says)"),
    )
    // For scripts that were written for the peer: functions here run one after the other.
    .addOption(new Option("--max-concurrency <n>").hideHelp());
  addRunnerOptions(command)
    .option(
      "--runner <endpoint>",
      "functions are run by the runner there (see xfn-runner), such as unix:/run/xfn.sock; composition: by the endpoints that the Composition names",
    )
    .option("--runner-token-file <file>", "token for the runner")
    .option("--runner-ca <file>", "CA of the runner's certificate: TLS")
    .option("--runner-cert <file>", "own certificate for the runner: mTLS")
    .option("--runner-key <file>", "its private key")
    .option("--runner-server-name <name>", "name in the runner's certificate, where it is not the endpoint's host")
    .addHelpText("after", HELP);
  for (const [flags] of UNAVAILABLE) command.addOption(new Option(flags).hideHelp());
  command.action(async (xr: string, composition: string, functions: string | undefined, raw: RawOptions) => {
    for (const [flags, attribute, why] of UNAVAILABLE) {
      if (Object.hasOwn(raw, attribute)) throw usageError(`${flags.replace(/ <.*/, "")} cannot be used: ${why}`);
    }
    checkRunnerFlags(raw);
    const [{ runRender }, { durationOption }] = await Promise.all([
      import("../render/render.ts"),
      import("../flags/parse-value.ts"),
    ]);
    const options = { ...raw, ...traceOptions(raw), timeout: durationOption("--timeout", raw.timeout) };
    finish(await runRender({ xr, composition, ...(functions === undefined ? {} : { functions }) }, options, output));
  });
}

// What would be passed over in silence is a mistake.
function checkRunnerFlags(raw: RawOptions): void {
  const given = (names: readonly (readonly [flag: string, value: unknown])[]): string | undefined =>
    names.find(([, value]) => value !== undefined)?.[0];
  if (raw.runner === undefined) {
    const flag = given([
      ["--runner-token-file", raw.runnerTokenFile],
      ["--runner-ca", raw.runnerCa],
      ["--runner-cert", raw.runnerCert],
      ["--runner-key", raw.runnerKey],
      ["--runner-server-name", raw.runnerServerName],
    ]);
    if (flag !== undefined) throw usageError(`${flag} requires --runner ENDPOINT`);
    return;
  }
  const flag = given([
    ["--registry", raw.registry],
    ["--insecure-registry", raw.insecureRegistry],
    ["--cache-dir", raw.cacheDir],
    ["--allow-unlimited", raw.allowUnlimited],
  ]);
  if (flag !== undefined)
    throw usageError(`${flag} is for functions that run here; with --runner it is the runner's setting`);
}

/** A file alone asks for a trace as well, in the form of its name. */
function traceOptions({ trace, traceFile }: RawOptions): Pick<RenderOptions, "trace"> {
  if (traceFile === "-")
    throw usageError("--trace-file requires the name of a file: stdout is for the rendered objects");
  if (trace !== undefined || traceFile === undefined) return {};
  return { trace: TRACE_FORMS.find((form) => traceFile.endsWith(`.${form}`)) ?? "text" };
}
