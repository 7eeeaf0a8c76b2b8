import { CodedError } from "@xfn/errors";
import { ApiError } from "@xfn/kubernetes";

/** The reason why a composite resource is not composed, for its `Synced` condition. */
export type CompositeErrorCode =
  /** A function returned a fatal result. Follow its message. */
  | "FatalResult"
  /**
   * The Composition has functions, but functions are disabled. Enable them with `--enable-composition-functions`, or
   * with `--enable-function-runtimes` for `functionRef.package`.
   */
  | "FunctionsDisabled"
  /**
   * A step names a runner that is not allowed. Remove `container.runner.endpoint`, or allow it with
   * `--allowed-runners`.
   */
  | "RunnerNotAllowed"
  /**
   * A step names a Function that the controller does not know. Install it, name its package in `functionRef.package`,
   * or start the controller with `--function NAME=SOURCE`.
   */
  | "FunctionNotFound"
  /**
   * The package of a step is not installed, its runtime is not healthy, or it lacks the capability `composition`.
   * Follow the message, and see the conditions of the Function.
   */
  | "FunctionNotReady"
  /**
   * The functions require more than 10,000 objects or 8 MiB. Or the EnvironmentConfigs of the Composition exceed 8 MiB:
   * the named ones, or all of the cluster if it selects by labels. Select fewer, or name them.
   */
  | "TooManyRequired"
  /**
   * A step names a Secret in a namespace from which functions may not get Secrets. Move it, or allow the namespace with
   * `--credentials-secret-namespaces`.
   */
  | "CredentialsNotAllowed"
  /** A step calls a webhook on a host that the operator has not allowed. Allow the host with `--webhook-hosts`. */
  | "WebhookNotAllowed"
  /**
   * The Composition has an environment, and `mode: Pipeline`. Remove `spec.environment`, and add a step with
   * function-environment-configs.
   */
  | "EnvironmentUnsupported"
  /**
   * The Composition composes itself: four ancestors of the XR already use it. Remove the composed resource that leads
   * back to the XR's kind.
   */
  | "Recursive"
  /** The API server does not serve the kind of a composed resource. Install its CRD, or fix `apiVersion` and `kind`. */
  | "KindNotServed"
  /**
   * The API server rejects an object as invalid. Or its namespace is missing, two entries are the same object, or a
   * field of the XR is not in the schema of its definition. The message names it.
   */
  | "InvalidResource"
  /**
   * The XR is too large for the API server, which accepts objects of some 1.5 MiB: it refers to each composed resource.
   * Nothing was created. Compose fewer, such as XRs that compose the resources.
   */
  | "TooManyResources"
  /**
   * A namespaced XR composes a cluster-scoped kind, or an application composes outside of its namespace. Compose a
   * namespaced kind, or define the XR with `scope: Cluster`.
   */
  | "OutsideNamespace"
  /**
   * Infrastructure composes a namespaced kind, so nothing was written. Compose a cluster-scoped kind, or set
   * `composedScope: Any` of its definition.
   */
  | "NamespacedResource"
  /** Another owner controls the object of a composed resource, or the connection secret. Give it another name. */
  | "NotControllable"
  /**
   * A composed resource is a core Secret, or a function requires Secrets. Publish connection details instead, or set
   * `--allow-composed-secrets`.
   */
  | "SecretsDisabled"
  /**
   * The XR controls objects without the annotation `crossplane.io/composition-resource-name`; nothing was changed.
   * Annotate each with the name of its template: the message has the commands.
   */
  | "UnnamedResources"
  /**
   * The XR was restored from a backup, and objects that it records do not exist yet; nothing was changed. Restore them,
   * or remove their references from the XR to have new ones created.
   */
  | "RestoreIncomplete"
  /**
   * RBAC, a quota or an admission controller refuses a request. Grant the right on the kind, or the right to
   * impersonate. The message names the controller or the service account that needs it.
   */
  | "Forbidden"
  /** A usage protects a composed resource from deletion. The message names it: delete the usage, or what uses it. */
  | "InUse"
  /**
   * The service account of the definition or of the Composition does not exist, so nothing was written. Create it
   * again, or name another one.
   */
  | "ServiceAccountNotFound"
  /**
   * A pull secret is in a namespace from which pull secrets may not be read. Move it, or allow the namespace with
   * `--pull-secret-namespaces`.
   */
  | "PullSecret"
  /**
   * The API server is busy, unreachable, or failed. The message contains its answer. Wait, and check the server if the
   * error persists.
   */
  | "ApiServer";

/**
 * A composite resource that cannot be composed. The message contains no value of a Secret, because conditions, events
 * and logs show it.
 */
export class CompositeError extends CodedError<CompositeErrorCode> {
  override readonly name = "CompositeError";
  /** Whether the same reconcile may succeed later. */
  override readonly retryable: boolean = ["ApiServer", "FunctionNotReady", "ServiceAccountNotFound"].includes(
    this.code,
  );
}

/** Combines failures into one error with the code of the first and all messages; undefined if there are none. */
export function combineFailures(failures: readonly CompositeError[]): CompositeError | undefined {
  const [first, ...more] = failures;
  if (first === undefined || more.length === 0) return first;
  return new CompositeError(first.code, failures.map(({ message }) => message).join("; "), { cause: first });
}

/**
 * Describes an error of the API server as a failure of one object. Rethrows other errors.
 *
 * @param action the failed action, such as `cannot apply composed resource "bucket"`
 * @param isSecret whether the object contains secrets. The server may quote a refused value, so the message and the
 *   cause are omitted
 * @param about the object. It follows the cause, because names are long and readers see only the first 200 characters
 */
export function asCompositeError(error: unknown, action: string, isSecret: boolean, about?: string): CompositeError {
  if (error instanceof CompositeError) return error;
  if (!(error instanceof ApiError)) throw error;
  const detail = isSecret ? (error.reason ?? error.code) : causeOf(error);
  const message = `${action}: ${detail}${about === undefined ? "" : ` (${about})`}`;
  return new CompositeError(compositeErrorCode(error), message, isSecret ? undefined : { cause: error });
}

/** The server's message about fields or rights, without the name and the kind of the object at its beginning. */
function causeOf({ code, message, causes }: ApiError): string {
  const fields = causes.map((one) => (one.field === undefined ? one.message : `${one.field}: ${one.message}`));
  if (code === "Invalid" && fields.length > 0) return fields.join("; ");
  const forbidden = code === "Forbidden" ? /is forbidden: (.+)$/s.exec(message)?.[1] : undefined;
  return forbidden === undefined ? message : `forbidden: ${forbidden}`;
}

/** The reason in a condition for an error of the API server. */
export function compositeErrorCode({ code }: ApiError): CompositeErrorCode {
  switch (code) {
    case "Forbidden":
    case "Unauthorized":
      return "Forbidden";
    case "KindNotServed":
      return "KindNotServed";
    case "Denied":
      return "InUse";
    case "Invalid":
    // The namespace of a new object does not exist.
    case "NotFound":
      return "InvalidResource";
    default:
      return "ApiServer";
  }
}
