import { DocumentError } from "@xfn/json/sdk";

/** A text or value that is not a FunctionIO, or not a ResourceList. */
export class FunctionIOError extends DocumentError {
  override readonly name: string = "FunctionIOError";
}
