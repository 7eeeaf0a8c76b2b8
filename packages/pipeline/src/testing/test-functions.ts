import { type Composition, type Step, stepsOf, traitsOf } from "@xfn/composition";
import {
  API_VERSION,
  type FunctionIO,
  fromResourceList,
  KIND,
  type Observed,
  parseFunctionIO,
  parseResourceList,
  printFunctionIO,
  type ResourceListForm,
  toResourceList,
} from "@xfn/functionio";
import { printJson } from "@xfn/json/text";
import { resolveImageName } from "@xfn/oci-rootfs/image-name";
import type { FunctionRunner } from "@xfn/runner-contract";
import { type InProcessFunction, inProcessRunner } from "../in-process.ts";
import type { WebhookCaller } from "../steps/pipeline-input.ts";
import { didYouMean } from "./messages.ts";
import { TestingError } from "./testing-error.ts";

/**
 * The replacement of a step's container in a test. Either a function, such as the result of `compose` of
 * @xfn/functionio/sdk, or a runner, such as `inProcessRunner` or a runner of containers.
 */
export type TestFunction = ((io: FunctionIO) => FunctionIO | Promise<FunctionIO>) | FunctionRunner;

/** How the steps of a test run. */
export interface TestFunctions {
  composition: Composition;
  /** By step name, image or URL. The step name takes precedence. */
  functions: Readonly<Record<string, TestFunction>>;
  /** The runner of all other steps. */
  runner: FunctionRunner | undefined;
  /** The base folder of relative `oci:` images. */
  folder: string | undefined;
}

/** The callers of a test's functions. */
export interface TestCallers {
  runner: FunctionRunner;
  webhooks: WebhookCaller;
}

/**
 * One runner for all steps of a test, and one caller of their webhooks.
 *
 * @throws {TestingError} `MissingFunction` or `UnknownFunction`, before anything runs
 */
export function callersFor(given: TestFunctions): TestCallers {
  const { composition, runner, folder } = given;
  const functions = new Map(Object.entries(given.functions));
  const steps = stepsOf(composition).filter((step) => traitsOf(step).form !== undefined);
  for (const [key, value] of functions) checkFunction(key, value, steps);
  const isMissing = (step: Step): boolean => {
    const { target, caller } = traitsOf(step);
    return !functions.has(step.name) && !functions.has(target) && (runner === undefined || caller !== "runner");
  };
  const missing = steps.filter(isMissing);
  if (missing.length > 0) throw missingFunctions(missing, [...functions.keys()]);
  const run: FunctionRunner["run"] = async (image, input, options = {}) => {
    const found = functions.get(options.step ?? "") ?? functions.get(image);
    if (typeof found === "function") {
      const step = steps.find(({ name }) => name === options.step);
      const { form = "FunctionIO" } = step === undefined ? {} : traitsOf(step);
      const fn = form === "FunctionIO" ? overBytes(found) : overResourceList(found, form);
      return inProcessRunner({ [image]: fn }).run(image, input, options);
    }
    if (found !== undefined) return found.run(image, input, options);
    if (runner === undefined) throw missingFunctions(steps, [...functions.keys()]);
    return runner.run(folder === undefined ? image : resolveImageName(image, folder), input, options);
  };
  return {
    runner: { run },
    webhooks: { call: (url, input, { step, signal }) => run(url, input, { step, signal }) },
  };
}

/**
 * Converts through text, as with a container. This detects values that JSON cannot represent, and separates input from
 * output.
 */
export function overBytes(fn: (io: FunctionIO) => FunctionIO | Promise<FunctionIO>): InProcessFunction {
  return async (input) => {
    const output = await fn(parseFunctionIO(input, { source: "input" }));
    return new TextEncoder().encode(printFunctionIO(output));
  };
}

/**
 * Converts the ResourceList of a step with `io` for a function that takes FunctionIO. As in a real list, the items are
 * both observed and desired resources, and an entry to delete is left out.
 */
export function overResourceList(
  fn: (io: FunctionIO) => FunctionIO | Promise<FunctionIO>,
  form: ResourceListForm,
): InProcessFunction {
  return async (input) => {
    const list = parseResourceList(input, { source: "input" });
    const empty: FunctionIO = { apiVersion: API_VERSION, kind: KIND, observed: {} };
    const { desired = {}, results } = fromResourceList(list, empty);
    const config = list.functionConfig;
    const observed = desired as Observed;
    const given: FunctionIO = {
      ...empty,
      ...(config && { config }),
      observed,
      desired,
      ...(results && { results }),
    };
    const output = parseFunctionIO(await overBytes(fn)(new TextEncoder().encode(printFunctionIO(given)), {}));
    const { composite } = output.desired ?? {};
    const written = toResourceList(
      { ...output, observed: composite === undefined ? { composite: observed.composite ?? {} } : {} },
      form,
    );
    return new TextEncoder().encode(printJson(written));
  };
}

function checkFunction(key: string, value: TestFunction, steps: readonly Step[]): void {
  if (typeof value !== "function" && typeof (value as FunctionRunner | undefined)?.run !== "function") {
    throw new TestingError(
      "UnknownFunction",
      `functions[${JSON.stringify(key)}] is ${value === undefined ? "undefined" : "no function"}; give what compose() ` +
        `returned (the default export of the function's file), or a runner`,
    );
  }
  const known = steps.flatMap((step) => [step.name, traitsOf(step).target]);
  if (known.includes(key)) return;
  throw new TestingError(
    "UnknownFunction",
    `functions names ${JSON.stringify(key)}, which is neither a step of the Composition nor the image or URL of one: ` +
      `${list(steps.map(title))}${didYouMean(key, known)}`,
  );
}

function missingFunctions(missing: readonly Step[], known: readonly string[]): TestingError {
  const [first] = missing;
  return new TestingError(
    "MissingFunction",
    `no function is given for ${list(missing.map(title))}; name it under functions, as in ` +
      `functions: { ${JSON.stringify(first?.name ?? "step")}: handler }, or give a runner for containers. ` +
      `functions has ${list(known.map((name) => JSON.stringify(name)))}`,
  );
}

function title(step: Step): string {
  const { caller, target } = traitsOf(step);
  return `step "${step.name}" (${caller === "webhooks" ? "webhook" : "image"} ${target})`;
}

function list(names: readonly string[]): string {
  return names.join(", ") || "none at all";
}
