import type { JsonObject } from "@xfn/functionio";
import { isApiError } from "@xfn/kubernetes";
import { ExitCode } from "@xfn/program/exit-code";
import type { ClusterFlags } from "../cluster/with-cluster.ts";
import { CliError, usageError } from "../errors/cli-error.ts";
import { withElapsedTime } from "../terminal/elapsed-time.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { withPackageCluster } from "./package-cluster.ts";
import { objectOf, type PackageObject, packageObject, printed } from "./package-object.ts";
import { waitForPackage } from "./wait-for-package.ts";

/** Flags of `xfn xpkg install`, as commander parsed them. */
export interface XpkgInstallFlags extends ClusterFlags {
  readonly runtimeConfig?: string;
  readonly manualActivation?: boolean;
  readonly packagePullSecrets?: readonly string[];
  readonly revisionHistoryLimit?: number;
  readonly wait?: number;
}

/** The arguments of `install` and `update`. */
export type PackageArguments = readonly [kind: string, reference: string, name: string | undefined];

/** `xfn xpkg install`: creates the object that installs a package. Prints `KIND/NAME created`. */
export async function runXpkgInstall(args: PackageArguments, flags: XpkgInstallFlags, output: Output): Promise<number> {
  const object = packageObject(...args);
  const created = objectOf(object, specOf(object, flags));
  const write = (shown: Output, signal: AbortSignal): Promise<void> =>
    withPackageCluster(flags, async (client) => {
      try {
        await client.create(created, { signal, fieldValidation: "Strict" });
      } catch (error) {
        if (!isApiError(error, "AlreadyExists")) throw error;
        const hint = `\`xfn xpkg update ${object.kind.toLowerCase()} ${object.package} ${object.name}\` changes its package`;
        throw new CliError("Failed", `${printed(object)} exists already`, { details: [hint], cause: error });
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
  await output.product(`${printed(object)} created\n`);
  return ExitCode.ok;
}

/** The line while a command waits. */
export function waiting(object: PackageObject): string {
  return `waiting for ${printed(object)}`;
}

function specOf({ kind }: PackageObject, flags: XpkgInstallFlags): JsonObject {
  const { runtimeConfig, manualActivation, revisionHistoryLimit } = flags;
  if (runtimeConfig !== undefined && kind === "Configuration")
    throw usageError("--runtime-config cannot be used with a configuration, which has no runtime");
  const secrets = (flags.packagePullSecrets ?? []).flatMap((list) => list.split(","));
  if (secrets.includes("")) throw usageError("--package-pull-secrets requires NAME,NAME, not an empty name");
  return {
    ...(runtimeConfig !== undefined && { runtimeConfigRef: { name: runtimeConfig } }),
    ...(manualActivation === true && { revisionActivationPolicy: "Manual" }),
    ...(revisionHistoryLimit !== undefined && { revisionHistoryLimit }),
    ...(secrets.length > 0 && { packagePullSecrets: secrets.map((name) => ({ name })) }),
  };
}
