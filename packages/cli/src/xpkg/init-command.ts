import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { messageOf } from "@xfn/errors";
import { isPackageName } from "@xfn/package";
import { ExitCode } from "@xfn/program/exit-code";
import { CliError, usageError } from "../errors/cli-error.ts";
import type { Output } from "../terminal/output.ts";
import { PACKAGE_TEMPLATES } from "./package-templates.ts";

/** Flags of `xfn xpkg init`, as commander parsed them. */
export interface XpkgInitFlags {
  readonly directory: string;
}

/** `xfn xpkg init`: writes the sources of a package into an empty folder. Prints the folder. */
export async function runXpkgInit(
  name: string,
  template: string,
  { directory }: XpkgInitFlags,
  output: Output,
): Promise<number> {
  const files = PACKAGE_TEMPLATES.get(template.replace(/-template$/, ""));
  if (files === undefined) {
    const known = [...PACKAGE_TEMPLATES.keys()].join(", ");
    const hint = template.includes("/")
      ? "xfn copies no repositories: `git clone --depth 1 URL` does"
      : "`xfn init` makes functions, with their tests";
    throw usageError(`TEMPLATE must be one of ${known}, not ${JSON.stringify(template)}`, [hint]);
  }
  if (!isPackageName(name))
    throw usageError(`NAME ${JSON.stringify(name)} must be a Kubernetes name: lower case letters, digits and dashes`);
  if (existsSync(directory) && readdirSync(directory).some((file) => file !== ".git"))
    throw usageError(`the folder ${directory} is not empty: name another one with --directory`);
  try {
    for (const [file, content] of Object.entries(files(name))) {
      const path = join(directory, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content, { flag: "wx" });
    }
  } catch (cause) {
    const why = messageOf(cause);
    throw new CliError("Failed", `cannot write the package into ${directory}: ${why}`, { cause });
  }
  await output.product(`${directory}\n`);
  output.note(`xfn: next: xfn xpkg build -f ${directory}`);
  return ExitCode.ok;
}
