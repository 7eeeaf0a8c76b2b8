import type { CompositionFunction, PullPolicy } from "@xfn/composition";
import { isObject, type JsonValue } from "@xfn/functionio";
import type { ParsedDocument } from "@xfn/functionio/document";
import { documentsByFile, InputError, positionOf } from "@xfn/input";
import { usageError } from "../errors/cli-error.ts";
import { keyAndValue, splitKeyValue } from "../flags/key-value.ts";

/** The overrides of a `Function` document, for the step with its name. */
export interface FunctionOverride {
  readonly name: string;
  readonly image?: string | undefined;
  readonly pullPolicy?: PullPolicy | undefined;
  /** The address of a server that runs already: the runtime Development. */
  readonly target?: string | undefined;
  /** Environment variables of a function package. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Annotations without an effect here. */
  readonly ignored?: readonly string[] | undefined;
}

const API_VERSION = /^pkg\.crossplane\.io\/v1(beta1)?$/;
const RUNTIME = "render.crossplane.io/runtime";
const TARGET = "render.crossplane.io/runtime-development-target";
const DEFAULT_TARGET = "localhost:9443";
const DOCKER = "render.crossplane.io/runtime-docker-";
const DOCKER_PULL_POLICY = `${DOCKER}pull-policy`;
const DOCKER_IMAGE = `${DOCKER}image`;
const DOCKER_ENV = `${DOCKER}env`;
const KNOWN: readonly string[] = [DOCKER_PULL_POLICY, DOCKER_IMAGE, DOCKER_ENV];
const PULL_POLICIES: readonly PullPolicy[] = ["IfNotPresent", "Always", "Never"];

/**
 * Reads FUNCTIONS: a file or folder of `Function` documents (pkg.crossplane.io), as `crossplane render` takes it.
 *
 * @param annotations - `KEY=VALUE` of `-a`, for every Function
 * @throws InputError
 * @throws CliError `Usage` for an unknown runtime
 */
export async function readFunctions(
  path: string,
  annotations: readonly string[],
): Promise<readonly FunctionOverride[]> {
  const annotated = annotations.map((text) => keyAndValue("-a", text));
  // Loaded on demand: most renders have no FUNCTIONS.
  const { absoluteImage } = await import("../input/absolute-image.ts");
  const overrides = (await documentsByFile(path)).flatMap(({ file, documents }) =>
    documents.map((document): FunctionOverride => {
      const override = readFunction(document, annotated);
      return override.image === undefined ? override : { ...override, image: absoluteImage(override.image, file) };
    }),
  );
  const names = overrides.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new InputError(`${path} has two Functions named ${twice}`);
  return overrides;
}

function readFunction(document: ParsedDocument, overrides: readonly (readonly [string, string])[]): FunctionOverride {
  const { value } = document;
  const metadata = isObject(value) && isObject(value["metadata"]) ? value["metadata"] : undefined;
  const apiVersion = isObject(value) ? text(value["apiVersion"]) : undefined;
  if (!isObject(value) || value["kind"] !== "Function" || !API_VERSION.test(apiVersion ?? "")) {
    throw new InputError(
      `${document.source} must hold only documents of kind Function, apiVersion pkg.crossplane.io/v1`,
      { details: [positionOf(document)] },
    );
  }
  const name = text(metadata?.["name"]);
  if (name === undefined) throw new InputError("a Function has no metadata.name", { details: [positionOf(document)] });
  const annotations = new Map([...entries(metadata?.["annotations"]), ...overrides]);
  const isRunning = isDevelopment(annotations.get(RUNTIME), name);
  const spec = isObject(value["spec"]) ? value["spec"] : undefined;
  const image = text(annotations.get(DOCKER_IMAGE)) ?? text(spec?.["package"]);
  const pullPolicy = policy(annotations.get(DOCKER_PULL_POLICY) ?? text(spec?.["packagePullPolicy"]), name);
  const env = environmentOf(annotations.get(DOCKER_ENV), name);
  const ignored = [...annotations.keys()].filter((key) => key.startsWith(DOCKER) && !KNOWN.includes(key));
  const target = isRunning ? (text(annotations.get(TARGET)) ?? DEFAULT_TARGET) : undefined;
  return { name, image, pullPolicy, target, env, ...(ignored.length > 0 && { ignored }) };
}

function isDevelopment(runtime: string | undefined, name: string): boolean {
  // "Docker" asks for a container; xfn starts one without Docker.
  if (runtime === undefined || runtime === "" || runtime === "Docker") return false;
  if (runtime === "Development") return true;
  throw usageError(
    `Function ${name}: ${RUNTIME} is ${JSON.stringify(runtime)}; known are Development, and Docker, which means a container without Docker here`,
  );
}

/** `KEY=VALUE,KEY=VALUE`, as `crossplane render` takes it. */
function environmentOf(value: string | undefined, name: string): Readonly<Record<string, string>> | undefined {
  if (value === undefined || value === "") return undefined;
  return Object.fromEntries(
    value.split(",").map((one) => {
      const pair = splitKeyValue(one);
      if (pair !== undefined) return pair;
      throw new InputError(`Function ${name}: ${DOCKER_ENV} takes KEY=VALUE,KEY=VALUE, not ${JSON.stringify(one)}`);
    }),
  );
}

function policy(value: string | undefined, name: string): PullPolicy | undefined {
  if (value === undefined) return undefined;
  const found = PULL_POLICIES.find((each) => each === value);
  if (found === undefined)
    throw new InputError(
      `Function ${name}: the pull policy must be one of ${PULL_POLICIES.join(", ")}, not ${JSON.stringify(value)}`,
    );
  return found;
}

function entries(annotations: JsonValue | undefined): readonly (readonly [string, string])[] {
  if (!isObject(annotations)) return [];
  return Object.entries(annotations).flatMap(([key, value]) =>
    typeof value === "string" ? [[key, value] as const] : [],
  );
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/**
 * Applies FUNCTIONS and `--pull` to the steps. The package of a Function replaces the image of the step with the same
 * name.
 *
 * @param onUnused - called with the name of each Function that no step has
 * @throws CliError `Usage` for a Function that is a server: a step has a program that reads stdin
 */
export function overrideSteps(
  steps: readonly CompositionFunction[],
  overrides: readonly FunctionOverride[],
  pull: PullPolicy | undefined,
  onUnused: (name: string) => void,
): CompositionFunction[] {
  const byName = new Map(overrides.map((override) => [override.name, override]));
  const server = overrides.find(({ name, target }) => target !== undefined && steps.some((step) => step.name === name));
  if (server !== undefined) {
    throw usageError(
      `Function ${server.name}: ${RUNTIME}: Development means a gRPC server that is already running; a FunctionIO function is a program that reads stdin. Build it with \`xfn build\`, or test it with @xfn/functionio/testing`,
    );
  }
  for (const { name } of overrides) if (!steps.some((step) => step.name === name)) onUnused(name);
  return steps.map((step) => {
    if (step.type === "Webhook") return step;
    const { image, pullPolicy } = byName.get(step.name) ?? {};
    const imagePullPolicy = pull ?? pullPolicy;
    return {
      ...step,
      container: {
        ...step.container,
        ...(image === undefined ? {} : { image }),
        ...(imagePullPolicy === undefined ? {} : { imagePullPolicy }),
      },
    };
  });
}
