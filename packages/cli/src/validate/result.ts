import type { JsonValue } from "@xfn/json";

// The format of `crossplane resource validate -o json` (crossplane/cli v2.5), with the position of each error.

export interface ResourceResult {
  readonly apiVersion: string;
  readonly kind: string;
  /** Its name, else the name of its entry in the composition, else "". */
  readonly name: string;
  readonly namespace?: string;
  readonly status: "valid" | "invalid" | "missingSchema";
  readonly errors: readonly FieldError[];
  readonly warnings: readonly FieldError[];
}

/** An error or warning on a resource. */
export interface FieldError {
  /** `definition`: the error is in a definition or composition. */
  readonly type: "schema" | "cel" | "unknownField" | "definition";
  readonly field: string;
  /** Worded like Kubernetes, with the field first. */
  readonly message: string;
  readonly value?: JsonValue;
  /** The name of the file. */
  readonly source?: string;
  /** Starts at 1. */
  readonly line?: number;
  /** Starts at 1. */
  readonly column?: number;
}

/** An error as one line: `FILE:LINE:COLUMN: MESSAGE`. */
export function errorLine({ source, line, column, message }: FieldError): string {
  return `${[source, line, column].filter((part) => part !== undefined).join(":")}: ${message}`;
}
