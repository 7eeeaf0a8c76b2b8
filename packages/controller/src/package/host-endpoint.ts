import { messageOf } from "@xfn/errors";
import type { Hosting } from "./package-port.ts";
import { PackageInstallError } from "./registry/install-error.ts";

/** A runner in the same pod accepts a connection within milliseconds. */
const READY_MS = 5_000;

/**
 * Waits until the runner can serve functions. The runner starts each function at its first call.
 *
 * @returns the endpoint
 * @throws {PackageInstallError} `NoRuntime`
 */
export async function hostEndpoint({ host }: Pick<Hosting, "host">): Promise<string> {
  if (host === undefined) {
    const message = "functions are disabled; start the controller with --enable-composition-functions";
    throw new PackageInstallError("NoRuntime", message);
  }
  try {
    await host.ready(READY_MS);
    return host.endpoint;
  } catch (cause) {
    const why = messageOf(cause);
    const options = { cause, retryable: true };
    throw new PackageInstallError("NoRuntime", `no runner can serve it: ${why}; start xfn-runner`, options);
  }
}
