import type { JsonPath } from "@xfn/json";

/** Something of a document that its other form cannot express. */
export interface Problem {
  /** The field in the document as read. */
  readonly at: JsonPath;
  readonly message: string;
  /** Absent: the conversion fails. `loss`: `--drop` removes the field. `note`: only worth knowing. */
  readonly severity?: "loss" | "note";
}
