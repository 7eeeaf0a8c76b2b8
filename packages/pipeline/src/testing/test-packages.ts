import { type Composition, type PackageStep, packageStepsOf, traitsOf } from "@xfn/composition";
import { type FunctionRequest, type FunctionResponse, type FunctionRun, NO_REQUIREMENTS } from "@xfn/function-grpc";
import type { FunctionConnector } from "../steps/pipeline-input.ts";
import { didYouMean } from "./messages.ts";
import type { PackageContainers } from "./package-containers.ts";
import { TestingError } from "./testing-error.ts";

/**
 * The replacement of a function package in a test: the response to a request. Absent fields are those of a function
 * that changes nothing.
 */
export type TestPackage = (request: FunctionRequest) => Partial<FunctionResponse> | Promise<Partial<FunctionResponse>>;

/**
 * Connects the package steps of a test to handlers, and those without a handler to containers.
 *
 * @param packages by step name or by the name of the Function. The step name takes precedence
 * @throws {TestingError} `MissingFunction` or `UnknownFunction`, before anything runs
 */
export function connectorFor(
  composition: Composition,
  packages: Readonly<Record<string, TestPackage>>,
  containers: PackageContainers,
  signal: AbortSignal | undefined,
): FunctionConnector {
  const handlers = new Map(Object.entries(packages));
  const steps = packageStepsOf(composition);
  for (const key of handlers.keys()) checkKey(key, steps);
  for (const step of steps)
    if (handlerOf(step, handlers) === undefined && !containers.has(step)) throw missingPackage(step, containers.names);
  return {
    async connect(step) {
      const handler = handlerOf(step, handlers);
      if (handler === undefined) return await containers.caller(step, signal);
      return await Promise.resolve({ run: async (request) => runOf(request, await handler(structuredClone(request))) });
    },
  };
}

/** A run of a package that changes only the fields in the response. */
export function runOf(request: FunctionRequest, response: Partial<FunctionResponse>): FunctionRun {
  const { desired, context } = request;
  return {
    response: {
      desired,
      results: [],
      conditions: [],
      requirements: NO_REQUIREMENTS,
      ...(context && { context }),
      ...response,
    },
    rounded: [],
    requestBytes: 0,
    responseBytes: 0,
  };
}

function handlerOf(step: PackageStep, handlers: ReadonlyMap<string, TestPackage>): TestPackage | undefined {
  return handlers.get(step.name) ?? handlers.get(traitsOf(step).target);
}

function checkKey(key: string, steps: readonly PackageStep[]): void {
  const known = steps.flatMap((step) => [step.name, traitsOf(step).target]);
  if (known.includes(key)) return;
  throw new TestingError(
    "UnknownFunction",
    `packages names ${JSON.stringify(key)}, which is neither a step with functionRef nor its Function${didYouMean(key, known)}`,
  );
}

function missingPackage(step: PackageStep, known: readonly string[]): TestingError {
  const name = traitsOf(step).target;
  const has = known.length === 0 ? "" : `. functionPackages has ${known.join(", ")}${didYouMean(name, known)}`;
  return new TestingError(
    "MissingFunction",
    `neither a package nor a handler is given for step "${step.name}" (function ${name}): give the file with its ` +
      `Function, as in functionPackages: file("functions.yaml"), or a handler, as in ` +
      `packages: { ${JSON.stringify(step.name)}: handler }${has}`,
  );
}
