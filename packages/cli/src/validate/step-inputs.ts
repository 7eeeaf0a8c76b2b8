import { formatPath, isObject, type JsonPath, textOrEmpty, valueAt } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { kindKey } from "./documents.ts";
import type { FieldError, ResourceResult } from "./result.ts";
import { schemaErrors } from "./schema-errors.ts";
import type { Extensions } from "./schemas.ts";

/** The fields of a step that hold a whole object for its function. */
const FIELDS = ["input", "config"] as const;

/** Findings in the inputs of a Composition's steps. */
export interface StepInputs {
  /** Errors against the schemas of the inputs' kinds, with positions in the Composition. */
  readonly errors: readonly FieldError[];
  /** A result for each input whose kind has no known schema: it is not validated. */
  readonly missing: readonly ResourceResult[];
}

/** Validates the `input` and `config` of a Composition's steps against the schemas of their kinds. */
export function checkStepInputs(document: ParsedDocument, { kinds }: Extensions): StepInputs {
  const errors: FieldError[] = [];
  const missing: ResourceResult[] = [];
  for (const { name, at, input } of inputsOf(document)) {
    const [apiVersion, kind] = [textOrEmpty(input.value, "apiVersion"), textOrEmpty(input.value, "kind")];
    // The Composition's own check reports an input without them.
    if (apiVersion === "" || kind === "") continue;
    const known = kinds.get(kindKey(apiVersion, kind));
    if (known === undefined)
      missing.push({ apiVersion, kind, name, status: "missingSchema", errors: [], warnings: [] });
    else errors.push(...schemaErrors(input, known.schema).map((error) => below(at, error)));
  }
  return { errors, missing };
}

interface StepInput {
  /** The name of the step. */
  readonly name: string;
  readonly at: JsonPath;
  readonly input: ParsedDocument;
}

function inputsOf(document: ParsedDocument): StepInput[] {
  return ["pipeline", "functions"].flatMap((list) => {
    const steps = valueAt(document.value, "spec", list);
    if (!Array.isArray(steps)) return [];
    return steps.flatMap((step, index) =>
      FIELDS.flatMap((field): StepInput[] => {
        const value = valueAt(step, field);
        if (value === undefined || !isObject(value)) return [];
        const at = ["spec", list, index, field];
        return [
          {
            name: textOrEmpty(step, "step") || textOrEmpty(step, "name"),
            at,
            input: { ...partOf(document, at), value },
          },
        ];
      }),
    );
  });
}

/** A part of a document, with its positions. */
function partOf({ source, positionOf, unquotedAt }: ParsedDocument, at: JsonPath): Omit<ParsedDocument, "value"> {
  return {
    source,
    positionOf: (path) => positionOf([...at, ...path]),
    ...(unquotedAt && { unquotedAt: (path) => unquotedAt([...at, ...path]) }),
  };
}

function below(at: JsonPath, error: FieldError): FieldError {
  const path = formatPath(at);
  if (error.field === "") return { ...error, field: path, message: error.message.replace(/^<nil>/, path) };
  return { ...error, field: `${path}.${error.field}`, message: `${path}.${error.message}` };
}
