import type { JsonValue } from "@xfn/functionio";

// The form of `crossplane resource validate -o json` (crossplane/cli v2.5), with the place of each error added.

/** What became of one resource. */
export interface ResourceResult {
  readonly apiVersion: string;
  readonly kind: string;
  /** Its name, else that of its entry in the composition; "" if it has neither. */
  readonly name: string;
  readonly namespace?: string;
  readonly status: "valid" | "invalid" | "missingSchema";
  readonly errors: readonly FieldError[];
  /** What is suspicious, but no failure. */
  readonly warnings: readonly FieldError[];
}

/** One thing that is wrong with a resource. */
export interface FieldError {
  /** `definition` is for what is wrong with definitions and compositions themselves. */
  readonly type: "schema" | "cel" | "unknownField" | "definition";
  readonly field: string;
  /** In Kubernetes' words, the field first. */
  readonly message: string;
  readonly value?: JsonValue;
  /** The file. */
  readonly source?: string;
  /** From 1. */
  readonly line?: number;
  /** From 1. */
  readonly column?: number;
}
