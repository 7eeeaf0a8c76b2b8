import type { CompositionFunction, PullPolicy } from "@xfn/composition";
import { isObject, type JsonValue } from "@xfn/functionio";
import type { ParsedDocument } from "@xfn/functionio/document";
import { documentsByFile, InputError, positionOf } from "@xfn/input";
import { usageError } from "../errors/cli-error.ts";

/** The overrides of a `Function` document, for the step with its name. */
export interface FunctionOverride {
  readonly name: string;
  readonly image?: string;
  readonly pullPolicy?: PullPolicy;
}

const API_VERSION = /^pkg\.crossplane\.io\/v1(beta1)?$/;
const RUNTIME = "render.crossplane.io/runtime";
const DOCKER_PULL_POLICY = "render.crossplane.io/runtime-docker-pull-policy";
const PULL_POLICIES: readonly PullPolicy[] = ["IfNotPresent", "Always", "Never"];

/**
 * Reads FUNCTIONS: a file or folder of `Function` documents (pkg.crossplane.io), as `crossplane render` takes it.
 *
 * @param annotations - `KEY=VALUE` of `-a`, for every Function
 * @throws InputError
 * @throws CliError `Usage` for a runtime that FunctionIO does not support
 */
export async function readFunctions(
  path: string,
  annotations: readonly string[],
): Promise<readonly FunctionOverride[]> {
  const annotated = annotations.map(keyAndValue);
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

function keyAndValue(text: string): readonly [string, string] {
  const at = text.indexOf("=");
  if (at <= 0) throw usageError(`-a takes KEY=VALUE, not ${JSON.stringify(text)}`);
  return [text.slice(0, at), text.slice(at + 1)];
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
  checkRuntime(annotations.get(RUNTIME), name);
  const spec = isObject(value["spec"]) ? value["spec"] : undefined;
  const image = text(spec?.["package"]);
  const pullPolicy = policy(annotations.get(DOCKER_PULL_POLICY) ?? text(spec?.["packagePullPolicy"]), name);
  return {
    name,
    ...(image === undefined ? {} : { image }),
    ...(pullPolicy === undefined ? {} : { pullPolicy }),
  };
}

function checkRuntime(runtime: string | undefined, name: string): void {
  // "Docker" asks for a container; xfn starts one without Docker.
  if (runtime === undefined || runtime === "Docker") return;
  if (runtime === "Development") {
    throw usageError(
      `Function ${name}: ${RUNTIME}: Development means a gRPC server that is already running; a FunctionIO function is a program that reads stdin. Build it with \`xfn build\`, or test it with @xfn/functionio/testing`,
    );
  }
  throw usageError(
    `Function ${name}: ${RUNTIME} is ${JSON.stringify(runtime)}; only Docker is known, and means a container without Docker here`,
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
 */
export function overrideSteps(
  steps: readonly CompositionFunction[],
  overrides: readonly FunctionOverride[],
  pull: PullPolicy | undefined,
  onUnused: (name: string) => void,
): CompositionFunction[] {
  const byName = new Map(overrides.map((override) => [override.name, override]));
  for (const { name } of overrides) if (!steps.some((step) => step.name === name)) onUnused(name);
  return steps.map((step) => {
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
