import { type Client, isApiError } from "@xfn/kubernetes";
import { oneLine } from "@xfn/program/terminal-text";
import { type ClusterFlags, withCluster } from "../cluster/with-cluster.ts";
import { withElapsedTime } from "../terminal/elapsed-time.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { type PackageObject, printed } from "./package-object.ts";
import { waitForPackage } from "./wait-for-package.ts";

/** Flags of the commands that write a package's object, as commander parsed them. */
export interface WriteFlags extends ClusterFlags {
  /** How long to wait until the package is installed and healthy, in milliseconds. Undefined does not wait. */
  readonly wait?: number;
}

const NO_PACKAGES =
  "the API server has no packages: start xfn-controller with --enable-packages, or install Crossplane";

/** Writes the object of a package in a cluster, and waits for the package if `--wait` says so. @throws CliError */
export async function writePackage(
  object: PackageObject,
  { wait: timeoutMs, ...flags }: WriteFlags,
  output: Output,
  write: (client: Client, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const title = `waiting for ${printed(object)}`;
  await interruptible((signal) =>
    withElapsedTime(output, title, (shown) =>
      withCluster(
        flags,
        async (client) => {
          await write(client, signal);
          if (timeoutMs === undefined) return;
          await waitForPackage(client, object, {
            timeoutMs,
            signal,
            onCheck: () => shown.status(title),
            onProblem: (condition) => shown.note(`xfn: ${printed(object)}: ${oneLine(condition)}`),
          });
        },
        (error) => (isApiError(error, "KindNotServed") ? NO_PACKAGES : undefined),
      ),
    ),
  );
}
