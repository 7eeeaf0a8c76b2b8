import { isApiError } from "@xfn/kubernetes";
import { ExitCode } from "@xfn/program/exit-code";
import type { ClusterFlags } from "../cluster/with-cluster.ts";
import { CliError } from "../errors/cli-error.ts";
import { withElapsedTime } from "../terminal/elapsed-time.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { type PackageArguments, waiting } from "./install-command.ts";
import { withPackageCluster } from "./package-cluster.ts";
import { packageObject, printed, referenceOf } from "./package-object.ts";
import { waitForPackage } from "./wait-for-package.ts";

/** Flags of `xfn xpkg update`, as commander parsed them. */
export interface XpkgUpdateFlags extends ClusterFlags {
  readonly wait?: number;
}

/** `xfn xpkg update`: changes the package of an object, and nothing else. Prints `KIND/NAME updated`. */
export async function runXpkgUpdate(args: PackageArguments, flags: XpkgUpdateFlags, output: Output): Promise<number> {
  const object = packageObject(...args);
  const write = (shown: Output, signal: AbortSignal): Promise<void> =>
    withPackageCluster(flags, async (client) => {
      try {
        await client.patch(referenceOf(object), "merge", { spec: { package: object.package } }, { signal });
      } catch (error) {
        if (!isApiError(error, "NotFound")) throw error;
        const hint = `\`xfn xpkg install ${object.kind.toLowerCase()} ${object.package} ${object.name}\` installs it`;
        throw new CliError("Failed", `there is no ${printed(object)}`, { details: [hint], cause: error });
      }
      const { wait: timeoutMs } = flags;
      if (timeoutMs !== undefined)
        await waitForPackage(client, object, { timeoutMs, signal, onCheck: () => shown.status(waiting(object)) });
    });
  await interruptible((signal) =>
    withElapsedTime(
      output,
      () => waiting(object),
      (shown) => write(shown, signal),
    ),
  );
  await output.product(`${printed(object)} updated\n`);
  return ExitCode.ok;
}
