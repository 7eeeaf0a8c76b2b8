import { CodedError } from "@xfn/errors";
/** A revision that cannot be created because other objects have every name that its content can have. */
export class RevisionError extends CodedError<"NoFreeName"> {
  override readonly name = "RevisionError";

  constructor(message: string, options?: ErrorOptions) {
    super("NoFreeName", message, options);
  }
}
