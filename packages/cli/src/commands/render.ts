import {
  choice,
  duration,
  group,
  one,
  optional,
  pullPolicy,
  type SettingsOf,
  settings,
  text,
  texts,
  tlsClientSettings,
  toggle,
} from "@xfn/program/settings";
import { usageError } from "../errors/cli-error.ts";
import { type RenderOptions, TRACE_FORMS } from "../render/render-options.ts";
import type { Output } from "../terminal/output.ts";
import { warning } from "../terminal/warning.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";
import { REGISTRY_SETTINGS, RUNNER_SETTINGS } from "./shared-settings.ts";

/** Flags that xfn accepts for scripts that were written for `crossplane render`. */
export interface PeerFlags {
  readonly maxConcurrency?: string;
  readonly crossplaneBinary?: string;
  readonly crossplaneVersion?: string;
}

const PIPELINE_ONLY = "(mode: Pipeline)";

export const RENDER_SETTINGS: SettingsOf<RenderOptions & PeerFlags> = settings({
  ...group("Input", {
    observedResources: text("<path>", "composed resources that exist: a YAML file or a folder of them", { short: "o" }),
    xrd: text("<path>", "the XR's definition: validates the XR and applies its defaults first (a file or folder)"),
    crds: texts(
      "<list>",
      "CRDs and definitions for steps with schema: Strict: files, folders or packages, as for xfn validate",
    ),
    environment: texts("<path>", "EnvironmentConfigs for the composition to select from: a file or folder"),
    functionAnnotations: texts("<key=value>", "put an annotation on every Function of FUNCTIONS", { short: "a" }),
  }),
  ...group("Input of mode: Pipeline", {
    requiredResources: texts("<path>", `resources that functions may require: a file or folder ${PIPELINE_ONLY}`, {
      short: "e",
    }),
    extraResources: texts("<path>", "the older name of --required-resources"),
    requiredSchemas: text(
      "<dir>",
      `OpenAPI v3 documents that functions may require: a folder of JSON files ${PIPELINE_ONLY}`,
      { short: "s" },
    ),
    functionCredentials: text("<path>", `Secrets that steps name as credentials: a file or folder ${PIPELINE_ONLY}`),
    contextFiles: texts("<key=file>", `a value of the first context, in YAML or JSON ${PIPELINE_ONLY}`),
    contextValues: texts("<key=value>", "the same, as text; it wins over a file"),
  }),
  ...group("Output", {
    output: optional(
      "<format>",
      "format of stdout: yaml, or json for one List; -o yaml and -o json mean this flag",
      choice("yaml", "json"),
      { shown: "yaml" },
    ),
    includeFullXr: toggle("print the XR with its spec and metadata, not its name and status alone", { short: "x" }),
    includeFunctionResults: toggle("print the functions' results as documents", { short: "r" }),
    includeContext: toggle(`print the context after the last step ${PIPELINE_ONLY}`, { short: "c" }),
    functionStderr: toggle(
      "print what functions write to stderr, such as with console.log, with secrets masked; --watch always does",
    ),
    watch: toggle("render again after each change of a file, and print the difference; Ctrl-C ends"),
  }),
  ...group("Trace and recording", {
    trace: optional(
      "[form]",
      "report what each step did and which step set which field: --trace, --trace=json, --trace=html",
      choice(...TRACE_FORMS),
    ),
    traceFile: text("<file>", "write the trace there instead of to stderr; .json and .html choose the form"),
    record: text("<dir>", "keep what each function receives and returns in this folder, with secrets masked"),
    replay: text(
      "<dir>",
      "render with the outputs of that folder, without functions; fails if the input of a step differs",
    ),
    ignoreDifferences: toggle("with --replay: only warn if the input of a step differs"),
    notSecret: texts(
      "<name>",
      "show values of fields, connection details and Secret keys with this name in the trace and the recording",
    ),
  }),
  ...group("Functions", {
    timeout: one("<duration>", "stop the whole run after this time", duration, "1m"),
    pull: optional("<policy>", "IfNotPresent, Always or Never, for all steps", pullPolicy, {
      shown: "as the Composition says",
    }),
    freshFunctions: toggle(
      `run each call of a function package in a new container, so that calls share no state ${PIPELINE_ONLY}`,
    ),
    maxOutput: RUNNER_SETTINGS.maxOutput,
    allowUnlimited: RUNNER_SETTINGS.allowUnlimited,
    allowChroot: toggle("run functions of type: Chroot, which only a root directory and a user separate (as root)"),
    ociRuntime: RUNNER_SETTINGS.ociRuntime,
    rootfs: RUNNER_SETTINGS.rootfs,
    cacheDir: RUNNER_SETTINGS.cacheDir,
  }),
  ...group("Registries", { registry: RUNNER_SETTINGS.registry, ...REGISTRY_SETTINGS }),
  ...group("Runner in another process", {
    runner: text(
      "<endpoint>",
      "run functions at this runner (see xfn-runner), such as unix:/run/xfn.sock; composition: at the endpoints in the Composition",
    ),
    runnerTokenFile: text("<file>", "token for the runner"),
    ...tlsClientSettings("runner"),
  }),
  // Ignored: functions run one after the other.
  maxConcurrency: text("<n>", "", { hidden: true }),
  // Ignored with a warning: they choose what renders.
  crossplaneBinary: text("<file>", "", { hidden: true }),
  crossplaneVersion: text("<version>", "", { hidden: true }),
});

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
export function addRender(context: CommandContext): void {
  const { output } = context;
  declareCommand(context, "render", {
    description: "render a composition for a composite resource (XR), with its functions in containers",
    arguments: {
      "<xr>": "the composite resource: a file, or - for stdin",
      "<composition>": "the Composition: a file, or - for stdin",
      "[functions]": "the Functions that the Composition names: a file or folder",
    },
    settings: RENDER_SETTINGS,
    help: HELP,
    run: async (flags, xr: string, composition: string, functions?: string) => {
      checkRunnerFlags(flags);
      checkReplayFlags(flags);
      noteEngineFlags(flags, output);
      const { runRender } = await import("../render/render.ts");
      return await runRender({ xr, composition, functions }, { ...flags, ...traceOptions(flags) }, output);
    },
  });
}

