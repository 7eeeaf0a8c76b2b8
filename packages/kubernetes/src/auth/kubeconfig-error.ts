import { CodedError } from "@xfn/errors";
/** The environment names no API server, or a kubeconfig is invalid. */
export class KubeconfigError extends CodedError<"NotFound" | "Unreadable" | "Invalid" | "Credentials"> {
  override readonly name = "KubeconfigError";
  /** Whether the same may succeed later: a program or a service that issues credentials may fail temporarily. */
  override readonly retryable: boolean = this.code === "Credentials";
}
