import { CodedError } from "@xfn/errors";

/** Why a usage protects nothing. */
export type UsageErrorCode =
  /** The used or the using object does not exist. Create it, or correct the reference. */
  | "NotFound"
  /** A selector of a usage matches no object. Label one, or correct the selector. */
  | "NothingSelected"
  /** A Usage refers to a cluster-scoped object, or a ClusterUsage to one of a namespace. Create the other kind. */
  | "WrongScope";

/** A usage cannot protect its object yet. */
export class UsageError extends CodedError<UsageErrorCode> {
  override readonly name = "UsageError";
}
