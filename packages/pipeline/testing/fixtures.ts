// Fixtures of this package's tests: an XR, a Composition, and functions in this process.
import { type Composition, parseComposition } from "@xfn/composition";
import { type FunctionIO, parseFunctionIO, printFunctionIO } from "@xfn/functionio";
import type { JsonValue } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";
import { type InProcessFunction, inProcessRunner } from "../src/in-process.ts";
import { PipelineError } from "../src/outcome/pipeline-error.ts";
import type { FunctionConnector, PipelineInput } from "../src/steps/pipeline-input.ts";
import { runOf as packageRun, type TestPackage } from "../src/testing/test-packages.ts";

const encoder = new TextEncoder();

/** A function that returns this text for every input. */
export function prints(text: string): InProcessFunction {
  return () => encoder.encode(text);
}

/** A function that changes a copy of its input, or returns another. */
export function changes(change: (io: FunctionIO) => FunctionIO | void): InProcessFunction {
  return (input) => {
    const io = parseFunctionIO(input);
    return encoder.encode(printFunctionIO(change(io) ?? io));
  };
}

/** A function that desires composed resources, by entry name, in addition to those of its input. */
export function desires(resources: Record<string, JsonValue>): InProcessFunction {
  return changes((io) => {
    const entries = Object.entries(resources).map(([name, resource]) => ({ name, resource: resource as never }));
    io.desired = { ...io.desired, resources: [...(io.desired?.resources ?? []), ...entries] };
  });
}

/** A composed resource of a kind that does not matter. */
export function bucket(extra: Record<string, JsonValue> = {}): Record<string, JsonValue> {
  return { apiVersion: "s3.example.org/v1", kind: "Bucket", spec: { region: "eu" }, ...extra };
}

/** The first document of a YAML text. */
export function yaml(text: string): JsonValue {
  return readDocuments(text)[0]?.value ?? null;
}

/** An XR; `metadata` is added to its name. */
export function xr(metadata: Record<string, JsonValue> = {}, rest: Record<string, JsonValue> = {}) {
  return {
    apiVersion: "example.org/v1alpha1",
    kind: "XStore",
    metadata: { name: "my-store", ...metadata },
    spec: { size: 3 },
    ...rest,
  };
}

/** A Composition of functions; each is `{name, container, config}`, in YAML's flow style or JSON. */
export function compositionOf(
  functions: Record<string, JsonValue>[],
  spec: Record<string, JsonValue> = {},
): Composition {
  const [document] = readDocuments(
    printJson({
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "Composition",
      metadata: { name: "stores", labels: { env: "dev" } },
      spec: {
        compositeTypeRef: { apiVersion: "example.org/v1alpha1", kind: "XStore" },
        functions: functions.map((one) => ({ type: "Container", ...one })),
        ...spec,
      },
    }),
  );
  if (document === undefined) throw new Error("no document");
  return parseComposition(document);
}

/**
 * Connects steps to handlers, which replace packages.
 *
 * @param rounded the fields that each run reports as rounded
 */
export function packagesOf(
  handlerOf: (step: string) => TestPackage | undefined,
  rounded: readonly string[] = [],
): FunctionConnector {
  return {
    connect: async ({ name }) =>
      await Promise.resolve({
        run: async (request) => ({ ...packageRun(request, (await handlerOf(name)?.(request)) ?? {}), rounded }),
      }),
  };
}

/** A run of functions as steps `step-1`, `step-2`, ... with the images `image-1`, `image-2`, ... */
export function runOf(...functions: InProcessFunction[]): Pick<PipelineInput, "composite" | "composition" | "runner"> {
  const images = functions.map((run, index): [string, InProcessFunction] => [`image-${index + 1}`, run]);
  return {
    composite: xr(),
    composition: compositionOf(images.map(([image], index) => ({ name: `step-${index + 1}`, container: { image } }))),
    runner: inProcessRunner(Object.fromEntries(images)),
  };
}

/** A function that records its inputs and returns them unchanged. */
export function spy(seen: FunctionIO[]): (input: Uint8Array) => Uint8Array {
  return (input) => {
    seen.push(parseFunctionIO(input));
    return input;
  };
}

/** The error of a run. @throws Error if the run succeeds, or fails in another way */
export async function failure(run: Promise<unknown>): Promise<PipelineError> {
  const error = await run.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (error instanceof PipelineError) return error;
  throw new Error("expected a PipelineError", { cause: error });
}
