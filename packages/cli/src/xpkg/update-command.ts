import { isApiError } from "@xfn/kubernetes";
import { ExitCode } from "@xfn/program/exit-code";
import { CliError } from "../errors/cli-error.ts";
import type { Output } from "../terminal/output.ts";
import type { PackageArguments } from "./install-command.ts";
import { packageObject, printed, referenceOf } from "./package-object.ts";
import { type WriteFlags, writePackage } from "./write-package.ts";

/** `xfn xpkg update`: changes the package of an object, and nothing else. Prints `KIND/NAME updated`. */
export async function runXpkgUpdate(args: PackageArguments, flags: WriteFlags, output: Output): Promise<number> {
  const object = packageObject(...args);
  await writePackage(object, flags, output, async (client, signal) => {
    try {
      await client.patch(referenceOf(object), "merge", { spec: { package: object.package } }, { signal });
    } catch (error) {
      if (!isApiError(error, "NotFound")) throw error;
      const hint = `\`xfn xpkg install ${object.kind.toLowerCase()} ${object.package} ${object.name}\` installs it`;
      throw new CliError("Failed", `there is no ${printed(object)}`, { details: [hint], cause: error });
    }
  });
  await output.product(`${printed(object)} updated\n`);
  return ExitCode.ok;
}
