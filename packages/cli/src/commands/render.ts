import {
  anyText,
  choice,
  declareSettings,
  duration,
  type HelpGroups,
  many,
  one,
  optional,
  pullPolicy,
  type SettingsOf,
  tlsClientSettings,
  toggle,
} from "@xfn/program/settings";
import { usageError } from "../errors/cli-error.ts";
import type { PipelineOptions } from "../render/pipeline-options.ts";
import type { RenderOptions } from "../render/render-options.ts";
import { warning } from "../terminal/warning.ts";
import { type CommandContext, readFlags } from "./command-context.ts";
import { RUNNER_SETTINGS } from "./shared-settings.ts";

const DEFAULT_TIMEOUT_MS = 60_000;

type TraceForm = NonNullable<RenderOptions["trace"]>;
const TRACE_FORMS: readonly TraceForm[] = ["text", "json", "html"];

const RUNNER_TLS = tlsClientSettings("runner");

/** Flags that xfn accepts for scripts that were written for `crossplane render`. */
interface PeerFlags {
  readonly maxConcurrency?: string;
  readonly crossplaneBinary?: string;
  readonly crossplaneVersion?: string;
}

const PIPELINE_ONLY = "(mode: Pipeline)";

const PIPELINE_SETTINGS: SettingsOf<PipelineOptions & PeerFlags> = {
  requiredResources: many(
    "required-resources",
    "<path>",
    `resources that functions may require: a file or folder ${PIPELINE_ONLY}`,
    anyText,
    [],
    undefined,
    { short: "e" },
  ),
  extraResources: many("extra-resources", "<path>", "the older name of --required-resources", anyText, []),
  requiredSchemas: optional(
    "required-schemas",
    "<dir>",
    `OpenAPI v3 documents that functions may require: a folder of JSON files ${PIPELINE_ONLY}`,
    anyText,
    { short: "s" },
  ),
  functionCredentials: optional(
    "function-credentials",
    "<path>",
    `Secrets that steps name as credentials: a file or folder ${PIPELINE_ONLY}`,
    anyText,
  ),
  contextFiles: many(
    "context-files",
    "<key=file>",
    `a value of the first context, in YAML or JSON ${PIPELINE_ONLY}`,
    anyText,
    [],
  ),
  contextValues: many("context-values", "<key=value>", "the same, as text; it wins over a file", anyText, []),
  includeContext: toggle("include-context", `print the context after the last step ${PIPELINE_ONLY}`, { short: "c" }),
  freshFunctions: toggle(
    "fresh-functions",
    `run each call of a function package in a new container, so that calls share no state ${PIPELINE_ONLY}`,
  ),
  // Ignored: functions run one after the other.
  maxConcurrency: optional("max-concurrency", "<n>", "", anyText, { hidden: true }),
  // Ignored with a warning: they choose what renders.
  crossplaneBinary: optional("crossplane-binary", "<file>", "", anyText, { hidden: true }),
  crossplaneVersion: optional("crossplane-version", "<version>", "", anyText, { hidden: true }),
};

