import { CodedError } from "@xfn/errors";
/** The function required something else after each call. */
export class RequirementsError extends CodedError<"RequirementsUnstable"> {
  override readonly name = "RequirementsError";

  constructor(message: string, options?: ErrorOptions) {
    super("RequirementsUnstable", message, options);
  }
}
