import type { PullPolicy } from "@xfn/composition";
import { parseTarget } from "@xfn/function-grpc";
import { type JsonValue, textAt, textOrEmpty, textsAt } from "@xfn/json";
import { FunctionPackageError } from "./function-package-error.ts";

/** The package of a function, as its `Function` document describes it. */
export interface FunctionPackage {
  readonly name: string;
  readonly image?: string | undefined;
  readonly pullPolicy?: PullPolicy | undefined;
  /** The address of a server that runs already: the runtime Development. */
  readonly target?: string | undefined;
  /** Environment variables of the server. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Annotations without an effect here. */
  readonly ignored?: readonly string[] | undefined;
}

const API_VERSION = /^pkg\.crossplane\.io\/v1(beta1)?$/;
/** The annotation that chooses where a function runs. */
export const RUNTIME_ANNOTATION = "render.crossplane.io/runtime";
const TARGET = "render.crossplane.io/runtime-development-target";
const DEFAULT_TARGET = "localhost:9443";
const DOCKER = "render.crossplane.io/runtime-docker-";
const DOCKER_PULL_POLICY = `${DOCKER}pull-policy`;
const DOCKER_IMAGE = `${DOCKER}image`;
const DOCKER_ENV = `${DOCKER}env`;
const KNOWN: readonly string[] = [DOCKER_PULL_POLICY, DOCKER_IMAGE, DOCKER_ENV];
const PULL_POLICIES: readonly PullPolicy[] = ["IfNotPresent", "Always", "Never"];

/**
 * Reads a `Function` document (pkg.crossplane.io), with the annotations of `crossplane render`.
 *
 * @param overrides - annotations that win over those of the document
 * @throws {FunctionPackageError} `InvalidFunction`; the message does not name the file
 */
export function readFunctionDocument(
  value: JsonValue,
  overrides: readonly (readonly [string, string])[] = [],
): FunctionPackage {
  if (textAt(value, "kind") !== "Function" || !API_VERSION.test(textOrEmpty(value, "apiVersion")))
    throw invalid("expected only documents of kind Function, apiVersion pkg.crossplane.io/v1");
  const name = textAt(value, "metadata", "name");
  if (name === undefined) throw invalid("a Function has no metadata.name");
  const annotations = new Map([...Object.entries(textsAt(value, "metadata", "annotations")), ...overrides]);
  const isRunning = isDevelopment(annotations.get(RUNTIME_ANNOTATION), name);
  const image = annotations.get(DOCKER_IMAGE) || textAt(value, "spec", "package");
  const pullPolicy = policy(annotations.get(DOCKER_PULL_POLICY) ?? textAt(value, "spec", "packagePullPolicy"), name);
  const env = environmentOf(annotations.get(DOCKER_ENV), name);
  const ignored = [...annotations.keys()].filter((key) => key.startsWith(DOCKER) && !KNOWN.includes(key));
  const target = isRunning ? targetOf(annotations.get(TARGET) || DEFAULT_TARGET, name) : undefined;
  return { name, image, pullPolicy, target, env, ...(ignored.length > 0 && { ignored }) };
}

/** The first name that two functions have. */
export function duplicateName(functions: readonly Pick<FunctionPackage, "name">[]): string | undefined {
  const names = functions.map(({ name }) => name);
  return names.find((name, index) => names.indexOf(name) !== index);
}

function isDevelopment(runtime: string | undefined, name: string): boolean {
  // "Docker" asks for a container; xfn starts one without Docker.
  if (runtime === undefined || runtime === "" || runtime === "Docker") return false;
  if (runtime === "Development") return true;
  throw invalid(
    `Function ${name}: ${RUNTIME_ANNOTATION} is ${JSON.stringify(runtime)}; known are Development, and Docker, which means a container without Docker here`,
  );
}

function targetOf(target: string, name: string): string {
  if (parseTarget(target) !== undefined) return target;
  throw invalid(
    `Function ${name}: ${TARGET} must be HOST:PORT, the address on which the function listens, with a port from 1 to 65535, not ${JSON.stringify(target)}`,
  );
}

/** `KEY=VALUE,KEY=VALUE`, as `crossplane render` takes it. */
function environmentOf(value: string | undefined, name: string): Readonly<Record<string, string>> | undefined {
  if (value === undefined || value === "") return undefined;
  return Object.fromEntries(
    value.split(",").map((one) => {
      const at = one.indexOf("=");
      if (at > 0) return [one.slice(0, at), one.slice(at + 1)];
      throw invalid(`Function ${name}: ${DOCKER_ENV} takes KEY=VALUE,KEY=VALUE, not ${JSON.stringify(one)}`);
    }),
  );
}

function policy(value: string | undefined, name: string): PullPolicy | undefined {
  if (value === undefined) return undefined;
  const found = PULL_POLICIES.find((each) => each === value);
  if (found !== undefined) return found;
  throw invalid(
    `Function ${name}: the pull policy must be one of ${PULL_POLICIES.join(", ")}, not ${JSON.stringify(value)}`,
  );
}

function invalid(message: string): FunctionPackageError {
  return new FunctionPackageError("InvalidFunction", message);
}