export const RENDER_SETTINGS: SettingsOf<RenderOptions & PeerFlags> = {
  observedResources: optional(
    "observed-resources",
    "<path>",
    "composed resources that exist: a YAML file or a folder of them",
    anyText,
    { short: "o" },
  ),
  output: optional(
    "output",
    "<format>",
    "format of stdout: yaml, or json for one List; -o yaml and -o json mean this flag",
    choice("yaml", "json"),
    { shown: "yaml" },
  ),
  xrd: optional(
    "xrd",
    "<path>",
    "the XR's definition: validates the XR and applies its defaults first (a file or folder)",
    anyText,
  ),
  crds: many(
    "crds",
    "<list>",
    "CRDs and definitions for steps with schema: Strict: files, folders or packages, as for xfn validate",
    anyText,
    [],
  ),
  environment: many(
    "environment",
    "<path>",
    "EnvironmentConfigs for the composition to select from: a file or folder",
    anyText,
    [],
  ),
  includeFunctionResults: toggle("include-function-results", "print the functions' results as documents", {
    short: "r",
  }),
  includeFullXr: toggle("include-full-xr", "print the XR with its spec and metadata, not its name and status alone", {
    short: "x",
  }),
  functionAnnotations: many(
    "function-annotations",
    "<key=value>",
    "put an annotation on every Function of FUNCTIONS",
    anyText,
    [],
    undefined,
    { short: "a" },
  ),
  trace: optional(
    "trace",
    "[form]",
    "report what each step did and which step set which field: --trace, --trace=json, --trace=html",
    choice(...TRACE_FORMS),
  ),
  traceFile: optional(
    "trace-file",
    "<file>",
    "write the trace there instead of to stderr; .json and .html choose the form",
    anyText,
  ),
  functionStderr: toggle(
    "function-stderr",
    "print what functions write to stderr, such as with console.log, with secrets masked; --watch always does",
  ),
  record: optional(
    "record",
    "<dir>",
    "keep what each function receives and returns in this folder, with secrets masked",
    anyText,
  ),
  replay: optional(
    "replay",
    "<dir>",
    "render with the outputs of that folder, without functions; fails if the input of a step differs",
    anyText,
  ),
  ignoreDifferences: toggle("ignore-differences", "with --replay: only warn if the input of a step differs"),
  notSecret: many(
    "not-secret",
    "<name>",
    "show values of fields, connection details and Secret keys with this name in the trace and the recording",
    anyText,
    [],
  ),
  timeout: one("timeout", "<duration>", "stop the whole run after this time", duration, DEFAULT_TIMEOUT_MS, "1m"),
  watch: toggle("watch", "render again after each change of a file, and print the difference; Ctrl-C ends"),
  pull: optional("pull", "<policy>", "IfNotPresent, Always or Never, for all steps", pullPolicy, {
    shown: "as the Composition says",
  }),
  ...PIPELINE_SETTINGS,
  ...RUNNER_SETTINGS,
  allowChroot: toggle(
    "allow-chroot",
    "run functions of type: Chroot, which only a root directory and a user separate (as root)",
  ),
  runner: optional(
    "runner",
    "<endpoint>",
    "run functions at this runner (see xfn-runner), such as unix:/run/xfn.sock; composition: at the endpoints in the Composition",
    anyText,
  ),
  runnerTokenFile: optional("runner-token-file", "<file>", "token for the runner", anyText),
  runnerCa: RUNNER_TLS.ca,
  runnerCert: RUNNER_TLS.cert,
  runnerKey: RUNNER_TLS.key,
  runnerServerName: RUNNER_TLS.serverName,
};

/** The flags as the help shows them. */
export const RENDER_GROUPS: HelpGroups<RenderOptions & PeerFlags> = {
  Input: ["observedResources", "xrd", "crds", "environment", "functionAnnotations"],
  "Input of mode: Pipeline": [
    "requiredResources",
    "extraResources",
    "requiredSchemas",
    "functionCredentials",
    "contextFiles",
    "contextValues",
  ],
  Output: ["output", "includeFullXr", "includeFunctionResults", "includeContext", "functionStderr", "watch"],
  "Trace and recording": ["trace", "traceFile", "record", "replay", "ignoreDifferences", "notSecret"],
  Functions: [
    "timeout",
    "pull",
    "freshFunctions",
    "maxOutput",
    "allowUnlimited",
    "allowChroot",
    "ociRuntime",
    "rootfs",
    "cacheDir",
  ],
  Registries: ["registry", "insecureRegistry", "mirror", "registryCa", "trustedRealm"],
  "Runner in another process": ["runner", "runnerTokenFile", "runnerCa", "runnerCert", "runnerKey", "runnerServerName"],
  "Without effect, for scripts": ["maxConcurrency", "crossplaneBinary", "crossplaneVersion"],
};

