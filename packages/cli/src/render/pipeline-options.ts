import { usageError } from "../errors/cli-error.ts";

/** Flags of `xfn render` for `mode: Pipeline`. */
export interface PipelineOptions {
  /** Files or folders of resources that functions require. */
  readonly requiredResources?: readonly string[];
  /** The same, by the name of Crossplane 1.x. */
  readonly extraResources?: readonly string[];
  /** A folder of OpenAPI v3 documents. */
  readonly requiredSchemas?: string;
  /** A file or folder of Secrets. */
  readonly functionCredentials?: string;
  /** `KEY=FILE`. */
  readonly contextFiles?: readonly string[];
  /** `KEY=VALUE`. */
  readonly contextValues?: readonly string[];
  readonly includeContext?: boolean;
  /** Whether each call of a function package runs in a new container. */
  readonly freshFunctions?: boolean;
}

const RESOURCES = "a FunctionIO function cannot ask for further resources";
const CONTEXT = "FunctionIO has no context; give a step its config instead";

/** Why a flag has no effect on functions[]. */
const REASONS: readonly (readonly [option: keyof PipelineOptions, flag: string, why: string])[] = [
  ["requiredResources", "--required-resources", RESOURCES],
  ["extraResources", "--extra-resources", RESOURCES],
  ["requiredSchemas", "--required-schemas", "a FunctionIO function cannot ask for schemas"],
  [
    "functionCredentials",
    "--function-credentials",
    "FunctionIO carries no credentials, and no webhook of the Composition has any",
  ],
  ["contextFiles", "--context-files", CONTEXT],
  ["contextValues", "--context-values", CONTEXT],
  ["includeContext", "--include-context", CONTEXT],
  ["freshFunctions", "--fresh-functions", "each call of a FunctionIO function has a container of its own"],
];

/**
 * Refuses the flags of `mode: Pipeline` for other Compositions: a flag without an effect is a mistake of the user.
 *
 * @param accepted - the flags that the Composition can use all the same
 * @throws CliError `Usage`
 */
export function refusePipelineOptions(options: PipelineOptions, accepted: readonly (keyof PipelineOptions)[]): void {
  for (const [option, flag, why] of REASONS) {
    if (accepted.includes(option)) continue;
    const value = options[option];
    const isGiven = Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
    if (isGiven) throw usageError(`${flag} cannot be used: ${why}. Only a Composition with mode: Pipeline can use it`);
  }
}