/** Warns of flags that choose what renders. */
export function noteEngineFlags(flags: PeerFlags, output: Output): void {
  for (const flag of ["crossplaneBinary", "crossplaneVersion"] as const)
    if (flags[flag] !== undefined)
      output.note(warning(`--${RENDER_SETTINGS[flag].name} has no effect: xfn itself renders`));
}

/** The first of these flags that has another value than its default. */
function given(flags: Partial<RenderOptions>, keys: readonly (keyof RenderOptions)[]): string | undefined {
  const key = keys.find((one) => flags[one] !== undefined && flags[one] !== RENDER_SETTINGS[one].standard);
  return key && `--${RENDER_SETTINGS[key].name}`;
}

/** A flag without an effect is a mistake of the user. @throws CliError `Usage` */
export function checkRunnerFlags(flags: Partial<RenderOptions>): void {
  if (flags.runner === undefined) {
    const flag = given(flags, ["runnerTokenFile", "runnerCa", "runnerCert", "runnerKey", "runnerServerName"]);
    if (flag !== undefined) throw usageError(`${flag} requires --runner ENDPOINT`);
    return;
  }
  const flag = given(flags, [
    "registry",
    "insecureRegistry",
    "cacheDir",
    "allowUnlimited",
    "allowChroot",
    "ociRuntime",
  ]);
  if (flag !== undefined)
    throw usageError(`${flag} applies to functions that run here; with --runner, it is a setting of the runner`);
}

function checkReplayFlags(flags: RenderOptions): void {
  const { record, replay, ignoreDifferences = false } = flags;
  if (replay === undefined) {
    if (ignoreDifferences) throw usageError("--ignore-differences requires --replay DIR");
    return;
  }
  if (record !== undefined) throw usageError("--record and --replay exclude each other: a replay calls no function");
  const flag = given(flags, [
    "runner",
    "pull",
    "registry",
    "cacheDir",
    "allowUnlimited",
    "allowChroot",
    "freshFunctions",
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