const HELP = `
XR and COMPOSITION are YAML or JSON files; one input may be - for stdin. A COMPOSITION file may contain other documents too.
FUNCTIONS is a file or folder of Function documents (pkg.crossplane.io/v1): the packages of the steps of mode: Pipeline that name
them. Steps with functionRef.package need none. Without that mode, the spec.package of a Function replaces the image of the step with the same name. Images are names in the
local store (see xfn build), registry references, or oci:DIR layouts, relative to the file that names them. A step can also name the
folder of a function, such as image: ./functions/db or functionRef.package: ./functions/db: render builds it each time, without a
check of types. A Composition of templates alone is rendered without any container.
With --runner, names of images are those of the runner's machine.
The files of -o may also contain the Secrets that observed resources, or the XR, name in spec.writeConnectionSecretToRef: their
connection details.

Prints YAML or JSON on stdout: the XR, composed resources by name, then results (-r). After a fatal
result: the XR, whose condition Synced has the reason, and results (-r). If the run fails, prints nothing.
Exit code 0; 1 for a fatal result or a failed run; 2 for wrong usage or input.

Example:
  $ xfn render xr.yaml composition.yaml -o observed/ -r
  $ xfn render xr.yaml composition.yaml --xrd definition.yaml --crds crds/,xpkg:example.org/provider:v1 --trace
  $ xfn render xr.yaml composition.yaml --watch
  $ xfn render xr.yaml composition.yaml --record recording/
  $ xfn render xr.yaml composition.yaml --replay recording/`;

/** Declares `xfn render`. */
export function addRender({ program, output, finish }: CommandContext): void {
  const command = program
    .command("render")
    .description("render a composition for a composite resource (XR), with its functions in containers")
    .argument("<xr>", "the composite resource: a file, or - for stdin")
    .argument("<composition>", "the Composition: a file, or - for stdin")
    .argument("[functions]", "the Functions that the Composition names: a file or folder");
  declareSettings(command, RENDER_SETTINGS, { groups: RENDER_GROUPS })
    .addHelpText("after", HELP)
    .action(async (xr: string, composition: string, functions: string | undefined) => {
      const flags = readFlags(command, RENDER_SETTINGS);
      checkRunnerFlags(flags);
      checkReplayFlags(flags);
      for (const flag of ["crossplaneBinary", "crossplaneVersion"] as const)
        if (flags[flag] !== undefined)
          output.note(warning(`--${RENDER_SETTINGS[flag].name} has no effect: xfn itself renders`));
      const options = { ...flags, ...traceOptions(flags) };
      const { runRender } = await import("../render/render.ts");
      finish(await runRender({ xr, composition, functions }, options, output));
    });
}

/** The first flag that has a value. */
function given(flags: readonly (readonly [flag: string, value: unknown])[]): string | undefined {
  return flags.find(([, value]) => value !== undefined && value !== false)?.[0];
}

// A flag without an effect is a mistake of the user.
function checkRunnerFlags(raw: RenderOptions): void {
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
    ["--allow-chroot", raw.allowChroot],
    ["--oci-runtime", raw.ociRuntime === RUNNER_SETTINGS.ociRuntime.standard ? undefined : raw.ociRuntime],
  ]);
  if (flag !== undefined)
    throw usageError(`${flag} applies to functions that run here; with --runner, it is a setting of the runner`);
}

function checkReplayFlags(raw: RenderOptions): void {
  const { record, replay, ignoreDifferences = false } = raw;
  if (replay === undefined) {
    if (ignoreDifferences) throw usageError("--ignore-differences requires --replay DIR");
    return;
  }
  if (record !== undefined) throw usageError("--record and --replay exclude each other: a replay calls no function");
  const flag = given([
    ["--runner", raw.runner],
    ["--pull", raw.pull],
    ["--registry", raw.registry],
    ["--cache-dir", raw.cacheDir],
    ["--allow-unlimited", raw.allowUnlimited],
    ["--allow-chroot", raw.allowChroot],
    ["--fresh-functions", raw.freshFunctions],
  ]);
  if (flag !== undefined) throw usageError(`${flag} and --replay exclude each other: a replay calls no function`);
}

/** A file without `--trace` requests a trace too, in the form of its name. */
function traceOptions({ trace, traceFile }: RenderOptions): Pick<RenderOptions, "trace"> {
  if (traceFile === "-")
    throw usageError("--trace-file requires the name of a file: stdout is for the rendered objects");
  if (trace !== undefined || traceFile === undefined) return {};
  return { trace: TRACE_FORMS.find((form) => traceFile.endsWith(`.${form}`)) ?? "text" };
}
