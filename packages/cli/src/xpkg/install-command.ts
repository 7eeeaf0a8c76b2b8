import type { JsonObject } from "@xfn/json";
import { isApiError } from "@xfn/kubernetes";
import { ExitCode } from "@xfn/program/exit-code";
import { CliError, usageError } from "../errors/cli-error.ts";
import type { Output } from "../terminal/output.ts";
import { objectOf, type PackageObject, packageObject, printed } from "./package-object.ts";
import { type WriteFlags, writePackage } from "./write-package.ts";

/** Flags of `xfn xpkg install`, as commander parsed them. */
export interface XpkgInstallFlags extends WriteFlags {
  readonly runtimeConfig?: string;
  readonly manualActivation?: boolean;
  readonly packagePullSecrets?: readonly string[];
  readonly revisionHistoryLimit?: number;
}

/** The arguments of `install` and `update`. */
export type PackageArguments = readonly [kind: string, reference: string, name: string | undefined];

/** `xfn xpkg install`: creates the object that installs a package. Prints `KIND/NAME created`. */
export async function runXpkgInstall(args: PackageArguments, flags: XpkgInstallFlags, output: Output): Promise<number> {
  const object = packageObject(...args);
  const created = objectOf(object, specOf(object, flags));
  await writePackage(object, flags, output, async (client, signal) => {
    try {
      await client.create(created, { signal, fieldValidation: "Strict" });
    } catch (error) {
      if (!isApiError(error, "AlreadyExists")) throw error;
      const hint = `\`xfn xpkg update ${object.kind.toLowerCase()} ${object.package} ${object.name}\` changes its package`;
      throw new CliError("Failed", `${printed(object)} exists already`, { details: [hint], cause: error });
    }
  });
  await output.product(`${printed(object)} created\n`);
  return ExitCode.ok;
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
