import { ApiError } from "@xfn/kubernetes";

/** Why a composite resource is not composed: the reason of its `Synced` condition. */
export type CompositeErrorCode =
  /** A function returned a fatal result. */
  | "FatalResult"
  /** The Composition has functions, and functions are disabled. */
  | "FunctionsDisabled"
  /** A step names a runner that is not allowed. */
  | "RunnerNotAllowed"
  /** A step names a Function that the controller does not know. */
  | "FunctionNotFound"
  /** A step names a Function whose package is not installed, or whose runtime does not serve. */
  | "FunctionNotReady"
  /** A function requires more objects than a run may read. */
  | "TooManyRequired"
  /** A step names a Secret in a namespace from which functions may get none. */
  | "CredentialsNotAllowed"
  /** A step calls a webhook on a host that the operator did not name. */
  | "WebhookNotAllowed"
  /** The Composition has an environment, and `mode: Pipeline`. */
  | "EnvironmentUnsupported"
  /** Its Composition composes itself without end. */
  | "Recursive"
  /** The API server does not serve the kind of a composed resource. */
  | "KindNotServed"
  /** A composed resource is invalid as desired. */
  | "InvalidResource"
  /** A namespaced composite composes something that is not in its namespace. */
  | "OutsideNamespace"
  /** Infrastructure composes a namespaced kind, and its definition does not allow that. */
  | "NamespacedResource"
  /** Another owner controls the object of a composed resource, or the connection secret. */
  | "NotControllable"
  /** A composed resource is a core Secret, and composing those is disabled. */
  | "SecretsDisabled"
  /** The XR controls objects whose templates are unknown, and would create them again. */
  | "UnnamedResources"
  /** RBAC, a quota or admission refuses. */
  | "Forbidden"
  /** The service account of the definition or of the Composition does not exist. */
  | "ServiceAccountNotFound"
  /** A pull secret is in a namespace from which none may be read. */
  | "PullSecret"
  /** The API server is busy, unreachable, or failed; the message contains its answer. */
  | "ApiServer";

/**
 * A composite resource that cannot be composed. The message contains no value of a Secret: conditions, events and
 * logs show it.
 */
export class CompositeError extends Error {
  override readonly name = "CompositeError";
  readonly code: CompositeErrorCode;

  constructor(code: CompositeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Whether the same reconcile may succeed later. */
  get retryable(): boolean {
    return ["ApiServer", "FunctionNotReady", "ServiceAccountNotFound"].includes(this.code);
  }
}

/** Combines failures into one error with the code of the first and all messages; undefined if there are none. */
export function combineFailures(failures: readonly CompositeError[]): CompositeError | undefined {
  const [first, ...more] = failures;
  if (first === undefined || more.length === 0) return first;
  return new CompositeError(first.code, failures.map(({ message }) => message).join("; "), { cause: first });
}

/**
 * Describes an error of the API server as a failure of one object. Other errors are thrown again.
 *
 * @param action what failed, such as `cannot apply composed resource "bucket"`
 * @param isSecret the object contains secrets: the server may quote a refused value, so its message and the cause are
 *   left out
 * @param about the object, which follows the cause: names are long, and readers see the first 200 characters
 */
export function asCompositeError(error: unknown, action: string, isSecret: boolean, about?: string): CompositeError {
  if (error instanceof CompositeError) return error;
  if (!(error instanceof ApiError)) throw error;
  const detail = isSecret ? (error.reason ?? error.code) : causeOf(error);
  const message = `${action}: ${detail}${about === undefined ? "" : ` (${about})`}`;
  return new CompositeError(compositeErrorCode(error), message, isSecret ? undefined : { cause: error });
}

/** What the server says of fields or rights, without the names of the object and its kind that it begins with. */
function causeOf({ code, message, causes }: ApiError): string {
  const fields = causes.map((one) => (one.field === undefined ? one.message : `${one.field}: ${one.message}`));
  if (code === "Invalid" && fields.length > 0) return fields.join("; ");
  const forbidden = code === "Forbidden" ? /is forbidden: (.+)$/s.exec(message)?.[1] : undefined;
  return forbidden === undefined ? message : `forbidden: ${forbidden}`;
}

/** The reason that a condition gives for an error of the API server. */
export function compositeErrorCode({ code }: ApiError): CompositeErrorCode {
  switch (code) {
    case "Forbidden":
    case "Unauthorized":
      return "Forbidden";
    case "KindNotServed":
      return "KindNotServed";
    case "Invalid":
    // The namespace of an object that is created does not exist.
    case "NotFound":
      return "InvalidResource";
    default:
      return "ApiServer";
  }
}
