import { type Composition, isPackageStep, type PackageStep } from "@xfn/composition";
import { type FunctionRequest, type FunctionResponse, type FunctionRun, NO_REQUIREMENTS } from "@xfn/function-grpc";
import { imageOf } from "../steps/package-name.ts";
import type { FunctionConnector } from "../steps/pipeline-input.ts";
import { didYouMean } from "./messages.ts";
import { TestingError } from "./testing-error.ts";

/**
 * The replacement of a function package in a test: the response to a request. What the response leaves out is that of a
 * function that changes nothing.
 */
export type TestPackage = (request: FunctionRequest) => Partial<FunctionResponse> | Promise<Partial<FunctionResponse>>;

/**
 * Connects the package steps of a test to handlers.
 *
 * @param packages by step name or by the name of the Function. The step name takes precedence
 * @throws {TestingError} `MissingFunction` or `UnknownFunction`, before anything runs
 */
export function connectorFor(
  { spec }: Composition,
  packages: Readonly<Record<string, TestPackage>>,
): FunctionConnector {
  const handlers = new Map(Object.entries(packages));
  const steps = (spec.pipeline ?? []).filter(isPackageStep);
  for (const key of handlers.keys()) checkKey(key, steps);
  for (const step of steps) handlerOf(step, handlers);
  return {
    async connect(step) {
      const handler = handlerOf(step, handlers);
      return await Promise.resolve({ run: async (request) => runOf(request, await handler(structuredClone(request))) });
    },
  };
}

/** A run of a package that changes nothing but what the response has. */
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

/** @throws {TestingError} `MissingFunction` */
function handlerOf(step: PackageStep, handlers: ReadonlyMap<string, TestPackage>): TestPackage {
  const handler = handlers.get(step.name) ?? handlers.get(imageOf(step));
  if (handler === undefined) throw missingPackage(step);
  return handler;
}

function checkKey(key: string, steps: readonly PackageStep[]): void {
  const known = steps.flatMap((step) => [step.name, imageOf(step)]);
  if (known.includes(key)) return;
  throw new TestingError(
    "UnknownFunction",
    `packages names ${JSON.stringify(key)}, which is neither a step with functionRef nor its Function${didYouMean(key, known)}`,
  );
}

function missingPackage(step: PackageStep): TestingError {
  return new TestingError(
    "MissingFunction",
    `no handler is given for step "${step.name}" (function ${imageOf(step)}); name it under packages, as in ` +
      `packages: { ${JSON.stringify(step.name)}: handler }`,
  );
}
