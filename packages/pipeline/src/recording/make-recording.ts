import type { FunctionRequest, FunctionRun } from "@xfn/function-grpc";
import { isObject, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/json";
import { parseTrustedJson, readDocuments } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";
import { requestDocument, runDocument } from "./package-document.ts";
import { plainObject, sorted } from "./plain-document.ts";
import type { RawCall, RawStep } from "./raw-call.ts";
import type { RecordedCall, RecordedError, RecordedObject, RecordedStep, Recording } from "./recording.ts";
import { SecretMasks } from "./secret-masks.ts";

/** The facts about a run that its recording contains. */
export interface RecordedRun {
  /** The XR. Absent for the call of a single function. */
  readonly composite?: KubernetesObject;
  /** The Composition's name. */
  readonly composition?: string | undefined;
  /** Why the run failed. Absent: it did not. */
  readonly error?: unknown;
  /** Names of fields, connection details and keys of Secrets whose values are not secret. Default: none. */
  readonly publicNames?: readonly string[];
}

/** A call as documents with its secrets. */
interface PlainCall {
  readonly input: JsonObject;
  readonly output?: JsonObject;
  readonly error?: RecordedError;
}

/** Makes the recording of a run from its calls. @param tokens secrets that the inputs do not contain */
export function makeRecording(steps: readonly RawStep[], run: RecordedRun, tokens: Iterable<string> = []): Recording {
  const plain = steps.map(({ name, type, calls }) => ({ name, type, calls: calls.map(plainCall) }));
  const calls = plain.flatMap((step) => step.calls);
  const documents = calls.flatMap(({ input, output }) => (output === undefined ? [input] : [input, output]));
  const masks = new SecretMasks(documents, run.publicNames, tokens);
  const masked = (call: PlainCall): RecordedCall => ({
    input: masks.mask(call.input),
    ...(call.output && { output: masks.mask(call.output) }),
    ...(call.error && { error: { code: call.error.code, message: masks.scrub(call.error.message) } }),
  });
  const error = run.error === undefined ? undefined : errorOf(run.error);
  return {
    ...(run.composite && { composite: identityOf(run.composite) }),
    ...(run.composition !== undefined && { composition: run.composition }),
    status: error !== undefined ? "Failed" : calls.some(isFatal) ? "Fatal" : "Succeeded",
    ...(error && { error: { code: error.code, message: masks.scrub(error.message) } }),
    steps: plain.map((step): RecordedStep => ({ ...step, calls: step.calls.map(masked) })),
  };
}

function plainCall({ input, output, error }: RawCall): PlainCall {
  const given = inputDocument(input);
  if (output === undefined)
    return { input: given, error: errorOf(error ?? { code: "Unfinished", message: "the call did not end" }) };
  const returned = outputDocument(output, given);
  if (returned !== undefined) return { input: given, output: returned };
  const message = "the function returned something else than one object, which is not recorded";
  return { input: given, error: { code: "InvalidOutput", message } };
}

function inputDocument(input: Uint8Array | FunctionRequest): JsonObject {
  if (!(input instanceof Uint8Array)) return requestDocument(input);
  const document = parseTrustedJson(input);
  return isObject(document) ? plainObject(document) : {};
}

/** The document that a function returned; undefined if the output is not a single object. */
export function outputDocument(output: Uint8Array | FunctionRun, input: JsonObject): JsonObject | undefined {
  if (!(output instanceof Uint8Array)) return runDocument(output);
  try {
    const [document, ...others] = readDocuments(output);
    return others.length === 0 && isObject(document?.value) ? withoutObserved(document.value, input) : undefined;
  } catch {
    return undefined;
  }
}

/** Observed state is the largest part of a FunctionIO, and functions return it unchanged. */
function withoutObserved(output: JsonObject, input: JsonObject): JsonObject {
  const { observed, ...rest } = output;
  const [given, returned] = [input["observed"], observed].map((one) => one && printJson(sorted(one)));
  return plainObject(given === returned ? rest : output);
}

function isFatal({ output }: PlainCall): boolean {
  const results = output?.["results"];
  return Array.isArray(results) && results.some((one) => isObject(one) && FATAL.includes(one["severity"] ?? null));
}

/** The severity of a fatal result in a FunctionIO, in a message, and in a ResourceList. */
const FATAL: readonly JsonValue[] = ["Fatal", "Error", "error"];

function errorOf(error: unknown): RecordedError {
  const { code, message }: { code?: unknown; message?: unknown } =
    typeof error === "object" && error !== null ? error : { message: String(error) };
  return {
    code: typeof code === "string" ? code : "Internal",
    message: typeof message === "string" && message !== "" ? message : "no reason is known",
  };
}

function identityOf({ apiVersion = "", kind = "", metadata }: KubernetesObject): RecordedObject {
  const { name = "", namespace } = metadata ?? {};
  return { apiVersion, kind, name, ...(namespace && { namespace }) };
}
